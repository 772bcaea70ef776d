//! Holds that are to be written again where they were forgotten.

use std::time::Duration;

use crate::{Quarantine, by_member::MemberId, embedded::Server, watchdog::Watched};

/// The server was restarted, and does not answer yet.
#[tokio::test(start_paused = true)]
async fn hold_that_could_not_be_written_again_is_tried_again_soon() {
    let server = Server::start_here();
    let client = server.client_builder().quarantine(Quarantine::Always).build();
    let client = client.expect("it needs no server yet");
    let guard = client.lock("x").acquire().await.expect("it is free");
    let claim = guard.tenure().claim().clone();
    server.kill_and_forget();
    server.restart();
    server.freeze();
    // Until the loss of the connection is noticed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let now = claim.now();
    claim.state().members[MemberId::FIRST].missing(now);
    let repair = claim.clone().tick(now, 1).repairs.pop().expect("it is missing");
    repair.await;
    let again = claim.now() + claim.term().retry();
    let repairs_at = |now| claim.clone().tick(now, 1).repairs.len();
    assert_eq!(repairs_at(again - Duration::from_nanos(1)), 0);
    assert_eq!(repairs_at(again), 1);
    server.thaw();
    drop(guard);
}
