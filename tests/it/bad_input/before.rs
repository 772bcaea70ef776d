//! Found before anything is sent: no connection is made for it.

use std::time::Duration;

use palisade::{
    AcquireError, Client, Lease, LockGuard, Masters, Owner, Quarantine,
    error::{ConfigError, InspectError, WithError},
};
use testkit::RedisServer;

use super::{Any, assert_readable};
use crate::support::{Look, acquired, fixed, ms, patient, soon, watchdog};

/// The longest lease by default.
const MAX: Duration = Duration::from_secs(60);

/// A client that has not connected yet: whatever it sends shows as a connection.
fn untouched(server: &RedisServer) -> Client {
    Client::connect_lazy(server.url()).unwrap()
}

/// With what is said of them.
fn bad_names() -> [(String, String); 6] {
    let too_long = "x".repeat(4097);
    let long = |bytes| format!("the lock's name has {bytes} bytes; at most 4096 are allowed");
    let brace = |name: &str| {
        let says = "has braces that are not one well-formed hash tag";
        (name.to_owned(), format!("the lock's name {name:?} {says}"))
    };
    [
        (String::new(), "the lock's name is empty".to_owned()),
        (too_long, long(4097)),
        // Two bytes each: bytes count, not characters.
        ("é".repeat(2049), long(4098)),
        brace("a{b"),
        brace("{}a"),
        brace("a}b"),
    ]
}

fn bad_leases() -> [(Lease, String); 9] {
    let short = |lease: Duration, min| {
        format!("a lease of {lease:?} is too short; at least {:?} is needed", ms(min))
    };
    let long = |lease: Duration| {
        format!("a lease of {lease:?} is longer than max_lease, which is {MAX:?}")
    };
    [
        (Lease::Fixed(Duration::ZERO), short(Duration::ZERO, 20)),
        (Lease::Fixed(Duration::from_nanos(1)), short(Duration::from_nanos(1), 20)),
        (fixed(19), short(ms(19), 20)),
        (fixed(60_001), long(ms(60_001))),
        (Lease::Fixed(Duration::MAX), long(Duration::MAX)),
        (watchdog(0), short(ms(0), 300)),
        (watchdog(299), short(ms(299), 300)),
        (watchdog(60_001), long(ms(60_001))),
        (Lease::WatchdogOf(Duration::MAX), long(Duration::MAX)),
    ]
}

