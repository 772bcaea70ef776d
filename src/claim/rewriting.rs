//! A hold whose server's process was replaced by one that does not have it is written there again. The
//! new one is a replica that was promoted, or the same server, restarted without its data.
//!
//! Whatever takes the place of a process grants nothing until every lease is over that it may have
//! forgotten, by its mark or its age. A deadline that the process before has confirmed ends earlier, so a
//! claim that finds its key missing there may write it again: it was granted to no other meanwhile. That
//! is known of the hold's own key alone. Where it did not stand, another claim may count on the vote that
//! was forgotten, whatever the other members say (`model/README.md`, finding 7).
//!
//! # Invariants
//! - Only a deadline that stands, and that another run confirmed: what is gone from the server that has
//!   confirmed it was forced open, or evicted.
//! - It is an acquire like any other, but sent while the server waits, and stamped no later than the end
//!   of that. So it is executed before anything is granted, or not at all.

use std::sync::Arc;

use futures::FutureExt;

use super::{
    ask::write_again,
    record::{Claim, ClaimState},
};
use crate::{
    by_member::MemberId, clock::Instant, error::Vote, logging::WATCHDOG, telling, watchdog::Repair,
};

impl Claim {
    // keeps: no-forgetful-vote
    /// Those that are to be written again, of those that want something.
    pub(super) fn rewrites_due(
        self: &Arc<Self>,
        state: &mut ClaimState,
        wanting: &[MemberId],
        now: Instant,
    ) -> Vec<Repair> {
        let mut repairs = Vec::new();
        for &member in wanting {
            if state.members[member].is_missing_by(now) {
                // What comes of it sets the next time.
                state.members[member].missing_at = None;
                repairs.push(rewrite(self.clone(), member).boxed());
            }
        }
        repairs
    }

    /// It was not written: it is tried again while the deadline stands, unless the server says no.
    fn not_rewritten(&self, member: MemberId, is_refused: bool, asked: Instant) {
        let now = self.now();
        let mut state = self.state();
        let (retry, next_heal) = (now + state.term.retry(), self.next_heal(&state, now));
        let known = &mut state.members[member];
        if is_refused {
            let absence = known.absence();
            known.gone(absence, asked, now, next_heal);
        } else if known.is_granted() {
            known.missing_at = Some(retry);
        }
        if let Some(next) = self.look_for_loss(state, now) {
            self.process.watchdog.reschedule(self.id, next);
        }
    }
}

async fn rewrite(claim: Arc<Claim>, member: MemberId) {
    let (asked, node) = (claim.now(), claim.members()[member].services.node_id());
    match write_again(claim.clone(), member).await {
        Vote::Granted => {
            let (lock, holder) = (claim.lock_name(), claim.holder().clone());
            let node = node.clone();
            telling::event(
                move || tracing::info!(target: WATCHDOG, %lock, %holder, %node, "written again where it was forgotten"),
            );
        }
        Vote::Refused { .. } => claim.not_rewritten(member, true, asked),
        Vote::Failed(_) | Vote::Pending => claim.not_rewritten(member, false, asked),
    }
}
