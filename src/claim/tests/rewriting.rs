//! Holds that are to be written again where they were forgotten.

use std::time::Duration;

use crate::{
    Quarantine,
    by_member::MemberId,
    claim::{absence::Absence, ask::VoteRequest},
    embedded::Server,
    socket::{AcquireSource, SendReason},
    watchdog::Watched,
};

/// The server was restarted, and does not answer yet.
#[tokio::test(start_paused = true)]
async fn hold_that_could_not_be_written_again_is_tried_again_soon() {
    let server = Server::start_here();
    let client = server.client_builder().quarantine(Quarantine::Always).build();
    let client = client.expect("it needs no server yet");
    let guard = client.lock("x").acquire().await.expect("it is free");
    let claim = guard.turn().claim().clone();
    server.kill_and_forget();
    server.restart();
    server.freeze();
    // Until the loss of the connection is noticed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let now = claim.now();
    claim.state().members[MemberId::FIRST].missing(Absence::Gone, now);
    let repair = claim.clone().tick(now, 1).repairs.pop().expect("it is missing");
    repair.await;
    let again = claim.now() + claim.term().retry();
    let repairs_at = |now| claim.clone().tick(now, 1).repairs.len();
    assert_eq!(repairs_at(again - Duration::from_nanos(1)), 0);
    assert_eq!(repairs_at(again), 1);
    server.thaw();
    drop(guard);
}

/// The server may come to it late: its stamp decides.
#[tokio::test(start_paused = true)]
async fn hold_is_not_written_again_by_what_may_be_executed_after_the_wait() {
    let client = Server::start_here().client_builder().quarantine(Quarantine::Durable).build();
    let client = client.expect("it needs no server yet");
    let guard = client.lock("x").acquire().await.expect("it is free");
    let claim = guard.turn().claim().clone();
    let node = &claim.members().first().services.node;
    let connection = node.connected("x").expect("it has granted");
    let mut asking =
        VoteRequest::of(&claim, MemberId::FIRST, &connection, None, Duration::from_secs(1));
    let now = claim.now();
    let until = connection.server_time_at(now) + 10_000_000;
    assert!(asking.limit_to_wait(until, now));
    let wants = |not_after| asking.wants(now, not_after, SendReason::First);
    assert_eq!([until + 1, until].map(wants), [false, true]);
}
