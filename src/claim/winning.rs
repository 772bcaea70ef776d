//! Winning a claim that enough members granted.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use super::{
    member_state::MemberState,
    record::{Claim, ClaimPhase, LossListener},
};
use crate::{
    clock::Instant,
    kind::FencingToken,
    process::{Listed, each_once},
};

impl Claim {
    /// Makes what was acquired `listener`'s, unless too little of it is left, or a client was shut down
    /// meanwhile. With a token, what is left counts over those who wrote it.
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
        let next = self.next_look(&state);
        drop(state);
        let listed: Arc<dyn Listed> = self.clone();
        let mut before = Vec::new();
        for member in self.members.values() {
            before.extend(member.services.now_held(member.kind.channel(), &listed));
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
}
