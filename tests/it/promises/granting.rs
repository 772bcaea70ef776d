//! When a lock is granted, and what a wait, a refusal and a release leave behind.

use std::{cell::RefCell, time::Duration};

use futures::{FutureExt, future::join};
use tokio::time::Instant;

use super::{Field, SOON, dropped_after, held, soon};

/// Time in which a waiter comes to rest.
const A_WHILE: Duration = Duration::from_millis(500);

pub(super) async fn free_one_is_granted_at_once(field: &Field) {
    let held = soon(field.ours().try_acquire()).await.unwrap().expect("it is free");
    assert!(field.theirs().is_held().await);
    held.release().await;
    let again = soon(field.theirs().try_acquire()).await.unwrap().expect("it is free again");
    again.release().await;
}

pub(super) async fn held_one_is_refused_to_others(field: &Field) {
    let held = held(&*field.ours()).await;
    for other in [field.theirs(), field.ours()] {
        assert!(soon(other.try_acquire()).await.unwrap().is_none());
    }
    held.release().await;
}

pub(super) async fn readers_hold_it_together(field: &Field) {
    let [one, two, three] =
        [held(&*field.ours()).await, held(&*field.theirs()).await, held(&*field.theirs()).await];
    for held in [one, three, two] {
        assert!(field.ours().is_held().await);
        held.release().await;
    }
    assert!(!field.ours().is_held().await);
}

// proves: wake-up-is-hint
pub(super) async fn release_lets_the_next_process_in(field: &Field) {
    let held = held(&*field.ours()).await;
    let (ours, theirs) = (async { later(held.release()).await }, field.theirs());
    let ((), next) = soon(join(ours, theirs.acquire())).await;
    next.unwrap().release().await;
}

// proves: offer-taken-or-back
pub(super) async fn release_lets_the_next_of_the_process_in(field: &Field) {
    let held = held(&*field.ours()).await;
    let (first, second) = (field.ours(), field.ours());
    let waits = join(async { first.acquire().await.unwrap().release().await }, async {
        second.acquire().await.unwrap().release().await
    });
    soon(join(later(held.release()), waits).boxed_local()).await;
}

// proves: drop-never-blocks
pub(super) async fn drop_lets_the_next_in(field: &Field) {
    let held = held(&*field.ours()).await;
    let theirs = field.theirs();
    let ((), next) = soon(join(later(async { drop(held) }), theirs.acquire())).await;
    next.unwrap().release().await;
}

pub(super) async fn limit_of_a_wait_is_respected(field: &Field) {
    let held = held(&*field.ours()).await;
    let (began, limit) = (Instant::now(), Duration::from_millis(1_200));
    assert!(field.theirs().try_acquire_for(limit).await.unwrap().is_none());
    let took = began.elapsed();
    assert!(took >= limit && took < limit + SOON, "{took:?}");
    held.release().await;
    let next = soon(field.theirs().try_acquire_for(limit)).await.unwrap();
    next.expect("it is free").release().await;
}

// proves: drop-never-blocks
pub(super) async fn dropped_wait_leaves_nothing(field: &Field) {
    let held = held(&*field.ours()).await;
    for waiter in [field.theirs(), field.ours()] {
        dropped_after(A_WHILE, waiter.acquire()).await;
    }
    held.release().await;
    field.becomes_empty().await;
    soon(field.theirs().try_acquire()).await.unwrap().expect("it is free").release().await;
}

// proves: drop-never-blocks
pub(super) async fn dropped_acquire_leaves_nothing(field: &Field) {
    for polls in 1..20 {
        let ours = field.ours();
        let mut acquire = ours.acquire();
        for _ in 0..polls {
            if (&mut acquire).now_or_never().is_some() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(acquire);
        field.becomes_empty().await;
        soon(field.theirs().try_acquire()).await.unwrap().expect("it is free").release().await;
    }
}

pub(super) async fn released_one_leaves_no_key(field: &Field) {
    let held = held(&*field.ours()).await;
    assert!(!field.keys().await.is_empty());
    held.release().await;
    field.becomes_empty().await;
}

pub(super) async fn waiters_are_served_as_they_came(field: &Field) {
    let held = held(&*field.ours()).await;
    let served = RefCell::new(Vec::new());
    let waits = |number: u32| {
        let served = &served;
        let lock = if number.is_multiple_of(2) { field.theirs() } else { field.ours() };
        async move {
            tokio::time::sleep(number * A_WHILE).await;
            let held = lock.acquire().await.unwrap();
            served.borrow_mut().push(number);
            held.release().await;
        }
    };
    let released = async {
        tokio::time::sleep(5 * A_WHILE).await;
        held.release().await;
    };
    let waits = futures::future::join_all((0..4).map(waits));
    tokio::time::timeout(2 * SOON, join(waits, released)).await.expect("all are served");
    assert_eq!(served.into_inner(), [0, 1, 2, 3]);
}

// proves: three-answers
pub(super) async fn outage_is_an_error_and_no_refusal(field: &Field) {
    held(&*field.ours()).await.release().await;
    for server in &field.servers {
        server.kill();
    }
    let error = field.ours().try_acquire().await.err().expect("there is no server");
    assert!(error.ballot().is_some(), "{error:?}");
}

pub(super) async fn it_is_seen_from_outside(field: &Field) {
    assert!(!field.theirs().is_held().await);
    let held = held(&*field.ours()).await;
    assert!(field.ours().is_held().await && field.theirs().is_held().await);
    held.release().await;
    field.becomes_empty().await;
    assert!(!field.theirs().is_held().await);
}

// proves: counter-rises
pub(super) async fn fenced_ones_have_rising_tokens_and_others_none(field: &Field) {
    let mut tokens = Vec::new();
    for _ in 0..3 {
        for lock in [field.ours(), field.theirs()] {
            let held = held(&*lock).await;
            tokens.push(held.guard().fencing_token());
            held.release().await;
        }
    }
    assert!(tokens.iter().all(|token| token.is_some() == field.kind.is_fenced()), "{tokens:?}");
    assert!(
        !field.kind.is_fenced() || tokens.is_sorted_by(|before, after| before < after),
        "{tokens:?}"
    );
}

/// Once others wait.
async fn later<T>(work: impl Future<Output = T>) -> T {
    tokio::time::sleep(A_WHILE).await;
    work.await
}
