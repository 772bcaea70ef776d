//! Until when a claim may be acted on, and its loss.

use std::{
    sync::{Weak, atomic::Ordering},
    time::Duration,
};

use smallvec::SmallVec;

use super::{
    absence::{Absence, cause_of_loss},
    long_warning::LongWarning,
    margin::margin,
    member_state::MemberState,
    parts::Sum,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{LockLost, LostCause, NotRenewed, Text},
    lease::Term,
    logging::LOCK,
    sync::MutexGuard,
    telling,
    watchdog::renewal_time,
};

impl Claim {
    /// Until when the claim may be acted on.
    pub(crate) fn deadline(&self) -> Instant {
        let state = self.state();
        match state.phase {
            ClaimPhase::Held => self.deadline_of(&state),
            ClaimPhase::Acquiring | ClaimPhase::Lost | ClaimPhase::Over => None,
        }
        .unwrap_or(Instant::from_origin(Duration::ZERO))
    }

    /// Whether the claim may be acted on now, by our clock. Notices the end of the lease by itself:
    /// timers do not run while a machine is suspended.
    pub(crate) fn ensure_valid(&self) -> Result<(), LockLost> {
        if let Some(cause) = self.lost_by() {
            return Err(self.loss(cause.clone()));
        }
        let now = self.now();
        match self.look_for_loss(self.state(), now) {
            Some(_) => Ok(()),
            None => Err(self.loss(self.lost_by().cloned().unwrap_or(LostCause::Expired))),
        }
    }

