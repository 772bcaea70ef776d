//! How a holder learns that the lock is lost.

use std::time::Duration;

use futures::future::{Either, select};
use palisade::{
    Lease, LostCause, OnOutage, ReleaseError,
    clock::{BootClock, Clock},
    embedded::Server,
};
use testkit::RedisServer;

use crate::support::{
    Look, acquired, client, eventually, fixed, hasty, ms, patient, soon, watchdog,
};

#[tokio::test]
async fn lock_that_the_server_forgot_is_lost_by_the_next_renewal() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(9_000));
    let guard = acquired(&lock).await;
    let token = guard.cancellation_token();
    server.flush();
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
    soon(token.cancelled()).await;
    assert_eq!(guard.ensure_valid().unwrap_err().cause, LostCause::Gone);
    assert!(!guard.is_held() && guard.remaining().is_zero());
    let holder = guard.holder_id().to_owned();
    let error = guard.release().await.unwrap_err();
    assert!(matches!(&error, ReleaseError::Lost(lost) if lost.cause == LostCause::Gone));
    let says = format!("x: the lock was lost: the server no longer knows it (holder {holder})");
    assert_eq!(error.to_string(), says);
}

#[tokio::test]
async fn lock_on_a_server_that_came_back_empty_is_lost() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(3_000));
    let guard = acquired(&lock).await;
    server.restart_empty();
    let cause = soon(guard.lost()).await;
    assert!(matches!(cause, LostCause::Gone | LostCause::Expired), "{cause:?}");
}

#[tokio::test]
async fn release_of_a_lock_that_is_another_s_says_that_it_was_lost() {
    let server = RedisServer::start();
    let client = patient(&server).tracking(false).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    server.flush();
    let other = client.lock("x").acquire().await.unwrap();
    let error = soon(guard.release()).await.unwrap_err();
    assert!(matches!(&error, ReleaseError::Lost(lost) if lost.cause == LostCause::Taken));
    assert_eq!(server.hash("x").keys().collect::<Vec<_>>(), [other.holder_id()]);
    assert!(other.is_held());
}

// proves: lost-at-deadline
/// The local deadline lies before the end of the key by the drift, whatever was slow meanwhile.
#[tokio::test]
async fn deadline_of_a_fixed_lease_comes_before_the_key_ends() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for lease in [20_000, 60_000, 600_000] {
        let lock = client.lock("x").with_lease(fixed(lease)).on_outage(OnOutage::Wait);
        let guard = soon(lock.acquire()).await.unwrap();
        let ttl = ms(u64::try_from(server.pttl("x")).unwrap());
        let key_ends_by = BootClock.now() + ttl + ms(1);
        assert!(guard.deadline() + ms(lease / 100) <= key_ends_by);
        assert!(guard.remaining() <= ms(lease - lease / 100));
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn fixed_lease_ends_by_our_clock() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(fixed(1_000)).on_outage(OnOutage::Wait);
    let guard = soon(lock.acquire()).await.unwrap();
    let (token, deadline) = (guard.cancellation_token(), guard.deadline());
    // The token is cancelled without a task that awaits `lost`.
    soon(token.cancelled()).await;
    assert!(BootClock.now() >= deadline);
    assert_eq!(soon(guard.lost()).await, LostCause::Expired);
    assert_eq!(guard.ensure_valid().unwrap_err().cause, LostCause::Expired);
    let error = guard.release().await.unwrap_err();
    assert!(matches!(error, ReleaseError::Lost(lost) if lost.cause == LostCause::Expired));
    eventually(|| server.size() == 0).await;
}

// proves: lost-at-deadline
#[tokio::test]
async fn lost_fires_although_the_server_does_not_answer() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x").with_lease(watchdog(2_000));
    let guard = acquired(&lock).await;
    server.freeze();
    assert!(soon(guard.lost()).await.is_expiry());
    server.thaw();
}

// proves: lost-at-deadline
#[tokio::test]
async fn loss_is_seen_at_the_moment_of_use_although_no_timer_could_fire() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(fixed(1_000)).on_outage(OnOutage::Wait);
    let guard = soon(lock.acquire()).await.unwrap();
    // As a machine does that was suspended: this thread runs no timers.
    let deadline = guard.deadline();
    while BootClock.now() < deadline {
        std::thread::sleep(deadline.saturating_since(BootClock.now()));
    }
    assert_eq!(guard.ensure_valid().unwrap_err().cause, LostCause::Expired);
    assert!(guard.reenter().is_err());
}

