//! More than one guard on one hold.

use futures::future::join;
use palisade::{Lock, LockGuard, OnOutage, Owner, Released};
use testkit::RedisServer;

use crate::support::{Look, client, eventually, fixed, soon, watchdog};

/// The three ways to ask for it.
async fn enter_thrice(lock: &Lock) -> (LockGuard, LockGuard, LockGuard) {
    let owner = Owner::new();
    let first = soon(lock.acquire_as(&owner)).await.unwrap();
    let second = first.reenter().unwrap();
    let third = soon(owner.scope(lock.acquire())).await.unwrap();
    (first, second, third)
}

#[tokio::test]
async fn reentry_is_one_more_guard_on_the_same_hold_and_the_count_follows() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let (first, second, third) = enter_thrice(&lock).await;
    assert_eq!(first.holder_id(), second.holder_id());
    assert_eq!(first.holder_id(), third.holder_id());
    eventually(|| server.count("x") == 3).await;
    assert_eq!(lock.holder().await.unwrap().unwrap().count, 3);
    drop(third);
    eventually(|| server.count("x") == 2).await;
    drop(second);
    eventually(|| server.count("x") == 1).await;
    assert_eq!(first.release().await.unwrap(), Released::Freed);
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn guards_may_go_in_any_order() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let (first, second, third) = enter_thrice(&lock).await;
        let mut guards = [Some(first), Some(second), Some(third)];
        let mut release = async |i: usize| guards[i].take().unwrap().release().await.unwrap();
        assert_eq!(release(order[0]).await, Released::StillHeld { guards: 2 });
        assert_eq!(release(order[1]).await, Released::StillHeld { guards: 1 });
        assert!(lock.try_acquire().await.unwrap().is_none());
        assert_eq!(release(order[2]).await, Released::Freed);
        assert_eq!(server.size(), 0, "{order:?}");
    }
}

#[tokio::test]
async fn reentry_asks_no_server() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    server.freeze();
    // Any round trip would take until the server is thawed, which is after all of these.
    let again = guard.reenter().unwrap();
    let as_owner = soon(lock.acquire_as(&owner)).await.unwrap();
    let tried = soon(lock.try_acquire_as(&owner)).await.unwrap().unwrap();
    let in_scope = soon(owner.scope(lock.acquire())).await.unwrap();
    server.thaw();
    eventually(|| server.count("x") == 5).await;
    drop((again, as_owner, tried, in_scope));
    assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn reentry_passes_those_who_wait_in_line() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    eventually(|| server.subscribers("x") == 1).await;
    let again = soon(lock.acquire_as(&owner)).await.unwrap();
    drop(guard);
    assert!(again.is_held() && !waiter.is_finished());
    drop(again);
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn another_owner_is_refused() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let (one, other) = (Owner::new(), Owner::new());
    let _guard = lock.acquire_as(&one).await.unwrap();
    assert!(lock.try_acquire_as(&other).await.unwrap().is_none());
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(lock.try_acquire_as(&one.clone()).await.unwrap().is_some(), "a clone is the same");
}

#[tokio::test]
async fn owner_reenters_through_another_client_of_the_same_server() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let owner = Owner::new();
    let guard = one.lock("x").acquire_as(&owner).await.unwrap();
    let again = soon(other.lock("x").acquire_as(&owner)).await.unwrap();
    assert_eq!(guard.holder_id(), again.holder_id());
    let apart = other.lock("y").acquire_as(&owner).await.unwrap();
    assert_ne!(guard.holder_id(), apart.holder_id(), "another lock is another hold");
}

#[tokio::test]
async fn branches_of_a_join_share_the_owner_of_their_scope() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let both = Owner::new().scope(join(lock.acquire(), lock.acquire()));
    let (one, other) = soon(both).await;
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.holder_id(), other.holder_id());
    eventually(|| server.count("x") == 2).await;
}

#[tokio::test]
async fn spawned_task_does_not_inherit_the_owner() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let work = async {
        let _guard = lock.acquire().await.unwrap();
        let lock = lock.clone();
        tokio::spawn(async move { lock.try_acquire().await }).await.unwrap().unwrap().is_none()
    };
    assert!(soon(Owner::new().scope(work)).await);
}

#[tokio::test]
async fn inner_scope_is_the_owner_of_its_work() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let (outer, inner) = (Owner::new(), Owner::new());
    let work = async {
        let _guard = lock.acquire().await.unwrap();
        let refused = inner.scope(lock.try_acquire()).await.unwrap().is_none();
        refused && lock.try_acquire().await.unwrap().is_some()
    };
    assert!(soon(outer.scope(work)).await);
}

