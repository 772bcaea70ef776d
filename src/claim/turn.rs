//! The users of a claim, one after the other: it is won, entered and left, and offered to the next one.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::{
    member_state::MemberState,
    record::{Claim, ClaimPhase, ClaimState, LossListener},
};
use crate::{
    clock::Instant,
    kind::FencingToken,
    lease::Term,
    process::{Listed, each_once},
    voting::Voter,
    wait::Offered,
};

impl Claim {
    /// Makes what was acquired `listener`'s, unless too little of it is left, or a client was shut down
    /// meanwhile. With a token, what is left counts over those that wrote it.
    pub(crate) fn win(
        self: &Arc<Self>,
        token: Option<FencingToken>,
        listener: Weak<dyn LossListener>,
    ) -> bool {
        if token.is_some() != self.is_fenced() {
            return false;
        }
        let now = self.now();
        let mut state = self.state();
        let wrote = |known: &MemberState| token.is_none() || known.token() == token;
        let deadline = self.deadline_among(&state, wrote);
        let left = deadline.map_or(Duration::ZERO, |deadline| deadline.saturating_since(now));
        if state.phase != ClaimPhase::Acquiring || left < state.term.min_validity() {
            return false;
        }
        state.phase = ClaimPhase::Held;
        state.loss_listener = Some(listener);
        state.token = token;
        state.recount.wanted = 1;
        self.plan_heals(&mut state, now);
        state.won_at = now;
        state.renew_until = self.renew_until(now);
        state.follow_at = self.follow_at(now);
        state.note_at = self.note_at(now, state.term);
        state.long_warning = self.long_warning(now);
        let next = self.next_look(&state);
        drop(state);
        let listed: Arc<dyn Listed> = self.clone();
        let mut before = Vec::new();
        for member in self.members.values() {
            before.extend(member.services.held().insert(member.kind.channel(), &listed));
            if self.wanted.term.is_renewed() {
                member.services.stand_by(member.kind.name());
            }
        }
        // The servers granted it anew: the claims that held it before are to learn that it is gone.
        if !before.is_empty() && self.is_exclusive() {
            each_once(before).iter().for_each(|claim| claim.renew_now());
        }
        if let Some(next) = next {
            self.process.watchdog.watch(self.id, next, self.clone());
        }
        // After it is listed: either this sees the shutdown, or the shutdown sees the claim.
        !self.is_shut_down()
    }

    /// Until when a turn that begins now is renewed at most, if a client has a limit.
    pub(super) fn renew_until(&self, now: Instant) -> Option<Instant> {
        let limits = self.members.values().filter_map(|member| member.services.settings.max_hold);
        limits.min().map(|limit| now + limit)
    }