#[tokio::test]
async fn expiring_fires_before_the_loss_while_renewals_do_not_get_through() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x").with_lease(watchdog(4_000));
    let guard = acquired(&lock).await;
    server.freeze();
    let (expiring, lost) = (Box::pin(guard.expiring(ms(1_200))), Box::pin(guard.lost()));
    let first = soon(select(expiring, lost)).await;
    let Either::Left(((), lost)) = first else { panic!("lost without a warning") };
    assert!(guard.remaining() <= ms(1_200));
    assert!(soon(lost).await.is_expiry());
    soon(guard.expiring(Duration::ZERO)).await;
    server.thaw();
}

#[tokio::test(start_paused = true)]
async fn expiring_waits_while_renewals_get_through() {
    const LEASE: Duration = Duration::from_secs(3);
    let client = Server::start_here().client().unwrap();
    let lock = client.lock("x").with_lease(Lease::WatchdogOf(LEASE));
    let guard = lock.acquire().await.unwrap();
    let expiring = Box::pin(guard.expiring(ms(200)));
    let past_it = Box::pin(tokio::time::sleep(LEASE * 3));
    let first = select(expiring, past_it).await;
    assert!(matches!(first, Either::Right(_)), "it fired although the lock is renewed");
    assert!(guard.is_held());
}

#[tokio::test]
async fn margin_beyond_the_lease_is_over_at_once() {
    let server = RedisServer::start();
    let guard = client(&server).await.lock("x").acquire().await.unwrap();
    soon(guard.expiring(Duration::from_secs(601))).await;
    soon(guard.expiring(Duration::MAX)).await;
    assert!(guard.is_held());
}

#[tokio::test]
async fn forced_release_is_known_at_once_where_somebody_waits() {
    let server = RedisServer::start();
    let (holders, others) = (client(&server).await, client(&server).await);
    // Its first renewal would be minutes away.
    let guard = holders.lock("x").acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = holders.lock("x");
        async move { lock.acquire().await }
    });
    eventually(|| server.subscribers("x") == 1).await;
    assert!(others.lock("x").force_release().await.unwrap());
    let (cause, next) = soon(futures::future::join(guard.lost(), waiter)).await;
    // Whether the waiter is quicker than the question is left to chance.
    assert!(matches!(cause, LostCause::Gone | LostCause::Taken), "{cause}");
    assert!(next.unwrap().unwrap().is_held());
}

#[tokio::test]
async fn forced_release_is_known_by_the_next_renewal_where_nobody_waits() {
    let server = RedisServer::start();
    let (holders, others) = (client(&server).await, client(&server).await);
    let lock = holders.lock("x").with_lease(watchdog(9_000));
    let guard = acquired(&lock).await;
    assert!(others.lock("x").force_release().await.unwrap());
    assert_eq!(server.size(), 0);
    assert!(!others.lock("x").force_release().await.unwrap(), "it was free");
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
}

#[tokio::test]
async fn every_waiter_for_the_loss_is_told_and_may_come_late() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(9_000));
    let guard = acquired(&lock).await;
    let again = guard.reenter().unwrap();
    server.flush();
    let all = soon(futures::future::join3(guard.lost(), guard.lost(), again.lost())).await;
    assert_eq!(all, (LostCause::Gone, LostCause::Gone, LostCause::Gone));
    assert_eq!(soon(guard.lost()).await, LostCause::Gone);
}

#[tokio::test]
async fn watchdog_keeps_the_lock_beyond_its_lease() {
    let server = RedisServer::start();
    let client = patient(&server).watchdog_lease(ms(9_000)).connect().await.unwrap();
    let guard = acquired(&client.lock("x")).await;
    let second = guard.deadline() + ms(9_000);
    eventually(|| guard.deadline() > second).await;
    assert!(guard.is_held() && server.pttl("x") > 0);
    guard.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

/// There is no waiter, so no listener: the new grant itself tells that the old hold is gone.
#[tokio::test]
async fn forced_release_is_known_at_once_where_the_lock_is_acquired_again() {
    let server = RedisServer::start();
    let client = patient(&server).tracking(false).connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    assert!(client.lock("x").force_release().await.unwrap());
    let _next = client.lock("x").acquire().await.unwrap();
    assert_eq!(soon(guard.lost()).await, LostCause::Taken);
}
