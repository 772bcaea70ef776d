//! Runtimes that end while something of theirs is held, or waited for.

use testkit::RedisServer;
use tokio::runtime::{Builder, Runtime};

use crate::{
    rw,
    support::{Look, eventually_blocking},
};

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[test]
fn what_tasks_hold_when_their_runtime_ends_is_given_back() {
    let server = RedisServer::start();
    let runtime = runtime();
    runtime.block_on(async {
        let client = rw::client(&server).await;
        client.semaphore("permits").try_set_permits(2).await.unwrap();
        client.expirable_semaphore("leases").try_set_permits(2).await.unwrap();
        let held = (
            client.fair_lock("fair").acquire().await.unwrap(),
            client.rw_lock("read").read().acquire().await.unwrap(),
            client.rw_lock("write").write().acquire().await.unwrap(),
            client.semaphore("permits").acquire_many(2).await.unwrap(),
            client.expirable_semaphore("leases").acquire_many(2).await.unwrap(),
        );
        tokio::spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
    });
    assert_eq!(server.cli(&["GET", "permits"]), "0");
    drop(runtime);
    eventually_blocking(|| server.size() == 2);
    assert_eq!(["permits", "leases"].map(|key| server.cli(&["GET", key])), ["2", "2"]);
}

#[test]
fn those_who_wait_when_their_runtime_ends_leave_their_places() {
    let server = RedisServer::start();
    let (here, there) = (runtime(), runtime());
    let held = here.block_on(async {
        let client = rw::client(&server).await;
        client.semaphore("permits").try_set_permits(1).await.unwrap();
        (
            client.fair_lock("x").acquire().await.unwrap(),
            client.rw_lock("rw").read().acquire().await.unwrap(),
            client.semaphore("permits").acquire().await.unwrap(),
        )
    });
    there.block_on(async {
        let client = rw::client(&server).await;
        for _ in 0..50 {
            let (fair, write) = (client.fair_lock("x"), client.rw_lock("rw").write());
            let permits = client.semaphore("permits");
            tokio::spawn(async move { fair.acquire().await.map(drop) });
            tokio::spawn(async move { write.acquire().await.map(drop) });
            tokio::spawn(async move { permits.acquire().await.map(drop) });
        }
    });
    let waiting = || server.command(&["LLEN", "redisson_lock_queue:{x}"]).int();
    eventually_blocking(|| waiting() == 50 && server.exists("{rw}:palisade_writer"));
    drop(there);
    eventually_blocking(|| waiting() == 0 && !server.exists("{rw}:palisade_writer"));
    here.block_on(async {
        held.0.release().await.unwrap();
        held.1.release().await.unwrap();
        held.2.release().await.unwrap();
    });
    eventually_blocking(|| server.keys() == ["permits"]);
    assert_eq!(server.cli(&["GET", "permits"]), "1");
}