    /// Why it was lost. Takes no lock.
    pub(crate) fn lost_by(&self) -> Option<&LostCause> {
        self.loss.get().map(|cause| &**cause)
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

    /// Ends the claim for its user.
    pub(crate) fn lose(&self, cause: LostCause) {
        let state = self.state();
        self.lose_locked(state, cause);
    }

    /// The `need`-th largest deadline of the members: before it at least `need` keys stand.
    pub(super) fn deadline_of(&self, state: &ClaimState) -> Option<Instant> {
        self.sum(state).map_or_else(|| self.deadline_among(state, |_| true), |sum| sum.until)
    }

    /// What the members come to, if all of several are needed.
    fn sum(&self, state: &ClaimState) -> Option<Sum> {
        state.members.sum(|id, _| self.confirmed_until(state, id))
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

    /// Until when a member confirms us. One of several whose server was restarted does so for as long as
    /// that grants nothing: whatever it forgot was ours alone. A single one says itself whether it still
    /// has our key.
    pub(super) fn confirmed_until(&self, state: &ClaimState, member: MemberId) -> Option<Instant> {
        let (of, known) = (&self.members[member], &state.members[member]);
        let deadline = known.deadline()?;
        if state.members.is_one() || !known.is_another_process(of.services.node.run_id()) {
            return Some(deadline);
        }
        of.outlives_restarts(deadline, self.now())
    }

    /// When the watchdog is to look at this claim again.
    pub(super) fn next_look(&self, state: &ClaimState) -> Option<Instant> {
        Some(self.next_look_before(self.deadline_of(state)?, state))
    }

    /// The first time at which a member wants something, and `deadline` at the latest.
    pub(super) fn next_look_before(&self, deadline: Instant, state: &ClaimState) -> Instant {
        let wish = match self.sum(state) {
            Some(sum) => sum.wish,
            None => state.members.values().filter_map(MemberState::wish).min(),
        };
        let planned = [state.follow_at, state.note_at, state.long_warning.map(LongWarning::due)];
        wish.into_iter().chain(planned.into_iter().flatten()).fold(deadline, Instant::min)
    }

    pub(super) fn next_renewal(&self, term: Term, now: Instant) -> Option<Instant> {
        let at = || renewal_time(now, term.period(), self.process.renewal_phase);
        term.is_renewed().then(at)
    }

    // keeps: lost-at-deadline
    /// Loses the claim if its deadline is over or too few members confirm it. Otherwise returns
    /// when to look again.
    pub(super) fn look_for_loss(
        &self,
        state: MutexGuard<'_, ClaimState>,
        now: Instant,
    ) -> Option<Instant> {
        let (deadline, state) = self.still_held(state, now)?;
        Some(self.next_look_before(deadline, &state))
    }

    // keeps: lost-not-healed
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
        match self.standing_of(&state, now) {
            Ok(deadline) => Some((deadline, state)),
            Err(cause) => {
                self.lose_locked(state, cause);
                None
            }
        }
    }

    /// Until when it stands, or why it does not any more.
    pub(super) fn standing_of(
        &self,
        state: &ClaimState,
        now: Instant,
    ) -> Result<Instant, LostCause> {
        if let Some(deadline) = self.deadline_of(state).filter(|deadline| now < *deadline) {
            return Ok(deadline);
        }
        // It is the present that decides, not what it was when the sums were made.
        state.members.forget_sums();
        match self.deadline_of(state) {
            Some(deadline) if now < deadline => Ok(deadline),
            Some(_) => {
                Err(self.trouble_of(state, now).map_or(LostCause::Expired, LostCause::NotRenewed))
            }
            None => Err(self.cause_of_too_few(state)),
        }
    }

    /// The last renewal that was not answered, if that member has not answered since.
    pub(crate) fn not_renewed(&self) -> Option<NotRenewed> {
        self.trouble_of(&self.state(), self.now())
    }

    fn trouble_of(&self, state: &ClaimState, now: Instant) -> Option<NotRenewed> {
        let is_to_be_renewed = state.term.is_renewed() && state.may_extend(now);
        let (member, cause) = state.unrenewed.as_deref().filter(|_| is_to_be_renewed)?;
        state.members[*member].is_failing.then(|| NotRenewed {
            node: self.members[*member].services.node_id().clone(),
            reason: Text::from(&*cause.to_string()),
        })
    }

    fn cause_of_too_few(&self, state: &ClaimState) -> LostCause {
        let mut absent = state.members.map(|known| Some(known.absence()));
        for id in state.members.ids().filter(|id| state.members[*id].is_granted()) {
            let is_confirmed = self.confirmed_until(state, id).is_some();
            absent[id] = (!is_confirmed).then_some(Absence::Restarted);
        }
        cause_of_loss(&self.members, self.need(), &absent)
    }

    fn lose_locked(&self, state: MutexGuard<'_, ClaimState>, cause: LostCause) {
        if self.tell_of_loss(state, cause) {
            self.settle_loss();
        }
    }

    /// True if it was held until now. What else follows is for [`settle_loss`](Self::settle_loss).
    pub(super) fn tell_of_loss(
        &self,
        mut state: MutexGuard<'_, ClaimState>,
        cause: LostCause,
    ) -> bool {
        if state.phase != ClaimPhase::Held {
            return false;
        }
        let cause = self.loss.get_or_init(|| Box::new(cause));
        state.phase = ClaimPhase::Lost;
        let listener = state.loss_listener.clone();
        drop(state);
        if let Some(listener) = listener.as_ref().and_then(Weak::upgrade) {
            listener.on_lost(cause);
        }
        true
    }

    /// What follows from a loss once its user was told; once.
    pub(super) fn settle_loss(&self) {
        let Some(cause) = self.lost_by().cloned() else { return };
        if self.is_loss_settled.swap(true, Ordering::Relaxed) {
            return;
        }
        // The keys stay until the guards go or the ttl ends: to delete them now would let others
        // in while the work that was just told to stop is still stopping.
        self.forget();
        for (member, of) in self.members.iter() {
            if self.kind(member).is_shared() {
                of.services.lost_where_others_share(of.kind.channel());
            }
        }
        self.members.first().services.settings.meters.lost(&cause);
        let (lock, holder) = (self.lock_name(), self.holder.clone());
        telling::event_of_many(
            move || tracing::warn!(target: LOCK, %lock, %holder, %cause, "a lock was lost"),
            "locks were lost with it",
        );
    }
}

/// How many members most locks have at most.
const USUAL: usize = 7;
