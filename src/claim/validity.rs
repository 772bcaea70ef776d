//! Until when a claim may be acted on, and its loss.

use std::{sync::Weak, time::Duration};

use smallvec::SmallVec;

use super::{
    absence::cause_of_loss,
    margin::margin,
    member_state::MemberState,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{LockLost, LostCause},
    kind::Admission,
    lease::Term,
    panics::contained,
    sync::MutexGuard,
    watchdog::renewal_time,
};

impl Claim {
    /// Until when the claim may be acted on.
    pub(crate) fn deadline(&self) -> Instant {
        let state = self.state();
        match state.phase {
            ClaimPhase::Held => self.deadline_of(&state),
            ClaimPhase::Acquiring | ClaimPhase::Lost(_) | ClaimPhase::Over => None,
        }
        .unwrap_or(Instant::from_origin(Duration::ZERO))
    }

    /// Whether the claim may be acted on now, by our clock. Notices the end of the lease by itself:
    /// timers do not run while a machine is suspended.
    pub(crate) fn ensure_valid(&self) -> Result<(), LockLost> {
        let now = self.now();
        let state = self.state();
        self.look_for_loss(state, now);
        match &self.state().phase {
            ClaimPhase::Held => Ok(()),
            ClaimPhase::Lost(cause) => Err(self.loss(LostCause::clone(cause))),
            ClaimPhase::Acquiring | ClaimPhase::Over => Err(self.loss(LostCause::Expired)),
        }
    }

    /// What its users are told of its end.
    pub(crate) fn loss(&self, cause: LostCause) -> LockLost {
        LockLost { lock: self.lock_name(), holder: self.holder.clone(), cause }
    }

    /// How many members confirm the claim now; none once it is lost.
    pub(crate) fn votes(&self) -> usize {
        if self.ensure_valid().is_err() {
            return 0;
        }
        let (state, now) = (self.state(), self.now());
        let confirms = |id| self.confirmed_until(&state, id).is_some_and(|until| now < until);
        state.members.ids().filter(|id| confirms(*id)).count()
    }

    /// How many more of them may forget it before another can be granted.
    pub(crate) fn margin(&self) -> usize {
        margin(self.votes(), self.need(), self.members.len())
    }

    /// Ends the claim for its tenant.
    pub(crate) fn lose(&self, cause: LostCause) {
        let state = self.state();
        self.lose_locked(state, cause);
    }

    /// The `need`-th largest deadline of the members: before it at least `need` keys stand.
    pub(super) fn deadline_of(&self, state: &ClaimState) -> Option<Instant> {
        self.deadline_among(state, |_| true)
    }

    /// The same if only those members count.
    pub(super) fn deadline_among(
        &self,
        state: &ClaimState,
        counts: impl Fn(&MemberState) -> bool,
    ) -> Option<Instant> {
        if state.members.is_one() {
            let only = state.members.first();
            return only.deadline().filter(|_| counts(only));
        }
        let mut deadlines = SmallVec::<[_; USUAL]>::new();
        for (id, known) in state.members.iter() {
            if counts(known)
                && let Some(until) = self.confirmed_until(state, id)
            {
                deadlines.push(until);
            }
        }
        deadlines.sort_unstable();
        let index = deadlines.len().checked_sub(self.need())?;
        deadlines.get(index).copied()
    }

    /// Until when a member confirms us. One of several does not once its server was restarted;
    /// a single one says itself whether it still has our key.
    pub(super) fn confirmed_until(&self, state: &ClaimState, member: MemberId) -> Option<Instant> {
        if state.members.is_one() {
            return state.members.first().deadline();
        }
        // Whoever takes its place by a failover grants nobody anything until then.
        if self.members[member].outlives_failovers() {
            return state.members[member].deadline();
        }
        let run_id = self.members[member].services.node.run_id();
        state.members[member].deadline_while(run_id)
    }

    /// When the watchdog is to look at this claim again.
    pub(super) fn next_look(&self, state: &ClaimState) -> Option<Instant> {
        Some(next_look_before(self.deadline_of(state)?, state))
    }

    pub(super) fn next_renewal(&self, term: Term, now: Instant) -> Option<Instant> {
        let at = || renewal_time(now, term.period(), self.process.renewal_phase);
        term.is_renewed().then(at)
    }

    /// Loses the claim if its deadline is over or too few members confirm it. Otherwise returns
    /// when to look again.
    pub(super) fn look_for_loss(
        &self,
        state: MutexGuard<'_, ClaimState>,
        now: Instant,
    ) -> Option<Instant> {
        let (deadline, state) = self.still_held(state, now)?;
        Some(next_look_before(deadline, &state))
    }

    /// Loses the claim if its deadline is over or too few members confirm it. Otherwise returns
    /// the deadline.
    pub(super) fn still_held<'a>(
        &self,
        state: MutexGuard<'a, ClaimState>,
        now: Instant,
    ) -> Option<(Instant, MutexGuard<'a, ClaimState>)> {
        if state.phase != ClaimPhase::Held {
            return None;
        }
        let cause = match self.deadline_of(&state) {
            Some(deadline) if now < deadline => return Some((deadline, state)),
            Some(_) => LostCause::Expired,
            None => self.cause_of_too_few(&state),
        };
        self.lose_locked(state, cause);
        None
    }

    fn cause_of_too_few(&self, state: &ClaimState) -> LostCause {
        let mut absent = state.members.map(|known| Some(known.absence()));
        for id in state.members.ids().filter(|id| self.confirmed_until(state, *id).is_some()) {
            absent[id] = None;
        }
        cause_of_loss(&self.members, self.need(), &absent)
    }

    pub(super) fn lose_locked(&self, mut state: MutexGuard<'_, ClaimState>, cause: LostCause) {
        if state.phase != ClaimPhase::Held {
            return;
        }
        state.phase = ClaimPhase::Lost(Box::new(cause.clone()));
        let tenant = state.tenant.clone();
        drop(state);
        contained(
            || tracing::warn!(lock = %self.lock_name(), holder = %self.holder, %cause, "a lock was lost"),
        );
        // The keys stay until the guards go or the ttl ends: to delete them now would let others
        // in while the work that was just told to stop is still stopping.
        self.forget();
        for (member, of) in self.members.iter() {
            if self.kind(member).admission() == Admission::Shared {
                of.services.lost_where_others_share(of.kind.channel());
            }
        }
        if let Some(tenant) = tenant.as_ref().and_then(Weak::upgrade) {
            tenant.on_lost(&cause);
        }
    }
}

/// The first time at which a member wants something, and `deadline` at the latest.
pub(super) fn next_look_before(deadline: Instant, state: &ClaimState) -> Instant {
    let members = state.members.values();
    let wishes = members.flat_map(|known| [known.renew_at, known.heal_at, known.missing_at]);
    wishes.flatten().fold(deadline, Instant::min)
}

/// How many members most locks have at most.
const USUAL: usize = 7;
