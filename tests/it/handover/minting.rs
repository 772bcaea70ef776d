//! What is offered to a waiter that needs a token for it: had with that, or withdrawn.

use std::time::Duration;

use futures::poll;
use palisade::{FencedGuard, FencedLock, Released, embedded::Server};
use tokio::time::timeout;

use super::patient;
use crate::support::{ms, soon};

const MINUTE: Duration = Duration::from_secs(60);

/// A waiter for the lock that has taken what it was offered: it asks for its token when it is not polled
/// any more.
macro_rules! parked_while_it_mints {
    ($server:expr, $lock:expr, $guard:expr) => {{
        let lock: FencedLock = $lock.clone();
        let mut waiting = Box::pin(async move { lock.acquire().await });
        assert!(timeout(ms(100), &mut waiting).await.is_err(), "another holds it");
        assert_eq!($guard.release().await.unwrap(), Released::PassedOn);
        $server.set_delay(ms(20));
        assert!(poll!(&mut waiting).is_pending(), "it asks for a token");
        waiting
    }};
}

// proves: offer-taken-or-back
#[tokio::test(start_paused = true)]
async fn hold_that_is_taken_by_who_is_parked_before_it_has_a_token_is_withdrawn() {
    let server = Server::start_here();
    let (client, other) = (patient(&server), server.client().unwrap());
    let lock = client.fenced_lock("x");
    let guard: FencedGuard = lock.acquire().await.unwrap();
    let first = guard.fencing_token();
    let waiting = parked_while_it_mints!(server, lock, guard);
    let elsewhere = timeout(MINUTE, other.fenced_lock("x").acquire()).await;
    let elsewhere = elsewhere.expect("nobody has it").unwrap();
    assert!(elsewhere.fencing_token() > first);
    let second = elsewhere.fencing_token();
    elsewhere.release().await.unwrap();
    // The parked one has lost nothing but its turn.
    let third = soon(waiting).await.unwrap();
    assert!(third.fencing_token() > second);
    third.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn hold_that_is_taken_is_left_to_who_gets_its_token_in_time() {
    let server = Server::start_here();
    let client = patient(&server);
    let lock = client.fenced_lock("x");
    let guard: FencedGuard = lock.acquire().await.unwrap();
    let (holder, first) = (guard.holder_id().to_owned(), guard.fencing_token());
    let mut waiting = parked_while_it_mints!(server, lock, guard);
    // Longer than an offer stands, and no longer than it may take to have it.
    tokio::time::sleep(ms(10_500)).await;
    let second = soon(&mut waiting).await.unwrap();
    assert_eq!(second.holder_id(), holder);
    assert!(second.fencing_token() > first);
    // It is held from then on as any other.
    tokio::time::sleep(MINUTE).await;
    second.ensure_valid().unwrap();
    second.release().await.unwrap();
}