    /// Whether the client of a member was shut down.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.members.values().any(|member| member.services.is_closed())
    }

    /// How often the user has it from now on. False, and nothing is changed, if it is not held any
    /// more. Looks for no loss by itself, since the user would be told: to have looked is its part.
    ///
    /// A re-entry may ask for another lease: then it is extended if that is longer, and never
    /// shortened.
    pub(crate) fn enter(self: &Arc<Self>, times: u32, asked: Option<Term>) -> bool {
        let mut state = self.state();
        if state.phase != ClaimPhase::Held {
            return false;
        }
        if let Some(asked) = asked {
            let now = self.now();
            self.ask_for_longer(&mut state, asked, now);
        }
        state.recount.wanted = times;
        self.recount_in_background(state);
        true
    }

    /// Has its members asked for a lease that is `asked` at least.
    pub(super) fn ask_for_longer(&self, state: &mut ClaimState, asked: Term, now: Instant) {
        let before = state.term;
        state.term = before.merged(asked);
        // A renewed lease that is long enough serves as it is; a fixed one counts from the re-entry that
        // asks for it.
        if state.term == before && before.is_renewed() {
            return;
        }
        state.members.values_mut().for_each(|known| known.owe(asked.ms(), now));
        if !before.is_renewed() {
            // From now on it may be: then it is healed, too.
            self.plan_heals(state, now);
        }
        self.process.watchdog.reschedule(self.id, now);
    }

    /// One guard less, of several.
    pub(crate) fn leave(self: &Arc<Self>, times: u32) {
        let mut state = self.state();
        state.recount.wanted = times;
        self.recount_in_background(state);
    }

    /// The turn of its user is over. What becomes of the claim is for the caller to say: it is
    /// released or passed on.
    pub(crate) fn end_turn(&self) {
        let mut state = self.state();
        state.loss_listener = None;
        // From here on the count is not sent: the release is decided, or the next user counts anew.
        state.recount.wanted = 0;
    }

    /// In the end the keys are left to their ttl.
    pub(crate) fn mark_orphaned(&self) {
        self.state().orphaned = true;
    }

    pub(crate) fn is_orphaned(&self) -> bool {
        self.state().orphaned
    }

    /// Whether another may have it, without a word to the servers: it has no user, and there is enough
    /// of it left. What another is to find is a hold like one that was just granted.
    pub(crate) fn may_be_handed_on(&self, now: Instant) -> bool {
        let may_be = self.members.ids().all(|member| self.kind(member).may_be_handed_over());
        if !may_be || self.is_shut_down() || self.has_open_calls() {
            return false;
        }
        let state = self.state();
        let is_had = state.loss_listener.is_some() || state.orphaned;
        let is_open = state.phase == ClaimPhase::Held && state.may_extend(now) && !is_had;
        let left = self.deadline_of(&state).map(|deadline| deadline.saturating_since(now));
        let is_enough = left >= Some(state.term.length() / 2) || planted!(HandoverAfterDeadline);
        is_open && is_enough
    }

    /// Another has it from now on, with a token of its own if there are any. False if it is not held any
    /// more, or too few members have written the token, or it has a user.
    pub(crate) fn hand_to(
        self: &Arc<Self>,
        token: Option<FencingToken>,
        listener: Weak<dyn LossListener>,
    ) -> bool {
        if self.is_shut_down() {
            return false;
        }
        let now = self.now();
        self.look_for_loss(self.state(), now);
        let mut state = self.state();
        #[cfg(planted_bugs)]
        if planted!(HandoverAfterDeadline) {
            let term = state.term;
            let granted = state.members.values_mut().filter(|known| known.is_granted());
            granted.for_each(|known| known.confirmed(term, now, term.ms(), known.renew_at));
        }
        let wrote = |known: &MemberState| token.is_none() || known.token() == token;
        let is_written = self.deadline_among(&state, wrote).is_some_and(|until| now < until);
        if state.phase != ClaimPhase::Held || state.loss_listener.is_some() || !is_written {
            return false;
        }
        state.loss_listener = Some(listener);
        state.token = token;
        state.renew_until = self.renew_until(now);
        state.long_warning = self.long_warning(now);
        state.recount.wanted = 1;
        self.recount_in_background(state);
        true
    }

    /// Whether it was granted what `asked` is, and not to share that with one that `shares` it.
    pub(crate) fn keeps_out(&self, asked: &Voter, shares: bool) -> bool {
        let is_same = |member: &Voter| {
            let (one, other) = (&member.services, &asked.services);
            one.node_id() == other.node_id() && member.kind.name() == asked.kind.name()
        };
        let mut same = self.members.iter().filter(|(_, member)| is_same(member));
        same.any(|(id, _)| {
            !(shares && self.kind(id).is_shared()) && self.state().members[id].is_granted()
        })
    }

    /// When the servers had granted it.
    pub(crate) fn won_at(&self) -> Instant {
        self.state().won_at
    }

    /// That of the farthest server that it was granted by.
    pub(crate) fn round_trip(&self) -> Duration {
        let state = self.state();
        let known = state.members.values().filter_map(MemberState::round_trip);
        known.max().unwrap_or_default()
    }
}

impl Offered for Claim {
    fn give_back(&self) {
        let mut state = self.state();
        if state.loss_listener.is_some() {
            return;
        }
        // Under the same mutex: a user that comes to have it now finds it over.
        if state.phase.is_open() {
            state.phase = ClaimPhase::Over;
        }
        drop(state);
        self.abandon();
    }
}
