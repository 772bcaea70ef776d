//! What an owner may do that holds one side already.

use palisade::{AcquireError, OnOutage, Owner, Released, error::ConfigError};
use testkit::RedisServer;

use super::client;
use crate::support::{Look, eventually, soon, watchdog};

fn is_held_for_reading(error: &AcquireError) -> bool {
    matches!(
        error,
        AcquireError::Config(ConfigError::HeldForReading { name, .. }) if &**name == "x"
    )
}

#[tokio::test]
async fn owner_who_writes_reads_on_the_same_hold() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let owner = Owner::new();
    let writer = lock.write().acquire_as(&owner).await.unwrap();
    let reader = lock.read().acquire_as(&owner).await.unwrap();
    assert_eq!(reader.holder_id(), writer.holder_id());
    assert!(lock.read().try_acquire().await.unwrap().is_none(), "it still writes");
    let again = lock.write().acquire_as(&owner).await.unwrap();
    drop(again);
    assert!(lock.read().try_acquire().await.unwrap().is_none(), "it still writes");

    assert_eq!(writer.release().await.unwrap(), Released::StillHeld { guards: 1 });
    eventually(|| server.hash("x").get("mode").is_some_and(|mode| mode == "read")).await;
    assert!(reader.is_held());
    assert!(lock.write().try_acquire().await.unwrap().is_none());
    soon(lock.read().acquire()).await.unwrap().release().await.unwrap();
    assert_eq!(reader.release().await.unwrap(), Released::Freed);
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn guard_that_is_left_last_releases_whichever_it_is() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let owner = Owner::new();
    let writer = lock.write().acquire_as(&owner).await.unwrap();
    drop(lock.read().acquire_as(&owner).await.unwrap());
    assert_eq!(server.hash("x")["mode"], "write");
    assert_eq!(writer.release().await.unwrap(), Released::Freed);
    assert_eq!(server.size(), 0);
}

/// The release of a nested reader may end the renewals of Redisson's writer.
#[tokio::test]
async fn writer_is_renewed_on_after_its_nested_reader_is_gone() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let owner = Owner::new();
    let (read, write) = (lock.read(), lock.write());
    let write = write.with_lease(watchdog(3_000)).on_outage(OnOutage::Wait);
    let writer = soon(write.acquire_as(&owner)).await.unwrap();
    let reader = soon(read.with_lease(watchdog(3_000)).acquire_as(&owner)).await.unwrap();
    reader.release().await.unwrap();
    for _ in 0..3 {
        let before = server.end_of("x");
        eventually(|| server.end_of("x") > before).await;
    }
    assert!(writer.is_held());
    assert_eq!(server.hash("x")["mode"], "write");
}

#[tokio::test]
async fn owner_who_reads_is_refused_to_write_at_once() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let owner = Owner::new();
    let reader = lock.read().acquire_as(&owner).await.unwrap();
    let refused = soon(lock.write().acquire_as(&owner)).await.unwrap_err();
    assert!(is_held_for_reading(&refused), "{refused:?}");
    let refused = lock.write().try_acquire_as(&owner).await.unwrap_err();
    assert_eq!(refused.to_string(), r#"the owner holds "x" already, for reading"#);
    assert!(reader.is_held());
    reader.release().await.unwrap();
    // It is over, and may be begun again.
    soon(lock.write().acquire_as(&owner)).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn owner_who_downgraded_is_refused_to_write() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let owner = Owner::new();
    let writer = lock.write().acquire_as(&owner).await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    let refused = soon(lock.write().acquire_as(&owner)).await.unwrap_err();
    assert!(is_held_for_reading(&refused), "{refused:?}");
    drop(lock.read().acquire_as(&owner).await.unwrap());
    reader.release().await.unwrap();
}

#[tokio::test]
async fn plain_lock_of_the_same_name_is_no_reentry() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let owner = Owner::new();
    let _reader = client.rw_lock("x").read().acquire_as(&owner).await.unwrap();
    let refused = soon(client.lock("x").acquire_as(&owner)).await;
    assert!(matches!(refused, Err(AcquireError::Denied { .. })), "{refused:?}");
}
