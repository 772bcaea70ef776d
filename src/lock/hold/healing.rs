//! Winning back the members of a `RedLock` that do not vouch: their servers were down when the
//! lock was acquired, or were restarted and have forgotten it.
//!
//! A heal is an acquire for a hold that is valid, so all that holds for acquires holds for it: it
//! is noted in its seat before it is sent, and a release is final only behind it. With heals a hold
//! survives the restart of all masters, one after the other.
//!
//! # Invariants
//! - A heal waits for the next renewal time after the loss, and until every other member that still
//!   vouches has been heard of since: a lock that is forced open everywhere is lost, not healed.
//! - A master that may have forgotten votes does not vote, for a holder either: another who asks
//!   may still count on the vote that it forgot.
//! - Only a grant moves a deadline, and only of a hold that is still held when it comes.

use std::sync::Arc;

use futures::FutureExt;

use super::{Hold, Phase, State};
use crate::{clock::Instant, error::Vote, lock::ask::ask, watchdog::Errand};

impl Hold {
    /// When a member that does not vouch may be asked for its vote, if it is to be: never for a
    /// fixed lease, which promises its end, nor where all members must vouch, since then the hold
    /// is lost.
    pub(super) fn next_heal(&self, state: &State, now: Instant) -> Option<Instant> {
        let is_wanted = self.need < self.members.len() && state.may_extend(now);
        self.next_renewal(state.term, now).filter(|_| is_wanted)
    }

    /// From now on the members that have not granted are asked again.
    pub(super) fn plan_heals(&self, state: &mut State, now: Instant) {
        let heal_at = self.next_heal(state, now);
        for seat in state.seats.iter_mut().filter(|seat| !seat.is_granted()) {
            seat.heal_at = heal_at;
        }
    }

    /// The heals that are due.
    pub(super) fn heals_due(self: &Arc<Self>, state: &mut State, now: Instant) -> Vec<Errand> {
        let is_due = |at: Option<Instant>| at.is_some_and(|at| at <= now);
        let due: Vec<usize> = (0..state.seats.len())
            .filter(|i| state.seats.get(*i).is_some_and(|seat| is_due(seat.heal_at)))
            .collect();
        let mut errands = Vec::new();
        for member in due {
            let others_stand = self.others_stand_since_loss_of(member, state, now);
            let later = if others_stand {
                // What comes of the heal sets the next time.
                errands.push(heal(self.clone(), member).boxed());
                None
            } else {
                self.next_heal(state, now).map(|_| now + state.term.retry())
            };
            if let Some(seat) = state.seats.get_mut(member) {
                seat.heal_at = later;
            }
        }
        errands
    }

    /// Whether all others that vouch have said so since `member` was lost.
    fn others_stand_since_loss_of(&self, member: usize, state: &State, now: Instant) -> bool {
        let Some(lost_at) = state.seats.get(member).and_then(|seat| seat.lost_at()) else {
            return true;
        };
        let vouches = |i: usize| self.vouched_until(state, i).is_some_and(|until| now < until);
        let mut others = state.seats.iter().enumerate().filter(|(i, _)| vouches(*i));
        others.all(|(_, seat)| seat.is_confirmed_since(lost_at))
    }

    /// Plans the next heal of a member whose heal came to nothing: at the next renewal time, in a
    /// quarantine to see whether it was blessed, and when it ends.
    fn not_healed(&self, member: usize, votes_from: Option<Instant>) {
        let now = self.now();
        let mut state = self.state();
        let end = votes_from.filter(|end| now < *end);
        let heal_at = self.next_heal(&state, now).map(|next| end.map_or(next, |end| next.min(end)));
        let Some(seat) = state.seats.get_mut(member).filter(|seat| !seat.is_granted()) else {
            return;
        };
        seat.heal_at = heal_at;
        if state.phase == Phase::Held
            && let Some(next) = self.next_look(&state)
        {
            self.process.watchdog.reschedule(self.id, next);
        }
    }
}

/// Asks `member` for its vote, if it may vote.
async fn heal(hold: Arc<Hold>, member: usize) {
    let Some(of) = hold.members.get(member) else { return };
    let node = &of.site.node;
    if matches!(ask(hold.clone(), member).await, (_, Vote::Granted)) {
        tracing::debug!(holder = %hold.holder, node = %node.id(), "a member was won back");
    } else {
        hold.not_healed(member, node.votes_from());
    }
}
