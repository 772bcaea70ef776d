//! What cannot be asked for is refused before anything is sent.

use std::time::Duration;

use palisade::{
    AcquireError, MultiLock,
    any::BoxLock,
    error::ConfigError,
    once::{Cadence, OnceError},
};
use testkit::RedisServer;

use super::done;
use crate::support::{client, watchdog};

#[tokio::test]
async fn ids_times_and_locks_that_cannot_work_are_refused() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x").boxed();
    let two = MultiLock::new(vec![client.lock("x"), client.lock("y")]).unwrap();
    let scripts = || server.calls_of("evalsha") + server.calls_of("eval");
    let sent = scripts();
    let refused: [(&str, BoxLock, Cadence); 5] = [
        ("empty", lock.clone(), Cadence::once_for("")),
        ("long", lock.clone(), Cadence::once_for("x".repeat(257))),
        ("no time", lock, Cadence::at_most_every(Duration::ZERO)),
        (
            "shared",
            client.rw_lock("x").read().with_lease(watchdog(20_000)).boxed(),
            Cadence::once_for("p"),
        ),
        ("two names", two.boxed(), Cadence::once_for("p")),
    ];
    for (what, lock, cadence) in refused {
        let error = lock.when_due(&cadence, done).await.unwrap_err();
        let OnceError::Acquire(AcquireError::Config(error)) = error else {
            panic!("{what}: {error:?}")
        };
        assert!(matches!(error, ConfigError::InvalidSetting { .. }), "{what}: {error:?}");
    }
    assert_eq!(scripts(), sent);
}

/// A hold that others share has no runs, however it came to be.
#[tokio::test]
async fn hold_that_keeps_no_others_out_has_no_runs() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let cadence = Cadence::once_for("p");
    let reading = client.rw_lock("x").read().with_lease(watchdog(20_000)).acquire().await.unwrap();
    let written = client.rw_lock("y").write().with_lease(watchdog(20_000)).acquire().await.unwrap();
    let downgraded = written.downgrade().await.unwrap();
    let permits = client.expirable_semaphore("s");
    permits.set_permits(1).await.unwrap();
    let permit = permits.acquire().await.unwrap();
    for guard in [&*reading, &*downgraded, &*permit] {
        let refused = cadence.begin(guard).await.unwrap_err();
        assert!(refused.to_string().starts_with("once: "), "{refused}");
    }
}
