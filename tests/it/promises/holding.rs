//! For how long a hold lasts, and how its loss is told.

use std::time::Duration;

use futures::poll;
use palisade::{Lease, LostCause, ReleaseError, error::GuardedError, guarded::Script};
use tokio::time::{Instant, sleep};

use super::{
    Field, MAX_HOLD, SOON, held,
    kinds::{Held, Kind},
    soon,
};
use crate::outside::ask;

/// The default of the watchdog.
const LEASE: Duration = Duration::from_secs(30);

pub(super) async fn hold_is_renewed(field: &Field) {
    let held = held(&*field.ours()).await;
    for _ in 0..4 {
        sleep(LEASE).await;
        assert!(held.guard().is_held() && held.guard().remaining() > LEASE / 2);
        assert!(field.theirs().is_held().await);
    }
    held.release().await;
}

pub(super) async fn fixed_lease_ends_before_another_is_granted(field: &Field) {
    let (fixed, began) = (LEASE / 3, Instant::now());
    let lock = field.ours().with_lease(Lease::Fixed(fixed));
    let held = held(&*lock).await;
    let theirs = field.theirs();
    let (lost, granted) =
        tokio::join!(async { (held.guard().lost().await, began.elapsed()) }, async {
            (theirs.acquire().await.unwrap(), began.elapsed())
        },);
    assert_eq!(lost.0, LostCause::Expired);
    assert!(lost.1 <= fixed && lost.1 > fixed / 2, "{:?}", lost.1);
    assert!(granted.1 >= lost.1 && granted.1 < fixed + 3 * SOON, "{:?}", granted.1);
    granted.0.release().await;
}

// proves: lost-at-deadline, no-answer-no-movement
pub(super) async fn hold_is_lost_at_its_deadline_if_no_server_answers(field: &Field) {
    let held = held(&*field.ours()).await;
    freeze(field);
    let began = Instant::now();
    assert!(held.guard().lost().await.is_expiry());
    assert!(began.elapsed() <= LEASE && began.elapsed() > LEASE / 2, "{:?}", began.elapsed());
}

pub(super) async fn end_is_told_in_time(field: &Field) {
    let held = held(&*field.ours()).await;
    freeze(field);
    held.guard().expiring(LEASE / 3).await;
    assert!(held.guard().is_held());
    assert!(held.guard().remaining() <= LEASE / 3);
    held.guard().lost().await;
    assert!(!held.guard().is_held());
}

pub(super) async fn hold_that_was_forgotten_is_lost_by_the_next_renewal(field: &Field) {
    let held = held(&*field.ours()).await;
    for server in &field.servers {
        server.flush();
    }
    let began = Instant::now();
    let cause = held.guard().lost().await;
    assert_ne!(cause, LostCause::Expired);
    assert!(began.elapsed() < LEASE * 2 / 3, "{:?}", began.elapsed());
}

// proves: lost-not-healed
pub(super) async fn hold_that_was_forced_open_is_lost(field: &Field) {
    let held = held(&*field.ours()).await;
    assert!(field.theirs().force().await);
    let began = Instant::now();
    let cause = held.guard().lost().await;
    assert_ne!(cause, LostCause::Expired);
    assert!(began.elapsed() < LEASE * 2 / 3, "{:?}", began.elapsed());
    soon(field.theirs().try_acquire()).await.unwrap().expect("it is free").release().await;
}

// proves: lost-at-deadline
pub(super) async fn lost_one_is_of_no_use(field: &Field) {
    let held = held(&*field.ours()).await;
    freeze(field);
    let token = held.guard().cancellation_token();
    let work = held.guard().run(std::future::pending::<()>()).await;
    assert!(work.unwrap_err().cause.is_expiry());
    assert!(token.is_cancelled());
    assert!(held.guard().ensure_valid().is_err());
    assert_eq!(held.guard().remaining(), Duration::ZERO);
    if field.kind != Kind::Expirable {
        assert!(held.guard().reenter().is_err());
    }
    for server in &field.servers {
        server.thaw();
    }
    let released = held.into_guard().release().await;
    assert!(matches!(released, Err(ReleaseError::Lost(_))), "{released:?}");
}

pub(super) async fn hold_lasts_no_longer_than_max_hold(field: &Field) {
    let (held, began) = (held(&*field.ours()).await, Instant::now());
    assert!(held.guard().lost().await.is_expiry());
    let lasted = began.elapsed();
    assert!(lasted >= MAX_HOLD && lasted <= MAX_HOLD + LEASE, "{lasted:?}");
}

pub(super) async fn guarded_write_of_what_was_taken_away_never_lands(field: &Field) {
    let held = held(&*field.ours()).await;
    // The last members grant, too.
    sleep(SOON).await;
    write(field, &held, "in time").await.unwrap();
    assert!(field.theirs().force().await);
    write(field, &held, "late").await.unwrap_err();
    assert_eq!(written(field).await, ["in time"]);
}

/// Sent in time, and executed when the lease is over.
pub(super) async fn guarded_write_that_comes_too_late_never_lands(field: &Field) {
    let held = held(&*field.ours().with_lease(Lease::Fixed(LEASE))).await;
    sleep(SOON).await;
    write(field, &held, "in time").await.unwrap();
    freeze(field);
    let mut late = Box::pin(write(field, &held, "late"));
    assert!(poll!(&mut late).is_pending());
    let unknown = late.await.unwrap_err();
    assert!(matches!(unknown, GuardedError::Unknown { .. }), "{unknown:?}");
    sleep(LEASE).await;
    for server in &field.servers {
        server.thaw();
    }
    sleep(SOON).await;
    assert_eq!(written(field).await, ["in time"]);
}

/// Behind a look whether it is held there and then.
async fn write(field: &Field, held: &Held, what: &str) -> Result<i64, GuardedError> {
    let append = Script::new("return redis.call('RPUSH', KEYS[1], ARGV[1])");
    let here = &field.here.clients()[0];
    held.guard().script_on(here, &append).key("data").arg(what).invoke().await
}

async fn written(field: &Field) -> Vec<String> {
    ask(&field.servers[0], &["LRANGE", "data", "0", "-1"]).await
}

fn freeze(field: &Field) {
    for server in &field.servers {
        server.freeze();
    }
}
