//! A server of a cluster: no call may touch two slots, nor a key that it did not name.

use futures::future::join_all;
use palisade::{AnyGuard, AnyLock, Client};
use testkit::RedisServer;

use crate::{
    rw,
    support::{Look, eventually, soon, watchdog},
};

/// In three slots.
const NAMES: [&str; 3] = ["x", "y", "{a}z"];

async fn server() -> RedisServer {
    let server = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    server.serve_slots(0..16_384);
    eventually(|| server.cli(&["CLUSTER", "INFO"]).contains("state:ok")).await;
    server
}

/// Held under all names at once, renewed, waited for and passed on.
async fn works<L: AnyLock>(of: impl Fn(&Client, &str) -> L) {
    let server = server().await;
    let (here, there) = (rw::client(&server).await, rw::client(&server).await);
    let locks = |client: &Client| NAMES.map(|name| of(client, name).with_lease(watchdog(3_000)));
    let (held, wanted) = (locks(&here), locks(&there));
    let held = soon(join_all(held.iter().map(AnyLock::acquire))).await;
    for _ in 0..2 {
        for name in NAMES {
            let end = || server.end_of(name);
            let before = end();
            eventually(|| end() > before).await;
        }
    }
    let waits = join_all(wanted.iter().map(AnyLock::acquire));
    let release = async {
        for guard in held {
            soon(guard.unwrap().release()).await.unwrap();
        }
    };
    let (granted, ()) = soon(futures::future::join(waits, release)).await;
    for guard in granted {
        soon(guard.unwrap().release()).await.unwrap();
    }
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn fair_locks_work() {
    works(|client, name| client.fair_lock(name)).await;
}

#[tokio::test]
async fn writers_work() {
    works(|client, name| client.rw_lock(name).write()).await;
}

#[tokio::test]
async fn readers_work() {
    works(|client, name| client.rw_lock(name).read()).await;
}

#[tokio::test]
async fn permits_with_leases_work() {
    let server = server().await;
    let client = rw::client(&server).await;
    let semaphores = NAMES.map(|name| client.expirable_semaphore(name).with_lease(watchdog(3_000)));
    for semaphore in &semaphores {
        assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
    }
    let guards = soon(join_all(semaphores.iter().map(|it| it.acquire_many(2)))).await;
    let guards: Vec<_> = guards.into_iter().map(Result::unwrap).collect();
    let before = join_all(semaphores.each_ref().map(|it| it.holders())).await;
    assert!(before.iter().all(|holders| holders.as_ref().unwrap().len() == 2));
    let ends = guards.iter().map(|guard| guard.deadline()).collect::<Vec<_>>();
    for (guard, end) in guards.iter().zip(ends) {
        eventually(|| guard.deadline() > end).await;
    }
    for (guard, semaphore) in guards.into_iter().zip(&semaphores) {
        let id = guard.permit_ids().next().unwrap();
        assert!(soon(semaphore.update_lease(&id, crate::support::ms(5_000))).await.unwrap());
        guard.release().await.unwrap();
        assert!(soon(semaphore.delete()).await.unwrap());
    }
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn stripes_of_several_slots_are_held_together() {
    let server = server().await;
    let client = rw::client(&server).await;
    let striped = client.striped_lock("x", 64).unwrap();
    let keys: Vec<_> = (0..20).map(|i| format!("key {i}")).collect();
    let guard = soon(striped.acquire_many(&keys)).await.unwrap();
    assert!(striped.stripe_for("key 7").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    eventually(|| server.size() == 0).await;
}
