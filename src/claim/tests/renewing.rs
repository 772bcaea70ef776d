//! Renewals whose answers come after something else.

use std::{sync::Arc, time::Duration};

use super::client;
use crate::{
    LockGuard, LostCause,
    by_member::MemberId,
    claim::Claim,
    clock::Instant,
    embedded::Server,
    guard::Proof,
    process::Occasion,
    watchdog::{Report, Watched},
    wire::Outcome,
};

/// The answer comes now.
fn answered(claim: &Claim, code: i64, sent: Instant) -> Option<Instant> {
    let outcome = Outcome { code, value: 30_000, token: 0 };
    let run_id = claim.members().first().services.node.run_id();
    let report = Report::Answered { outcome, sent, run_id };
    claim.on_report(MemberId::FIRST, report, claim.now())
}

fn claim(guard: &LockGuard) -> Arc<Claim> {
    guard.turn().claim().clone()
}

#[tokio::test(start_paused = true)]
async fn member_whose_renewal_left_before_the_downgrade_is_told_at_once() {
    let guard = client().rw_lock("x").write().acquire().await.expect("it is free");
    let claim = claim(guard.guard());
    let before = claim.now();
    tokio::time::sleep(Duration::from_millis(1)).await;
    claim.reduce_soon();
    let now = claim.now();
    assert_eq!(answered(&claim, Outcome::DONE, before), Some(now));
    assert!(answered(&claim, Outcome::DONE, now) > Some(now), "that one has told it");
}

/// It was written again meanwhile.
#[tokio::test(start_paused = true)]
async fn hold_that_was_confirmed_since_is_not_lost_for_an_answer_of_before() {
    let lock = client().lock("x");
    assert!(!lock.is_locked().await.expect("it is up"));
    let before = lock.voter().services.now();
    tokio::time::sleep(Duration::from_millis(1)).await;
    let guard = lock.acquire().await.expect("it is free");
    let (claim, now) = (claim(&guard), lock.voter().services.now());
    assert_eq!(answered(&claim, Outcome::REFUSED, before), Some(now), "it is asked for at once");
    guard.ensure_valid().expect("it stands");
    assert_eq!(answered(&claim, Outcome::REFUSED, now), None);
    assert!(!guard.is_held());
}

// proves: no-answer-no-movement
/// When in between the server has done it is unknown.
#[tokio::test(start_paused = true)]
async fn renewed_lease_counts_from_when_the_request_was_sent() {
    let server = Server::start_here();
    let client = server.client().expect("it needs no server yet");
    let guard = client.lock("x").acquire().await.expect("it is free");
    let (at_once, delay) = (guard.remaining(), Duration::from_millis(400));
    server.set_delay(delay);
    tokio::time::sleep(at_once / 4).await;
    let mut longest = Duration::ZERO;
    for _ in 0..at_once.as_millis() {
        tokio::time::sleep(Duration::from_millis(1)).await;
        longest = longest.max(guard.remaining());
    }
    assert!(longest <= at_once - delay && longest > at_once - delay * 2, "{longest:?}");
}

/// The server was back a moment before it was granted, and is back once more.
#[tokio::test(start_paused = true)]
async fn hold_that_was_granted_since_all_were_to_be_renewed_is_renewed_with_them() {
    let server = Server::start_here();
    let client = server.client().expect("it needs no server yet");
    let lock = client.lock("x");
    assert!(!lock.is_locked().await.expect("it is up"));
    let services = &lock.voter().services;
    services.renew_all_soon(Occasion::Back);
    let guard = lock.acquire().await.expect("it is free");
    server.flush();
    services.renew_all_soon(Occasion::Back);
    let lost = tokio::time::timeout(Duration::from_secs(1), guard.lost()).await;
    assert_eq!(lost.expect("it is asked for soon"), LostCause::Gone);
}

/// Another client has written the mark anew, and the server goes down and comes back a moment later.
#[tokio::test(start_paused = true)]
async fn mark_that_was_renewed_puts_off_nothing_that_a_server_is_asked_that_is_back() {
    let ms = Duration::from_millis;
    let server = Server::start_here();
    let client = server.client().expect("it needs no server yet");
    let lock = client.lock("x");
    let guard = lock.acquire().await.expect("it is free");
    let services = &lock.voter().services;
    services.renew_all_soon(Occasion::Mark);
    tokio::time::sleep(ms(100)).await;
    server.flush();
    services.renew_all_soon(Occasion::Back);
    let lost = tokio::time::timeout(ms(250), guard.lost()).await;
    assert_eq!(lost.expect("it is asked for soon"), LostCause::Gone);
}
