//! Looks at a claim whose keys were told of, and what their answers mean. A look only asks.

use std::time::Duration;

use super::record::{Claim, ClaimState};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{LostCause, NodeId},
    voting::Voter,
    watchdog::{Report, Watched},
    wire::Outcome,
};

impl Claim {
    /// Has the members on `node` looked at that are listed on `channel`.
    pub(super) fn plan_looks(&self, node: &NodeId, channel: &str) {
        if planted!(ToldIsVerdict) {
            return self.lose(LostCause::Expired);
        }
        let now = self.now();
        let told = |of: &Voter| &**of.kind.channel() == channel && of.services.node_id() == node;
        let mut state = self.state();
        // Of thousands one is changed: what the others come to is still known.
        for (member, _) in self.members.iter().filter(|(_, of)| told(of)) {
            if state.members[member].is_granted() {
                state.members[member].look_at = Some(now);
            }
        }
        drop(state);
        self.process.watchdog.reschedule(self.id, now);
    }

    /// What came of a look. One that found the hold gone is as a renewal that did. One that was not answered found
    /// nothing: it is made again, and that a server does not answer is for renewals to tell.
    pub(super) fn looked_at(
        &self,
        member: MemberId,
        report: Report,
        now: Instant,
    ) -> Option<Instant> {
        let Report::Answered { outcome, sent, run_id } = &report else {
            let (_, mut state) = self.still_held(self.state(), now)?;
            let known = &mut state.members[member];
            if known.is_granted() {
                known.look_at = Some(now + self.process.random.within(AGAIN..AGAIN * 2));
            }
            return self.look_for_loss(state, now);
        };
        let (_, mut state) = self.still_held(self.state(), now)?;
        let is_same = state.members[member].is_same_process(*run_id);
        if outcome.code != Outcome::DONE || !state.members[member].is_granted() {
            drop(state);
            return self.on_report(member, report, now);
        }
        if is_same {
            self.stands_for(&mut state, member, outcome.value, *sent, now);
        } else {
            // What became of the server is for a renewal to judge.
            state.members[member].renew_at = Some(now);
        }
        self.look_for_loss(state, now)
    }

    /// A member stands for `ttl_ms` more, as was asked at `sent` and answered by `now`. What it was cut short by
    /// does not count any more before it is renewed.
    fn stands_for(
        &self,
        state: &mut ClaimState,
        member: MemberId,
        ttl_ms: i64,
        sent: Instant,
        now: Instant,
    ) {
        let (term, may_extend) = (state.term, state.may_extend(now));
        let known = &mut state.members[member];
        // By then for sure: the server measured it before it was answered.
        let at_most = term.confirmed(now, ttl_ms);
        let is_cut = ttl_ms >= 0 && known.deadline().is_some_and(|until| at_most + SLACK < until);
        if !is_cut {
            return known.seen(sent);
        }
        known.cut_short(term.confirmed(sent, ttl_ms));
        if may_extend && term.is_renewed() {
            known.renew_at = Some(now);
        }
    }
}

/// Servers count in milliseconds, and clocks drift.
const SLACK: Duration = Duration::from_millis(10);
/// After so long, and up to as long again, a look that was not answered is made again.
const AGAIN: Duration = Duration::from_secs(1);
