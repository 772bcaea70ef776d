//! A claim that outlives a turn: what a hand-over inside the process is made of.

use std::sync::Arc;

use super::{HandoverRule, LockGuard, Turn};
use crate::{Client, Lock, Owner, embedded::Server, kind::Admission};

/// A client of a server in paused time, and the lock `x`.
fn lock() -> (Server, Client, Lock) {
    let server = Server::start_here();
    let client = server.client().expect("a client needs no server yet");
    let lock = client.lock("x");
    (server, client, lock)
}

/// The turn of a guard ends, and its claim stays.
fn end_turn(guard: LockGuard) -> Arc<Turn> {
    let turn = guard.turn().clone();
    assert!(turn.leave(Admission::Exclusive), "it was the only guard");
    guard.forget();
    turn
}

// proves: fresh-holder
#[tokio::test(start_paused = true)]
async fn second_turn_on_one_claim_finds_nothing_of_the_first() {
    let (_server, _client, lock) = lock();
    let owner = Owner::new();
    let first = lock.acquire_as(&owner).await.unwrap();
    let holder = first.holder_id().to_owned();
    let work = tokio::spawn(
        first.cancellation_token().run_until_cancelled_owned(std::future::pending::<()>()),
    );
    let before = end_turn(first);
    assert_eq!(work.await.unwrap(), None, "work of the first turn is cancelled");

    let claim = before.claim().clone();
    let second = Turn::new(claim.clone(), None, HandoverRule::new(None, true));
    assert!(claim.hand_to(None, Arc::<crate::guard::Turn>::downgrade(&second)));
    let second = LockGuard::new(second);
    assert_eq!(second.holder_id(), holder);
    assert!(second.is_held() && !second.cancellation_token().is_cancelled());
    assert!(
        before.ensure_valid().is_err() && !before.enter(Admission::Exclusive, None),
        "a turn is never entered again"
    );
    let again = lock.try_acquire_as(&owner).await.unwrap();
    assert!(again.is_none(), "the first owner has no part in the second turn");
    assert_eq!(lock.holder().await.unwrap().unwrap().count, 1);

    second.release().await.unwrap();
    assert!(!lock.is_locked().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn claim_that_somebody_has_is_not_handed_on() {
    let (_server, _client, lock) = lock();
    let guard = lock.acquire().await.unwrap();
    let claim = guard.turn().claim().clone();
    let other = Turn::new(claim.clone(), None, HandoverRule::new(None, true));
    assert!(!claim.hand_to(None, Arc::<crate::guard::Turn>::downgrade(&other)));
    guard.release().await.unwrap();
    assert!(
        !claim.hand_to(None, Arc::<crate::guard::Turn>::downgrade(&other)),
        "nor one that was released"
    );
}
