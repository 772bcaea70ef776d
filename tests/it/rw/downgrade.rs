//! A writer reads on, and no other writes in between.

use palisade::{Lease, OnOutage, error::DowngradeError};
use testkit::RedisServer;

use super::{client, subscribers, timer};
use crate::support::{LONG_LEASE, Look, eventually, fixed, ms, patient, promptly, soon, watchdog};

#[tokio::test]
async fn downgraded_hold_is_a_reader_with_the_same_id_and_lease() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    for lease in [Lease::Watchdog, fixed(500_000)] {
        let writer = lock.write().with_lease(lease).acquire().await.unwrap();
        let before = server.pttl("x");
        let reader = writer.downgrade().await.unwrap();
        let (id, timer) = (reader.holder_id(), timer("x", reader.holder_id()));
        let expected = [("mode".to_owned(), "read".to_owned()), (id.to_owned(), "1".to_owned())];
        assert_eq!(server.hash("x"), expected.into());
        assert!(server.pttl(&timer) > before - 100_000, "{}", server.pttl(&timer));
        assert!(server.pttl("x") > before - 100_000);
        let other = lock.read().try_acquire().await.unwrap().unwrap();
        assert!(lock.write().try_acquire().await.unwrap().is_none());
        other.release().await.unwrap();
        reader.release().await.unwrap();
        assert_eq!(server.size(), 0);
    }
}

#[tokio::test]
async fn downgrade_wakes_readers_that_wait_and_no_writer_gets_in() {
    let server = RedisServer::start();
    let (lock, other) = (client(&server).await.rw_lock("x"), client(&server).await.rw_lock("x"));
    let writer = lock.write().acquire().await.unwrap();
    let read = other.read();
    let waiter = tokio::spawn(async move { read.acquire().await });
    eventually(|| subscribers(&server, "x") == 1).await;
    let reader = writer.downgrade().await.unwrap();
    let waited = promptly(&server, waiter).await.unwrap().unwrap();
    assert!(other.write().try_acquire().await.unwrap().is_none());
    drop((reader, waited));
}

#[tokio::test]
async fn hold_with_other_guards_that_write_is_not_downgraded() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let writer = lock.write().acquire().await.unwrap();
    let other = writer.reenter().unwrap();
    let Err(DowngradeError::WriteGuards { guard, others: 1, .. }) = writer.downgrade().await else {
        panic!("another guard writes");
    };
    assert!(guard.is_held());
    assert_eq!(server.hash("x")["mode"], "write");
    other.release().await.unwrap();
    let reader = guard.downgrade().await.unwrap();
    assert_eq!(server.hash("x")["mode"], "read");
    reader.release().await.unwrap();
}

#[tokio::test]
async fn downgrade_of_a_lost_hold_says_so() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let writer = lock.write().with_lease(fixed(1_000)).acquire().await;
    let writer = writer.unwrap();
    soon(writer.lost()).await;
    assert!(matches!(writer.downgrade().await, Err(DowngradeError::Lost(_))));
    assert!(lock.write().force_release().await.is_ok());
    let writer = lock.write().acquire().await.unwrap();
    server.command(&["FLUSHALL"]);
    assert!(matches!(writer.downgrade().await, Err(DowngradeError::Lost(_))), "it hears of it");
    assert_eq!(server.size(), 0, "and writes nothing");
}

#[tokio::test]
async fn downgrade_that_is_not_answered_goes_on_in_the_background() {
    let server = RedisServer::start();
    let settings = patient(&server).redisson_watchdog(LONG_LEASE).node_timeout(ms(200));
    let lock = settings.connect().await.unwrap().rw_lock("x");
    for lease in [Lease::Watchdog, fixed(500_000)] {
        let write = lock.write().with_lease(lease).on_outage(OnOutage::Wait);
        let writer = soon(write.acquire()).await.unwrap();
        server.freeze();
        let reader = soon(writer.downgrade()).await.unwrap();
        assert!(reader.is_held());
        server.thaw();
        eventually(|| server.hash("x").get("mode").is_some_and(|mode| mode == "read")).await;
        assert!(reader.is_held());
        drop(reader);
        eventually(|| server.size() == 0).await;
    }
}

#[tokio::test]
async fn renewals_of_a_downgraded_hold_keep_its_timer() {
    let server = RedisServer::start();
    // A look at a reader without its timer finds that it does not stand.
    let client = patient(&server).tracking(false).connect().await.unwrap();
    let lock = client.rw_lock("x");
    let write = lock.write().with_lease(watchdog(3_000));
    let write = write.on_outage(OnOutage::Wait);
    let reader = soon(write.acquire()).await.unwrap().downgrade().await.unwrap();
    let timer = timer("x", reader.holder_id());
    for _ in 0..3 {
        server.command(&["DEL", &timer]);
        eventually(|| server.exists(&timer)).await;
    }
    assert_eq!(server.hash("x")["mode"], "read");
    reader.release().await.unwrap();
}
