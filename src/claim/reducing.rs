//! A claim that gives up a part of what it has, for good: a writer reads on, permits are left to another.
//!
//! A member that has not heard of it keeps out more than it must, never less. So nothing is lost by
//! one that does not answer: it is told again with its renewals, as a member is that granted late.

use std::sync::{Arc, atomic::Ordering};

use super::{
    in_flight::InFlight,
    record::{Claim, ClaimPhase},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::NodeError,
    watchdog::{Report, Watched},
    wire::Outcome,
};

/// Reduces a claim, and waits until enough of its members know. One that does not answer in its time is
/// told by the watchdog.
///
/// # Cancel safety
/// After the future was dropped the claim is reduced all the same.
pub(crate) async fn reduce(claim: &Arc<Claim>) {
    let term = claim.term();
    let timeouts = claim.members().values().map(|of| of.services.settings.node_timeout);
    let longest = term.node_timeout(timeouts.max().unwrap_or_default());
    // By then all have answered, unless what is under way is not polled.
    let members = claim.reduce_by(claim.now() + longest * 2);
    let mut asked = InFlight::send(members.into_iter().map(|member| tell(claim.clone(), member)));
    let mut told = 0;
    while told < claim.need()
        && let Some(is_told) = asked.next().await
    {
        told += usize::from(is_told);
    }
    asked.finish_in_background();
}

impl Claim {
    /// Reduces it. The watchdog tells the members, at once.
    pub(crate) fn reduce_soon(&self) {
        self.reduce_by(self.now());
    }

    /// Reduces it. Returns the members that are to be told: by the watchdog `at` some time, if by
    /// nothing else.
    fn reduce_by(&self, at: Instant) -> Vec<MemberId> {
        let mut state = self.state();
        self.is_reduced.store(true, Ordering::SeqCst);
        state.reduced_at.get_or_insert(self.now());
        let granted = state.members.iter_mut().filter(|(_, known)| known.is_granted());
        let to_tell = granted.map(|(member, known)| {
            known.renew_at = Some(at);
            member
        });
        let to_tell = to_tell.collect();
        if state.phase == ClaimPhase::Held
            && let Some(next) = self.next_look(&state)
        {
            self.process.watchdog.reschedule(self.id, next);
        }
        to_tell
    }
}

// keeps: ttl-not-shortened
/// Renews one member, which reduces it. True if it is done there.
async fn tell(claim: Arc<Claim>, member: MemberId) -> bool {
    let of = &claim.members()[member];
    #[cfg(planted_bugs)]
    if planted!(DowngradeDeletesFirst) {
        delete_first(&claim, member).await;
    }
    let due = claim.renewal_now(member);
    let deadline = claim.now() + claim.term().node_timeout(of.services.settings.node_timeout);
    let report = match due.node.call(due.statement.key(), &due.statement, deadline).await {
        Ok((connection, answer)) if due.node.run_id() == connection.run_id() => {
            claim.state().members[member].renew_at = None;
            let (outcome, sent, run_id) = (answer.reply, answer.sent, connection.run_id());
            Report::Answered { outcome, sent, run_id }
        }
        Ok(_) => Report::Unknown { cause: NodeError::Unreachable { reason: RESTARTED.into() } },
        Err(cause) => Report::Unknown { cause },
    };
    let is_told =
        matches!(&report, Report::Answered { outcome, .. } if outcome.code == Outcome::DONE);
    if let Some(next) = claim.on_report(member, report, claim.now()) {
        claim.process().watchdog.reschedule(claim.id, next);
    }
    is_told
}

/// Releases and acquires again, as the bug of that name does.
#[cfg(planted_bugs)]
async fn delete_first(claim: &Arc<Claim>, member: MemberId) {
    let of = &claim.members()[member];
    let deadline = claim.now() + of.services.settings.node_timeout;
    let release = of.kind.release(&claim.holder);
    let _released = of.services.node.call(release.key(), &release, deadline).await;
    let _entered = super::ask::ask_in_passing(claim.clone(), member).await;
}

const RESTARTED: &str = "the server was restarted meanwhile";
