//! What is offered to a waiter is taken, passed on or given back: never kept without a use.

use std::time::Duration;

use futures::{FutureExt, poll};
use palisade::{AcquireError, Released, embedded::Server, settings::LocalHandover};
use testkit::RedisServer;

use super::{is_free, parked, patient, waiter};
use crate::support::{self, eventually, ms, soon};

#[tokio::test(start_paused = true)]
async fn offer_of_a_waiter_who_is_dropped_passes_to_the_next() {
    let client = Server::start_here().client().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let (first, second) = (waiter(&lock).await, waiter(&lock).await);
    let holder = guard.holder_id().to_owned();
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    drop(first);
    assert_eq!(second.await.unwrap().holder_id(), holder);
}

// proves: offer-taken-or-back
#[tokio::test(start_paused = true)]
async fn offer_of_the_last_waiter_who_is_dropped_is_given_back() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let only = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    assert!(!is_free(&client, "x").await);
    drop(only);
    client.shutdown(ms(1_000)).await.unwrap();
    assert!(is_free(&server.client().unwrap(), "x").await);
}

// proves: offer-taken-or-back
/// A future that is parked beside a `select!`, say: it is neither polled nor dropped.
#[tokio::test(start_paused = true)]
async fn offer_to_a_waiter_who_is_not_polled_is_withdrawn_and_the_next_asks() {
    let client = Server::start_here().client().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let (mut parked, second) = (waiter(&lock).await, waiter(&lock).await);
    let began = tokio::time::Instant::now();
    let holder = guard.holder_id().to_owned();
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    let second = second.await.unwrap();
    assert_ne!(second.holder_id(), holder);
    let waited = began.elapsed();
    assert!((ms(50)..ms(70)).contains(&waited), "{waited:?}");
    // It has lost nothing but its turn.
    assert!(poll!(&mut parked).is_pending());
    second.release().await.unwrap();
    soon(parked).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn offer_to_the_only_waiter_who_is_not_polled_is_released_after_the_limit() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let parked = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    assert!(other.lock("x").try_acquire().await.unwrap().is_none());
    let elsewhere = other.lock("x").acquire().await.unwrap();
    elsewhere.release().await.unwrap();
    soon(parked).await.unwrap().release().await.unwrap();
}

/// The same where time is real: the runtime of the waiter stands still between two calls of `block_on`.
#[test]
fn runtime_that_stands_still_keeps_no_lock_that_it_was_offered() {
    let server = RedisServer::start();
    let busy = tokio::runtime::Runtime::new().unwrap();
    let still = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let brief = LocalHandover::UpTo(Duration::from_secs(1));
    let client = busy.block_on(support::patient(&server).local_handover(brief).connect()).unwrap();
    let elsewhere = busy.block_on(support::client(&server));
    // A lock that is held for long, as on a busy machine, is released and not passed on.
    loop {
        let guard = busy.block_on(client.lock("x").acquire()).unwrap();
        let waits = client.lock("x");
        let waiting = still.spawn(async move { waits.acquire().await });
        // It stands in line.
        still.block_on(tokio::task::yield_now());
        let released = busy.block_on(guard.release()).unwrap();
        let next = busy.block_on(soon(elsewhere.lock("x").acquire())).unwrap();
        busy.block_on(next.release()).unwrap();
        let guard = still.block_on(soon(waiting)).unwrap().unwrap();
        still.block_on(guard.release()).unwrap();
        if released == Released::PassedOn {
            break;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn offer_is_renewed_until_it_is_taken() {
    let server = Server::start_here();
    let patient = LocalHandover::UpTo(Duration::from_secs(10));
    let settings = server.client_builder().local_handover(patient);
    let client = settings.watchdog_lease(ms(1_000)).build().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let parked = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(parked.await.unwrap().is_held());
}

#[tokio::test(start_paused = true)]
async fn offer_that_is_lost_before_it_is_taken_is_no_lock() {
    let server = Server::start_here();
    let (client, other) = (patient(&server), server.client().unwrap());
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let holder = guard.holder_id().to_owned();
    let mut parked = parked(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    other.lock("x").force_release().await.unwrap();
    // The client listens, and asks whether it is still its own.
    let found = other.lock("x").acquire().await.unwrap();
    tokio::time::sleep(ms(20)).await;
    assert_eq!(parked.as_mut().now_or_never().map(drop), None, "another has it");
    found.release().await.unwrap();
    assert_ne!(soon(parked).await.unwrap().holder_id(), holder);
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_what_is_offered() {
    let server = Server::start_here();
    let (client, other) = (patient(&server), server.client().unwrap());
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let parked = parked(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    client.shutdown(ms(1_000)).await.unwrap();
    assert!(is_free(&other, "x").await);
    let ended = soon(parked).await;
    assert!(matches!(ended, Err(AcquireError::Shutdown | AcquireError::Unavailable { .. })));
}

/// Futures that come and go at whatever poll: in the end nothing is left.
#[tokio::test(start_paused = true)]
async fn waiter_that_is_dropped_at_any_poll_leaves_nothing() {
    for polls in 1..40 {
        let server = Server::start_here();
        let (client, other) = (server.client().unwrap(), server.client().unwrap());
        let lock = client.lock("x");
        let guard = lock.acquire().await.unwrap();
        let mut waiting = waiter(&lock).await;
        let releasing = tokio::spawn(guard.release());
        for _ in 0..polls {
            if poll!(&mut waiting).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(waiting);
        releasing.await.unwrap().unwrap();
        eventually(|| is_free(&other, "x").now_or_never().unwrap_or(true)).await;
        soon(other.lock("x").acquire()).await.unwrap().release().await.unwrap();
    }
}

/// Nothing is offered here, since the lock is held for long: a waiter that is not polled keeps it
/// from no other all the same, wherever it is released.
#[tokio::test(start_paused = true)]
async fn free_lock_is_not_kept_by_a_waiter_who_is_not_polled() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    for holder in [&client, &other] {
        let guard = holder.lock("x").acquire().await.unwrap();
        let lock = client.lock("x");
        let first = parked(&lock).await;
        let behind = tokio::spawn(async move { lock.acquire().await.unwrap() });
        tokio::time::sleep(ms(100)).await;
        assert_eq!(guard.release().await.unwrap(), Released::Freed);
        let next = soon(behind).await.unwrap();
        assert_eq!(next.release().await.unwrap(), Released::Freed);
        soon(first).await.unwrap().release().await.unwrap();
    }
}

/// However many of them there are, others wait no longer than the limit.
#[tokio::test(start_paused = true)]
async fn many_waiters_who_are_not_polled_keep_nobody_out_for_longer_than_the_limit() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let mut line = Vec::new();
    for _ in 0..100 {
        line.push(waiter(&lock).await);
    }
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    let began = tokio::time::Instant::now();
    let elsewhere = other.lock("x").acquire().await.unwrap();
    assert!(began.elapsed() < ms(100), "{:?}", began.elapsed());
    elsewhere.release().await.unwrap();
}
