//! Re-entry: the same token, and no guard without one.

use std::time::Duration;

use palisade::{AcquireError, Owner, Released, error::ConfigError};
use testkit::RedisServer;

use super::{counter, value};
use crate::{
    fleet::Fleet,
    support::{client, soon},
};

#[tokio::test]
async fn reentry_has_the_same_token() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x");
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    let inner = guard.reenter().unwrap();
    let named = lock.try_acquire_as(&owner).await.unwrap().unwrap();
    let scoped = owner.clone().scope(async { lock.acquire().await.unwrap() }).await;
    for other in [&inner, &named, &scoped] {
        assert_eq!(other.fencing_token(), guard.fencing_token());
        assert_eq!(other.holder_id(), guard.holder_id());
    }
    assert_eq!(value(&server, &counter("x")), guard.fencing_token().get());
    let token = guard.fencing_token();
    drop((guard, named, scoped));
    assert_eq!(inner.release().await.unwrap(), Released::Freed);
    assert!(lock.acquire_as(&owner).await.unwrap().fencing_token() > token);
}

#[tokio::test]
async fn plain_reentry_into_a_fenced_hold_is_one_more_guard() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let owner = Owner::new();
    let fenced = client.fenced_lock("x").acquire_as(&owner).await.unwrap();
    let plain = client.lock("x").acquire_as(&owner).await.unwrap();
    assert_eq!(plain.holder_id(), fenced.holder_id());
    assert_eq!(fenced.release().await.unwrap(), Released::StillHeld { guards: 1 });
    // And fenced again through it.
    let fenced = client.fenced_lock("x").acquire_as(&owner).await.unwrap();
    drop(plain);
    assert_eq!(fenced.release().await.unwrap(), Released::Freed);
}

/// It would wait for itself, and a guard would have no token.
#[tokio::test]
async fn fenced_acquire_of_who_holds_the_plain_lock_is_refused_at_once() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let owner = Owner::new();
    let (plain, fenced) = (client.lock("x"), client.fenced_lock("x"));
    let guard = plain.acquire_as(&owner).await.unwrap();
    let without = |error: &AcquireError| match error {
        AcquireError::Config(ConfigError::HeldWithoutToken { name, .. }) => &**name == "x",
        _ => false,
    };
    let waited = soon(fenced.acquire_as(&owner)).await.unwrap_err();
    assert!(without(&waited), "{waited}");
    let tried = soon(fenced.try_acquire_as(&owner)).await.unwrap_err();
    assert!(without(&tried), "{tried}");
    let limited = owner.clone().scope(fenced.try_acquire_for(Duration::from_millis(1))).await;
    assert!(without(&limited.unwrap_err()));
    // The plain hold is as it was, and others are refused as ever.
    assert_eq!(
        guard.reenter().unwrap().release().await.unwrap(),
        Released::StillHeld { guards: 1 }
    );
    assert!(fenced.try_acquire().await.unwrap().is_none());
    assert_eq!(server.keys(), ["x"]);
    guard.release().await.unwrap();
    let fenced = soon(fenced.acquire_as(&owner)).await.unwrap();
    assert!(fenced.fencing_token().get() > 0);
    fenced.release().await.unwrap();
}

#[tokio::test]
async fn composites_reenter_alike() {
    let fleet = Fleet::start(3).await;
    let masters = &fleet.masters;
    let owner = Owner::new();
    let guard = masters.fenced_red_lock("x").acquire_as(&owner).await.unwrap();
    let again = masters.fenced_red_lock("x").acquire_as(&owner).await.unwrap();
    let plain = masters.red_lock("x").acquire_as(&owner).await.unwrap();
    assert_eq!(again.fencing_token(), guard.fencing_token());
    assert_eq!(plain.holder_id(), guard.holder_id());
    drop((guard, again, plain));

    let plain = masters.multi_lock("y").acquire_as(&owner).await.unwrap();
    let error = soon(masters.fenced_multi_lock("y").acquire_as(&owner)).await.unwrap_err();
    let without = matches!(error, AcquireError::Config(ConfigError::HeldWithoutToken { .. }));
    assert!(without, "{error}");
    drop(plain);
}
