//! Names, leases and keys that cannot work.

use std::time::Duration;

use palisade::{
    AcquireError, AnyLock, Client, Member, MultiLock, RedLock,
    error::{ConfigError, InspectError, NodeError},
};
use testkit::RedisServer;

use super::client;
use crate::support::{Look, causes, fixed, patient, soon, watchdog};

#[tokio::test]
async fn names_are_checked_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let before = server.top_level_commands();
    for (name, is_empty) in [("", true), ("a{", false), ("a}b", false)] {
        let lock = client.rw_lock(name);
        for refused in
            [lock.read().acquire().await.map(drop), lock.write().acquire().await.map(drop)]
        {
            let Err(AcquireError::Config(error)) = refused else { panic!("{name:?}") };
            assert_eq!(error == ConfigError::EmptyName, is_empty, "{error}");
        }
        lock.read().holders().await.unwrap_err();
        lock.write().force_release().await.unwrap_err();
    }
    assert_eq!(server.top_level_commands(), before);
}

async fn is_refused<L: AnyLock>(lock: L) -> bool {
    let (is, most) = (Duration::from_millis(30_001), Duration::from_secs(30));
    matches!(
        lock.acquire().await,
        Err(AcquireError::Config(ConfigError::LeaseAboveRedisson { lease, redisson_watchdog, .. }))
            if (lease, redisson_watchdog) == (is, most)
    )
}

#[tokio::test]
async fn leases_that_redisson_would_cut_short_are_refused() {
    let server = RedisServer::start();
    let client = patient(&server).watchdog_lease(Duration::from_secs(30)).connect().await.unwrap();
    let lock = client.rw_lock("x");
    let before = server.calls_of("evalsha") + server.calls_of("eval");
    for lease in [fixed(30_001), watchdog(30_001)] {
        assert!(is_refused(lock.read().with_lease(lease)).await);
        assert!(is_refused(lock.write().with_lease(lease)).await);
        let multi = MultiLock::new([lock.read()]).unwrap();
        assert!(is_refused(multi.with_lease(lease)).await);
        let red = RedLock::new([lock.write()]).unwrap();
        assert!(is_refused(red.with_lease(lease)).await);
        let mixed: [Member; 2] = [client.lock("y").into(), lock.read().into()];
        assert!(is_refused(MultiLock::new(mixed).unwrap().with_lease(lease)).await);
    }
    assert_eq!(server.calls_of("evalsha") + server.calls_of("eval"), before);
    for lease in [fixed(30_000), watchdog(30_000), palisade::Lease::Watchdog] {
        soon(lock.read().with_lease(lease).acquire()).await.unwrap().release().await.unwrap();
    }
    // Others are not concerned.
    client.lock("y").with_lease(fixed(30_001)).acquire().await.unwrap().release().await.unwrap();
    let longer = patient(&server).redisson_watchdog(Duration::from_millis(30_001));
    let longer = longer.connect().await.unwrap().rw_lock("x");
    longer.write().with_lease(fixed(30_001)).acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn lock_of_another_kind_under_the_name_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let is_other = |error: &AcquireError| matches!(causes(error)[..], [NodeError::OtherKind]);
    let plain = client.lock("x").acquire().await.unwrap();
    let before = (server.hash("x"), server.keys());
    let lock = client.rw_lock("x");
    assert!(is_other(&lock.read().acquire().await.map(drop).unwrap_err()));
    assert!(is_other(&lock.write().acquire().await.map(drop).unwrap_err()));
    assert!(is_other(&lock.write().try_acquire().await.map(drop).unwrap_err()));
    for error in [
        lock.read().is_locked().await.unwrap_err(),
        lock.write().is_locked().await.unwrap_err(),
        lock.read().force_release().await.unwrap_err(),
        lock.write().force_release().await.unwrap_err(),
    ] {
        assert!(
            matches!(&error, InspectError::Node { source: NodeError::OtherKind, .. }),
            "{error:?}"
        );
    }
    assert_eq!((server.hash("x"), server.keys()), before);
    plain.release().await.unwrap();

    for is_read in [true, false] {
        let guard: palisade::LockGuard = if is_read {
            lock.read().acquire().await.unwrap().into()
        } else {
            lock.write().acquire().await.unwrap().into()
        };
        let before = (server.hash("x"), server.keys());
        assert!(is_other(&client.lock("x").acquire().await.unwrap_err()));
        let forced = client.lock("x").force_release().await;
        assert!(matches!(forced, Err(InspectError::Node { source: NodeError::OtherKind, .. })));
        assert!(is_other(&client.fenced_lock("x").try_acquire().await.map(drop).unwrap_err()));
        assert!(client.lock("x").is_locked().await.unwrap());
        assert_eq!(client.lock("x").holder().await.unwrap().unwrap().id, guard.holder_id());
        assert_eq!((server.hash("x"), server.keys()), before);
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn key_that_is_no_lock_is_an_error_and_is_not_touched() {
    let server = RedisServer::start();
    let client: Client = client(&server).await;
    for set in [
        ["SET", "x", "hello"].as_slice(),
        &["RPUSH", "x", "one"],
        &["HSET", "x", "name", "bob"],
        &["HSET", "x", "mode", "dark"],
    ] {
        server.command(set);
        let dump = server.command(&["DUMP", "x"]);
        let lock = client.rw_lock("x");
        for error in [
            lock.read().acquire().await.map(drop).unwrap_err(),
            lock.write().acquire().await.map(drop).unwrap_err(),
        ] {
            assert!(matches!(causes(&error)[..], [NodeError::ForeignKey]), "{set:?}: {error}");
        }
        lock.read().is_locked().await.unwrap_err();
        let forced = lock.write().force_release().await;
        assert!(!forced.unwrap_or(false), "{set:?}");
        assert_eq!(server.command(&["DUMP", "x"]), dump, "{set:?}");
        assert_eq!(server.keys(), ["x"], "{set:?}");
        server.flush();
    }
}

#[tokio::test]
async fn reader_under_whom_the_key_is_replaced_is_lost_and_touches_nothing() {
    let server = RedisServer::start();
    let lock = client(&server).await.rw_lock("x");
    let reader = lock.read().acquire().await.unwrap();
    server.command(&["SET", "x", "hello"]);
    assert!(reader.release().await.is_err());
    assert_eq!(server.command(&["GET", "x"]).to_string(), "hello");
}
