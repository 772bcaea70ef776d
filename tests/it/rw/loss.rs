//! Holds that end otherwise than by a release.

use palisade::{Lease, LostCause, OnOutage};
use testkit::{Actor, RedisServer, Reply};

use super::{client, subscribers, timer};
use crate::support::{HANG, Look, eventually, fixed, promptly, soon, watchdog};

fn actor(server: &RedisServer) -> Actor {
    Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()])
}

#[tokio::test]
async fn dead_reader_keeps_a_writer_out_until_its_lease_ends() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let mut reader = actor(&server);
    assert_eq!(reader.ask("read x 3000", HANG), "acquired");
    drop(reader);
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    soon(lock.write().acquire()).await.unwrap().release().await.unwrap();
    // Its timer ends with it.
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn dead_writer_keeps_others_out_until_its_lease_ends() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let mut writer = actor(&server);
    assert_eq!(writer.ask("write x 3000", HANG), "acquired");
    drop(writer);
    assert!(lock.read().try_acquire().await.unwrap().is_none());
    soon(lock.read().acquire()).await.unwrap().release().await.unwrap();
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn leases_of_both_sides_are_renewed_with_the_timer() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    for is_read in [true, false] {
        let lease = watchdog(3_000);
        let guard: palisade::LockGuard = if is_read {
            let read = lock.read().with_lease(lease).on_outage(OnOutage::Wait);
            soon(read.acquire()).await.unwrap().into()
        } else {
            let write = lock.write().with_lease(lease).on_outage(OnOutage::Wait);
            soon(write.acquire()).await.unwrap().into()
        };
        let keys = if is_read {
            vec!["x".to_owned(), timer("x", guard.holder_id())]
        } else {
            vec!["x".to_owned()]
        };
        for _ in 0..3 {
            let ends = || keys.iter().map(|key| server.end_of(key));
            let before: Vec<_> = ends().collect();
            eventually(|| ends().zip(&before).all(|(end, before)| end > *before)).await;
        }
        assert!(guard.is_held());
        guard.release().await.unwrap();
        assert_eq!(server.size(), 0);
    }
}

#[tokio::test]
async fn fixed_lease_of_a_reader_ends_on_time() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let guard = lock.read().with_lease(fixed(500)).on_outage(OnOutage::Wait).acquire().await;
    assert_eq!(soon(guard.unwrap().lost()).await, LostCause::Expired);
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn reader_whose_field_is_gone_is_lost_while_others_read_on() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let read = client.rw_lock("x").read().with_lease(watchdog(3_000)).on_outage(OnOutage::Wait);
    let (one, other) = (soon(read.acquire()).await.unwrap(), soon(read.acquire()).await.unwrap());
    server.command(&["HDEL", "x", one.holder_id()]);
    assert_eq!(soon(one.lost()).await, LostCause::Taken);
    assert!(other.is_held());
    other.release().await.unwrap();
    drop(one);
    eventually(|| !server.exists("x")).await;
}

#[tokio::test]
async fn flushed_server_is_noticed_by_readers_and_writers() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let read = lock.read().with_lease(watchdog(3_000)).on_outage(OnOutage::Wait);
    let guards = [soon(read.acquire()).await.unwrap(), soon(read.acquire()).await.unwrap()];
    server.flush();
    for guard in &guards {
        assert_eq!(soon(guard.lost()).await, LostCause::Gone);
    }
    drop(guards);
    let write = lock.write().with_lease(watchdog(3_000)).on_outage(OnOutage::Wait);
    let guard = soon(write.acquire()).await.unwrap();
    server.flush();
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
}

#[tokio::test]
async fn readers_that_were_forced_open_learn_of_it_where_somebody_waits() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let guards = [lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap()];
    let write = lock.write();
    let waiter = tokio::spawn(async move { write.acquire().await });
    eventually(|| subscribers(&server, "x") == 1).await;
    assert!(lock.read().force_release().await.unwrap());
    let writer = promptly(&server, waiter).await.unwrap().unwrap();
    for guard in &guards {
        promptly(&server, guard.lost()).await;
    }
    drop(guards);
    assert!(writer.is_held());
    assert_eq!(server.hash("x")["mode"], "write");
    writer.release().await.unwrap();
}

#[tokio::test]
async fn orphaned_reader_is_left_to_its_lease() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    lock.read().acquire().await.unwrap().orphan();
    assert!(server.pttl("x") > 0);
    let second = lock.read().with_lease(Lease::Watchdog).acquire().await.unwrap();
    second.release().await.unwrap();
    assert_eq!(server.command(&["HLEN", "x"]), Reply::Int(2), "the mode and the orphan");
}
