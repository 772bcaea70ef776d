//! `x` and `{x}` are two locks, and Redisson's keys beside them are the same.

use palisade::error::{AcquireError, ChangeError, ConfigError};
use testkit::RedisServer;

use crate::{
    scripts::{NEVER, eval},
    sources::{SEMAPHORE_ACQUIRE, SEMAPHORE_COUNT},
    support::{client, soon, watchdog},
};

#[tokio::test]
async fn process_that_uses_both_is_told() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let is_told = |error: AcquireError, letter: &str| match error {
        AcquireError::Config(ConfigError::SharedKeys { name, other, .. }) => {
            assert_eq!((&*name, &*other), (&*format!("{{{letter}}}"), letter));
        }
        error => panic!("{error:?}"),
    };
    // Each kind has names of its own: a release may be under way when the next one asks.
    drop(soon(one.fair_lock("f").acquire()).await.unwrap());
    is_told(soon(other.fair_lock("{f}").acquire()).await.unwrap_err(), "f");
    let lease = watchdog(20_000);
    drop(soon(one.rw_lock("r").read().with_lease(lease).acquire()).await.unwrap());
    let writing = one.rw_lock("{r}").write().with_lease(lease);
    is_told(soon(writing.try_acquire()).await.unwrap_err(), "r");
    drop(soon(one.fenced_lock("t").acquire()).await.unwrap());
    is_told(soon(one.fenced_lock("{t}").acquire()).await.unwrap_err(), "t");
    let permits = (one.expirable_semaphore("p"), one.expirable_semaphore("{p}"));
    assert!(soon(permits.0.try_set_permits(1)).await.unwrap());
    let error = soon(permits.1.try_set_permits(1)).await.unwrap_err();
    assert!(matches!(error, ChangeError::Config(ConfigError::SharedKeys { .. })), "{error:?}");
    // These have nothing in common.
    drop(soon(one.lock("{x}").try_acquire()).await.unwrap());
    drop(soon(one.fair_lock("{x}y").acquire()).await.unwrap());
}

#[tokio::test]
async fn semaphores_of_both_names_do_not_lose_holders_to_each_other() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let (plain, braced) = (client.semaphore("x"), client.semaphore("{x}"));
    for semaphore in [&plain, &braced] {
        assert!(soon(semaphore.try_set_permits(1)).await.unwrap());
    }
    let held = soon(braced.acquire()).await.unwrap();
    assert_eq!(soon(plain.holders()).await.unwrap(), []);
    assert!(soon(plain.delete()).await.unwrap());
    assert_eq!(soon(braced.holders()).await.unwrap().len(), 1);
    soon(held.release()).await.unwrap();
    assert_eq!(soon(braced.permits()).await.unwrap(), 1);
}

/// One that keeps the holders of `{x}` where those of `x` are.
#[tokio::test]
async fn process_of_an_older_version_and_one_of_this_count_together() {
    const BEFORE: [&str; 3] = ["{x}", "{x}:palisade_holders", "{x}:palisade_wish"];
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("{x}");
    assert!(soon(semaphore.try_set_permits(2)).await.unwrap());
    let take = |id: &str| {
        let args = ["1", NEVER, id, "1", "0"];
        eval(&server, SEMAPHORE_ACQUIRE, &BEFORE, &args);
    };
    take("old:1");
    take("old:2");
    assert!(soon(semaphore.try_acquire()).await.unwrap().is_none());
    eval(&server, SEMAPHORE_COUNT, &BEFORE, &["old:1", "1", "redisson_sc:{x}"]);
    let held = soon(semaphore.try_acquire()).await.unwrap().expect("it was given back");
    // One that died.
    assert!(soon(semaphore.reclaim("old:2")).await.unwrap());
    assert!(!soon(semaphore.reclaim("old:2")).await.unwrap());
    soon(held.release()).await.unwrap();
    assert_eq!(soon(semaphore.permits()).await.unwrap(), 2);
}
