//! Winning back the members of a `RedLock` that do not confirm: their servers were down when the
//! lock was acquired, or for longer than it stood there.
//!
//! A heal is an acquire for a claim that is valid, so all that holds for acquires holds for it. It is noted
//! in its member state before it is sent, and a release is final only behind it. What was forgotten a moment
//! ago needs none: see [`rewriting`](super::rewriting).
//!
//! # Invariants
//! - A heal waits for the next renewal time after the loss, and until every other member that still confirms
//!   has been heard of since. So a lock that is forced open everywhere is lost, not healed.
//! - A master that may have forgotten votes does not vote, for a holder either: another claim may still
//!   count on the vote that it forgot.
//! - Only a grant moves a deadline, and only of a claim that is still held when it comes.

use std::sync::Arc;

use futures::FutureExt;

use super::{
    ask::ask_in_passing,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId, clock::Instant, error::Vote, logging::WATCHDOG, telling, watchdog::Repair,
};

impl Claim {
    /// When a member that does not confirm may be asked for its vote, if it is to be: never for a
    /// fixed lease, which promises its end, nor where all members must confirm, since then the claim
    /// is lost.
    pub(super) fn next_heal(&self, state: &ClaimState, now: Instant) -> Option<Instant> {
        self.next_renewal(state.term, now).filter(|_| self.heals(state, now))
    }

    /// Whether a member that does not confirm is asked again, while enough others do.
    pub(super) fn heals(&self, state: &ClaimState, now: Instant) -> bool {
        self.need() < self.members.len() && state.may_extend(now)
    }

    /// From now on the members that have not granted are asked again.
    pub(super) fn plan_heals(&self, state: &mut ClaimState, now: Instant) {
        let heal_at = self.next_heal(state, now);
        for known in state.members.values_mut().filter(|known| !known.is_granted()) {
            known.heal_at = heal_at;
        }
    }

    /// The heals that are due of those that want something.
    pub(super) fn heals_due(
        self: &Arc<Self>,
        state: &mut ClaimState,
        wanting: &[MemberId],
        now: Instant,
    ) -> Vec<Repair> {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let mut repairs = Vec::new();
        for &member in wanting {
            if !is_due(state.members[member].heal_at) {
                continue;
            }
            let others_stand = self.others_stand_since_loss_of(member, state, now);
            let later = if others_stand {
                // What comes of the heal sets the next time.
                repairs.push(heal(self.clone(), member).boxed());
                None
            } else {
                self.next_heal(state, now).map(|_| now + state.term.retry())
            };
            state.members[member].heal_at = later;
        }
        repairs
    }

    // keeps: lost-not-healed
    /// Whether all others that confirm have said so since `member` was lost.
    fn others_stand_since_loss_of(
        &self,
        member: MemberId,
        state: &ClaimState,
        now: Instant,
    ) -> bool {
        let Some(lost_at) = state.members[member].lost_at() else { return true };
        let confirms = |id| self.confirmed_until(state, id).is_some_and(|until| now < until);
        let mut others = state.members.iter().filter(|(id, _)| confirms(*id));
        others.all(|(_, known)| known.is_confirmed_since(lost_at))
    }

    /// Plans the next heal of a member whose heal came to nothing: at the next renewal time, in a
    /// quarantine to see whether it was blessed, and when it ends.
    fn not_healed(&self, member: MemberId, votes_from: Option<Instant>) {
        let now = self.now();
        let mut state = self.state();
        let end = votes_from.filter(|end| now < *end);
        let heal_at = self.next_heal(&state, now).map(|next| end.map_or(next, |end| next.min(end)));
        let known = &mut state.members[member];
        if known.is_granted() {
            return;
        }
        known.heal_at = heal_at;
        if state.phase == ClaimPhase::Held
            && let Some(next) = self.next_look(&state)
        {
            self.process.watchdog.reschedule(self.id, next);
        }
    }
}

/// Asks `member` for its vote, if it may vote.
async fn heal(claim: Arc<Claim>, member: MemberId) {
    let node = &claim.members()[member].services.node;
    if matches!(ask_in_passing(claim.clone(), member).await, Vote::Granted) {
        claim.follow_won_back(member);
        claim.note_won_back(member);
        let (lock, holder) = (claim.lock_name(), claim.holder().clone());
        let node = node.id().clone();
        telling::event(
            move || tracing::debug!(target: WATCHDOG, %lock, %holder, %node, "a member was won back"),
        );
    } else {
        claim.not_healed(member, node.votes_from());
    }
}
