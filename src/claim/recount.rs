//! Writing the count of guards to the servers, as Redisson writes its count of re-entries.
//!
//! One script is in flight for each claim; its value is taken from the guards that are alive when it is
//! sent. The count is for others to read: exclusion rests on the field alone.

use std::sync::Arc;

use super::{
    absence::Absence,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    metering::DueTime,
    sync::MutexGuard,
    watchdog::{Due, Report},
    wire::Outcome,
};

impl Claim {
    /// Has the count written, unless that is under way already.
    pub(super) fn recount_in_background(self: &Arc<Self>, mut state: MutexGuard<'_, ClaimState>) {
        let recount = &state.recount;
        if state.phase == ClaimPhase::Held && !recount.under_way && !recount.is_known() {
            state.recount.under_way = true;
            drop(state);
            self.process.watchdog.recount(self.clone());
        }
    }

    /// A member that granted after a re-entry was passed over when the count was written.
    pub(super) fn recount_late_grant(self: &Arc<Self>, mut state: MutexGuard<'_, ClaimState>) {
        if state.recount.sent > 1 {
            state.recount.behind = true;
            self.recount_in_background(state);
        }
    }

    pub(super) fn counts_to_write(&self) -> Vec<Due> {
        let mut state = self.state();
        let is_held = state.phase == ClaimPhase::Held;
        let recount = &mut state.recount;
        let wanted = recount.wanted;
        let is_known = recount.is_known();
        // Without a user the release is decided: it is not ours to send.
        let rest = if is_known { recount.rest } else { Some(0) };
        let Some(from) = rest.filter(|_| is_held && wanted > 0) else {
            recount.under_way = false;
            // Some were not told of it.
            recount.behind |= recount.rest.take().is_some();
            return Vec::new();
        };
        recount.sent = wanted;
        recount.behind = false;
        recount.rest = Some(from + AT_ONCE).filter(|rest| *rest < self.members.len());
        let term = state.term;
        let some = state.members.range(from, AT_ONCE);
        let granted = some.filter(|(_, known)| known.is_granted());
        granted
            .map(|(member, known)| {
                let of = &self.members[member];
                Due {
                    member,
                    node: of.services.node.clone(),
                    statement: self.kind(member).count(known.holder(&self.holder), wanted),
                    timeout: term.node_timeout(of.services.settings.node_timeout),
                    is_look: false,
                    due_at: DueTime::default(),
                }
            })
            .collect()
    }

    /// The count is best effort, and not repeated.
    pub(super) fn count_written(&self, member: MemberId, report: Report, now: Instant) {
        let mut state = self.state();
        let next_heal = self.next_heal(&state, now);
        let known = &mut state.members[member];
        if let Report::Answered { outcome, sent, run_id } = report
            && outcome.code != Outcome::DONE
        {
            let outlives = self.members[member].outlives_failovers();
            if known.is_granted() && (outlives || known.is_another_process(run_id)) {
                // It may be one that was promoted or restarted: a renewal tells what follows.
                known.renew_at = Some(now);
            } else {
                known.gone(Absence::of(outcome), sent, now, next_heal);
            }
        }
        if let Some(next) = self.look_for_loss(state, now) {
            self.process.watchdog.reschedule(self.id, next);
        }
    }
}

/// To so many members the count is sent at a time.
const AT_ONCE: usize = 512;