#[tokio::test]
async fn owner_that_waits_elsewhere_is_answered_at_once_by_a_try() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let guard = lock.acquire().await.unwrap();
    let owner = Owner::new();
    let waiter = tokio::spawn({
        let (lock, owner) = (lock.clone(), owner.clone());
        async move { lock.acquire_as(&owner).await }
    });
    eventually(|| server.subscribers("x") == 1).await;
    assert!(soon(lock.try_acquire_as(&owner)).await.unwrap().is_none());
    guard.release().await.unwrap();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert!(lock.try_acquire_as(&owner).await.unwrap().is_some());
    drop(guard);
}

// proves: fresh-holder
#[tokio::test]
async fn hold_that_was_released_is_never_entered_again() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    let first = guard.holder_id().to_owned();
    drop(guard);
    // The release is on its way to the releaser; whatever comes first, this is another hold.
    let guard = soon(lock.acquire_as(&owner)).await.unwrap();
    assert_ne!(guard.holder_id(), first);
    eventually(|| server.hash("x").contains_key(guard.holder_id())).await;
    guard.release().await.unwrap();
}

// proves: fresh-holder, lost-not-healed
#[tokio::test]
async fn hold_that_was_lost_is_never_entered_again() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(9_000));
    let lock = lock.on_outage(OnOutage::Wait);
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    server.flush();
    let cause = soon(guard.lost()).await;
    assert_eq!(guard.reenter().unwrap_err().cause, cause);
    let next = soon(lock.acquire_as(&owner)).await.unwrap();
    assert_ne!(next.holder_id(), guard.holder_id());
    drop(guard);
    assert!(next.is_held());
    assert_eq!(next.release().await.unwrap(), Released::Freed);
}

#[tokio::test]
async fn longer_lease_of_a_reentry_extends_the_ttl() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let owner = Owner::new();
    let guard = lock.clone().with_lease(fixed(60_000)).acquire_as(&owner).await.unwrap();
    let deadline = guard.deadline();
    let _again = lock.with_lease(fixed(600_000)).acquire_as(&owner).await.unwrap();
    eventually(|| server.pttl("x") > 300_000).await;
    eventually(|| guard.deadline() > deadline).await;
    assert_eq!(server.count("x"), 2);
}

// proves: ttl-not-shortened
#[tokio::test]
async fn shorter_lease_of_a_reentry_shortens_nothing() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let owner = Owner::new();
    let guard = lock.clone().with_lease(fixed(600_000)).acquire_as(&owner).await.unwrap();
    let expires = || server.end_of("x");
    let (deadline, before) = (guard.deadline(), expires());
    let again = lock.with_lease(fixed(1_000)).acquire_as(&owner).await.unwrap();
    eventually(|| server.count("x") == 2).await;
    assert!(expires() >= before);
    drop(again);
    eventually(|| server.count("x") == 1).await;
    assert!(expires() >= before);
    assert!(guard.deadline() >= deadline);
}

#[tokio::test]
async fn fixed_hold_that_is_entered_with_a_watchdog_lease_is_renewed_from_then_on() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").on_outage(OnOutage::Wait);
    let owner = Owner::new();
    let guard = lock.clone().with_lease(fixed(9_000)).acquire_as(&owner).await.unwrap();
    let _again = lock.with_lease(watchdog(3_000)).acquire_as(&owner).await.unwrap();
    eventually(|| server.count("x") == 2).await;
    // The re-entry itself may move it once, renewals go on.
    is_renewed(&guard).await;
}

/// Redisson counts the renewals of an outer and of an inner hold as one, and an inner unlock may end
/// them.
#[tokio::test]
async fn hold_is_renewed_on_after_an_inner_guard_is_gone() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(3_000));
    let lock = lock.on_outage(OnOutage::Wait);
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    let inner = lock.acquire_as(&owner).await.unwrap();
    eventually(|| server.count("x") == 2).await;
    inner.release().await.unwrap();
    eventually(|| server.count("x") == 1).await;
    is_renewed(&guard).await;
    guard.release().await.unwrap();
    is_renewed(&lock.acquire_as(&Owner::new()).await.unwrap()).await;
}

async fn is_renewed(guard: &LockGuard) {
    for _ in 0..2 {
        let deadline = guard.deadline();
        eventually(|| guard.deadline() > deadline).await;
    }
    assert!(guard.is_held());
}