#[tokio::test]
async fn bad_name_is_refused_by_every_lock_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = untouched(&server);
    for (name, expected) in bad_names() {
        for lock in Any::all(&client, &name) {
            let error = lock.refused().await;
            assert!(
                matches!(&error, AcquireError::Config(e) if e.to_string() == expected),
                "{error:?}"
            );
        }
    }
    assert_eq!(server.connected_clients(), 0);
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn bad_lease_is_refused_by_every_lock_before_anything_is_sent() {
    let server = RedisServer::start();
    let client = untouched(&server);
    for (lease, expected) in bad_leases() {
        for lock in Any::all(&client, "x") {
            let error = lock.with_lease(lease).refused().await;
            assert!(
                matches!(&error, AcquireError::Config(e) if e.to_string() == expected),
                "{error:?}"
            );
        }
    }
    assert_eq!(server.connected_clients(), 0);
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn every_operation_refuses_a_bad_name() {
    let server = RedisServer::start();
    let client = untouched(&server);
    let (lock, owner) = (client.lock(""), Owner::new());
    let acquires = [
        soon(lock.acquire()).await.err(),
        soon(lock.try_acquire()).await.err(),
        soon(lock.try_acquire_for(ms(10))).await.err(),
        soon(lock.acquire_as(&owner)).await.err(),
        soon(lock.try_acquire_as(&owner)).await.err(),
        soon(owner.scope(lock.acquire())).await.err(),
    ];
    for error in acquires {
        let error = error.unwrap();
        assert!(matches!(error, AcquireError::Config(ConfigError::EmptyName)), "{error:?}");
        assert_eq!(error.to_string(), "the lock's name is empty");
    }
    let work = async |_: &LockGuard| panic!("the lock is not held");
    let error = soon(lock.with::<()>(work)).await.unwrap_err();
    assert!(matches!(error, WithError::Acquire(AcquireError::Config(ConfigError::EmptyName))));
    let looks = [
        soon(lock.holder()).await.err(),
        soon(lock.is_locked()).await.err(),
        soon(lock.remaining_ttl()).await.err(),
        soon(lock.force_release()).await.err(),
    ];
    for error in looks {
        let error = error.unwrap();
        assert!(matches!(error, InspectError::Config(ConfigError::EmptyName)), "{error:?}");
    }
    assert_eq!(server.connected_clients(), 0);
}

#[tokio::test]
async fn least_and_longest_leases_are_allowed() {
    let server = RedisServer::start();
    let client = patient(&server).max_lease(MAX).connect().await.unwrap();
    for lease in [fixed(60_000), watchdog(60_000)] {
        drop(acquired(&client.lock("x").with_lease(lease)).await);
    }
    // So short that it may be over before it is known: every outcome but a bad lease is right.
    for lease in [fixed(20), watchdog(300)] {
        match client.lock("y").with_lease(lease).try_acquire().await {
            Err(AcquireError::Config(error)) => panic!("{error}"),
            outcome => drop(outcome),
        }
    }
}

#[tokio::test]
async fn setting_that_cannot_work_is_named() {
    let settings = || Client::builder().url("redis://127.0.0.1");
    let refused = [
        ("max_lease", settings().max_lease(ms(299))),
        ("max_lease", settings().max_lease(Duration::MAX)),
        ("watchdog_lease", settings().watchdog_lease(ms(299))),
        ("watchdog_lease", settings().watchdog_lease(Duration::ZERO)),
        ("node_timeout", settings().node_timeout(Duration::ZERO)),
        ("connect_timeout", settings().connect_timeout(Duration::ZERO)),
        ("name", settings().name("two words")),
        ("name", settings().name("line\nbreak")),
        ("url", Client::builder()),
    ];
    for (name, settings) in refused {
        let error = settings.build().unwrap_err();
        let named =
            matches!(&error, ConfigError::InvalidSetting { setting, .. } if *setting == name);
        assert!(named, "{name}: {error:?}");
        assert_readable(&error);
    }
}

#[tokio::test]
async fn settings_for_all_masters_are_those_of_each() {
    let servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    let urls = || servers.iter().map(RedisServer::url);
    let settings = Client::builder().name("billing").quarantine(Quarantine::Durable);
    let settings = settings.max_lease(ms(4_000)).redact_names(true);
    let masters = soon(Masters::connect_with(settings.clone(), urls())).await.unwrap();
    for server in &servers {
        let clients = server.command(&["CLIENT", "LIST"]).to_string();
        assert!(clients.contains(":billing "), "{clients}");
    }
    let long = masters.red_lock("x").with_lease(fixed(4_001));
    let error = soon(long.acquire()).await.unwrap_err();
    assert!(
        matches!(
            &error,
            AcquireError::Config(ConfigError::LeaseTooLong { lease, max, .. })
                if (*lease, *max) == (ms(4_001), ms(4_000))
        ),
        "{error:?}"
    );
    assert!(format!("{long:?}").starts_with("RedLock { lock: lock#"), "{long:?}");
    soon(masters.red_lock("x").acquire()).await.unwrap().release().await.unwrap();

    let lazy = Masters::build_with(settings.clone(), urls()).unwrap();
    assert_eq!(lazy.clients().len(), 3);
    let bad = Masters::build_with(settings.name("two words"), urls()).unwrap_err();
    assert!(matches!(bad, ConfigError::InvalidSetting { setting: "name", .. }), "{bad:?}");
    let nobody = Masters::build_with(Client::builder(), [""; 0]).unwrap_err();
    assert_eq!(nobody, ConfigError::NoMembers);
}

#[tokio::test]
async fn time_limits_of_any_length_are_taken() {
    let server = RedisServer::start();
    let settings = Client::builder().url(&server.url());
    let settings = settings.node_timeout(Duration::MAX).connect_timeout(Duration::MAX);
    let client = soon(settings.connect()).await.unwrap();
    soon(client.lock("x").acquire()).await.unwrap().release().await.unwrap();
    assert!(soon(client.lock("x").holder()).await.unwrap().is_none());
    soon(client.shutdown(Duration::MAX)).await.unwrap();
}
