//! Which owners may enter a hold again, and what ends it.

use std::time::Duration;

use palisade::{AcquireError, LostCause, Owner, Released};
use tokio::time::Instant;

use super::{Field, SOON, held, kinds::Held, soon};

pub(super) async fn owner_enters_again_and_the_last_guard_ends_it(field: &Field) {
    let (ours, owner) = (field.ours(), Owner::new());
    let first = soon(ours.acquire_as(&owner)).await.unwrap();
    let second = soon(ours.acquire_as(&owner)).await.unwrap();
    assert_eq!(first.guard().holder_id(), second.guard().holder_id());
    ends_with_the_last(field, first, second).await;
}

pub(super) async fn another_owner_is_refused(field: &Field) {
    let ours = field.ours();
    let held = soon(ours.acquire_as(&Owner::new())).await.unwrap();
    assert!(soon(ours.try_acquire_as(&Owner::new())).await.unwrap().is_none());
    held.release().await;
}

pub(super) async fn guard_enters_again(field: &Field) {
    let first = held(&*field.ours()).await;
    let second = Held::Guard(first.guard().reenter().unwrap());
    ends_with_the_last(field, first, second).await;
}

// proves: fresh-holder
/// Its guard is still there: the owner could find it.
pub(super) async fn hold_that_is_over_is_not_entered_again(field: &Field) {
    let (ours, owner) = (field.ours(), Owner::new());
    let lost = soon(ours.acquire_as(&owner)).await.unwrap();
    assert!(field.theirs().force().await);
    lost.guard().lost().await;
    let next = soon(ours.acquire_as(&owner)).await.unwrap();
    assert_ne!(next.guard().holder_id(), lost.guard().holder_id());
    assert!(next.guard().is_held() && !lost.guard().is_held());
    next.release().await;
}

pub(super) async fn orphan_stands_until_its_lease_is_over(field: &Field) {
    let held = held(&*field.ours()).await;
    let (left, began) = (held.guard().remaining(), Instant::now());
    held.into_guard().orphan();
    assert!(soon(field.theirs().try_acquire()).await.unwrap().is_none());
    let next = field.theirs().acquire().await.unwrap();
    let waited = began.elapsed();
    assert!(waited >= left && waited < left + 3 * SOON, "{waited:?} after {left:?}");
    next.release().await;
}

pub(super) async fn shutdown_ends_holds_and_lets_others_in(field: &Field) {
    let held = held(&*field.ours()).await;
    let theirs = field.theirs();
    let (ended, next) =
        soon(futures::future::join(field.here.shutdown(LIMIT), theirs.acquire())).await;
    ended.unwrap();
    assert_eq!(held.guard().lost().await, LostCause::Shutdown);
    next.unwrap().release().await;
}

pub(super) async fn shutdown_ends_waits(field: &Field) {
    let held = held(&*field.theirs()).await;
    let ours = field.ours();
    let shutdown = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        field.here.shutdown(LIMIT).await
    };
    let (ended, waited) = soon(futures::future::join(shutdown, ours.acquire())).await;
    ended.unwrap();
    assert!(matches!(waited.err(), Some(AcquireError::Shutdown)));
    held.release().await;
    field.becomes_empty().await;
}

pub(super) async fn nothing_is_granted_after_a_shutdown(field: &Field) {
    let ours = field.ours();
    held(&*ours).await.release().await;
    soon(field.here.shutdown(LIMIT)).await.unwrap();
    let refused = ours.try_acquire().await.err();
    assert!(matches!(refused, Some(AcquireError::Shutdown)), "{refused:?}");
}

async fn ends_with_the_last(field: &Field, first: Held, second: Held) {
    let released = first.into_guard().release().await.unwrap();
    assert_eq!(released, Released::StillHeld { guards: 1 });
    assert!(field.theirs().is_held().await && second.guard().is_held());
    second.release().await;
    field.becomes_empty().await;
}

/// Of a shutdown.
const LIMIT: Duration = Duration::from_secs(2);
