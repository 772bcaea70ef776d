//! Which side keeps out which.

use palisade::Released;
use testkit::RedisServer;

use super::client;
use crate::support::{Look, soon};

#[tokio::test]
async fn readers_share_and_a_writer_is_alone() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let (mine, yours) = (one.rw_lock("x"), other.rw_lock("x"));
    let first = soon(mine.read().acquire()).await.unwrap();
    let second = soon(yours.read().acquire()).await.unwrap();
    assert!(yours.write().try_acquire().await.unwrap().is_none());
    assert_eq!(first.release().await.unwrap(), Released::Freed);
    assert!(mine.write().try_acquire().await.unwrap().is_none(), "one reads");
    second.release().await.unwrap();
    assert_eq!(server.size(), 0);

    let writer = soon(mine.write().acquire()).await.unwrap();
    assert!(yours.read().try_acquire().await.unwrap().is_none());
    assert!(yours.write().try_acquire().await.unwrap().is_none());
    assert!(mine.write().try_acquire().await.unwrap().is_none(), "of one process, too");
    writer.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn who_holds_which_side_is_told() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.rw_lock("x");
    let (read, write) = (lock.read(), lock.write());
    assert!(!read.is_locked().await.unwrap() && !write.is_locked().await.unwrap());
    assert_eq!(read.remaining_ttl().await.unwrap(), None);

    let one = read.acquire().await.unwrap();
    let other = read.acquire().await.unwrap();
    let mut ids: Vec<_> =
        read.holders().await.unwrap().into_iter().map(|holder| holder.id).collect();
    let mut expected = vec![one.holder_id().to_owned(), other.holder_id().to_owned()];
    ids.sort();
    expected.sort();
    assert_eq!(ids, expected);
    assert!(read.is_locked().await.unwrap() && !write.is_locked().await.unwrap());
    assert!(read.remaining_ttl().await.unwrap().is_some());
    assert_eq!(write.holder().await.unwrap(), None);
    drop((one, other));
    crate::support::eventually(|| server.size() == 0).await;

    let guard = write.acquire().await.unwrap();
    let writer = write.holder().await.unwrap().unwrap();
    assert_eq!((writer.id.as_str(), writer.count), (guard.holder_id(), 1));
    assert!(client.is_own(&writer));
    assert!(!read.is_locked().await.unwrap() && write.is_locked().await.unwrap());
    assert!(write.remaining_ttl().await.unwrap().is_some());
}

#[tokio::test]
async fn each_side_is_forced_open_by_itself() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.rw_lock("x");
    assert!(!lock.read().force_release().await.unwrap());
    let reader = lock.read().acquire().await.unwrap();
    assert!(!lock.write().force_release().await.unwrap(), "nobody writes");
    assert!(lock.read().force_release().await.unwrap());
    assert!(!server.exists("x"));
    let writer = lock.write().acquire().await.unwrap();
    assert!(!lock.read().force_release().await.unwrap(), "nobody reads");
    assert!(lock.write().force_release().await.unwrap());
    assert!(!server.exists("x"));
    drop((reader, writer));
}

#[tokio::test]
async fn names_of_any_bytes_are_locks_of_their_own() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for name in ["snow ☃", "nul\0byte", "a{b}", "line\nbreak", "mode", "x:write", "*"] {
        let lock = client.rw_lock(name);
        let one = lock.read().acquire().await.unwrap();
        let other = lock.read().acquire().await.unwrap();
        assert!(lock.write().try_acquire().await.unwrap().is_none(), "{name:?}");
        one.release().await.unwrap();
        other.release().await.unwrap();
        let writer = lock.write().acquire().await.unwrap();
        assert!(lock.read().try_acquire().await.unwrap().is_none(), "{name:?}");
        writer.release().await.unwrap();
        assert_eq!(server.size(), 0, "{name:?}");
    }
}
