//! The claim as the watchdog sees it: renewals.

use std::sync::Arc;

use super::{
    absence::Absence,
    record::{Claim, ClaimPhase, ClaimState},
};
use crate::{
    by_member::MemberId,
    clock::Instant,
    error::{LostCause, NodeError, NodeId},
    kind::{Admission, SortOfLock},
    lease::Term,
    logging::WATCHDOG,
    metering::DueTime,
    process::{HeldLock, Listed},
    standing::{RunId, Vetting},
    telling,
    watchdog::{Due, Report, Tick, Watched},
    wire::Outcome,
};

impl Watched for Claim {
    /// Its user is told, and no more: many may end at once, and all are to learn of it first.
    fn end_in_time(&self, now: Instant) -> Option<Instant> {
        let state = self.state();
        if state.phase != ClaimPhase::Held {
            return None;
        }
        match self.standing_of(&state, now) {
            Ok(deadline) => Some(deadline),
            Err(cause) => {
                self.tell_of_loss(state, cause);
                None
            }
        }
    }

    fn tick(self: Arc<Self>, now: Instant, most: usize) -> Tick {
        self.follow_if_due(now);
        self.note_if_due(now);
        self.warn_if_due(now);
        let Some((deadline, mut state)) = self.still_held(self.state(), now) else {
            self.settle_loss();
            return Tick::default();
        };
        let (term, may_extend) = (state.term, state.may_extend(now));
        // Whatever wants something and is not among them has this looked at again at once.
        let wanting = state.members.wanting(now, most);
        let mut due = Vec::new();
        for &member in &wanting {
            let known = &mut state.members[member];
            if known.look_at.is_some_and(|at| at <= now) {
                known.look_at = None;
                due.push(self.look(member, known.holder(&self.holder), term));
            }
            // None while it is under way: what comes of it sets the next time.
            let Some(at) = known.renew_at.take_if(|at| *at <= now) else { continue };
            let lease_ms = if may_extend { known.wanted_ms(term) } else { 0 };
            let renewal = self.renewal(member, known.holder(&self.holder), term, lease_ms);
            due.push(Due { due_at: DueTime::at(at), ..renewal });
        }
        let mut repairs = self.heals_due(&mut state, &wanting, now);
        repairs.extend(self.rewrites_due(&mut state, &wanting, now));
        let next = self.next_look_before(deadline, &state);
        Tick { due, repairs, next: Some(next) }
    }

    fn on_report(&self, member: MemberId, report: Report, now: Instant) -> Option<Instant> {
        // What is told after the end, or after a deadline that was not noticed, is ignored.
        let (deadline, mut state) = self.still_held(self.state(), now)?;
        let failure = self.take_in(&mut state, member, report, now);
        let (is_granted, planned) =
            (state.members[member].is_granted(), self.next_look_before(deadline, &state));
        drop(state);
        // Only a member that no longer confirms brings the deadline forward.
        let next = if is_granted { Some(planned) } else { self.look_for_loss(self.state(), now) };
        if let Some(cause) = failure {
            self.warn_of_failure(member, cause);
        }
        next
    }

    fn on_looked(&self, member: MemberId, report: Report, now: Instant) -> Option<Instant> {
        self.looked_at(member, report, now)
    }

    fn recount(&self) -> Vec<Due> {
        self.counts_to_write()
    }

    fn on_recounted(&self, member: MemberId, report: Report, now: Instant) {
        self.count_written(member, report, now);
    }
}

impl Listed for Claim {
    fn renew_now(&self) {
        let now = self.now();
        for known in self.state().members.values_mut().filter(|known| known.is_granted()) {
            known.renew_at = Some(now);
        }
        self.process.watchdog.reschedule(self.id, now);
    }

    fn renew_on(&self, node: &NodeId, at: Instant) {
        let now = self.now();
        let mut state = self.state();
        for (member, known) in state.members.iter_mut().filter(|(_, known)| known.is_granted()) {
            if self.members[member].services.node_id() == node {
                known.renew_at = Some(known.renew_at.map_or(at, |due| due.min(at)));
            }
        }
        let next = self.next_look(&state).unwrap_or(now);
        drop(state);
        self.process.watchdog.reschedule(self.id, next);
    }

    fn look_now(&self, node: &NodeId, channel: &str) {
        self.plan_looks(node, channel);
    }

    fn stands_until(&self) -> Instant {
        self.deadline()
    }

    fn is_exclusive(&self) -> bool {
        self.is_all(Admission::Exclusive)
    }

    fn release_may_end_others(&self) -> bool {
        self.members.values().any(|member| !member.kind.is_counted())
    }

    fn told(&self) -> Option<HeldLock> {
        let (now, left, votes) = (self.now(), self.deadline(), self.votes());
        let first = self.members.ids().next().filter(|_| votes > 0)?;
        let (sort, holder) = (SortOfLock::of(&**self.kind(first)), self.holder_at(first));
        let state = self.state();
        (state.phase == ClaimPhase::Held).then(|| HeldLock {
            name: self.lock_name(),
            sort,
            holder,
            held_for: now.saturating_since(state.won_at),
            left: left.saturating_since(now),
            votes,
            servers: self.members.len(),
        })
    }

    fn shut_down(&self, cause: LostCause) {
        self.lose(cause);
        self.abandon();
    }
}

/// What a server answered to a renewal.
struct RenewalAnswer {
    outcome: Outcome,
    /// Before the first byte of the request.
    sent: Instant,
    run_id: Option<RunId>,
}

/// Plans to ask a member again that did not answer. True if it had answered until then.
fn not_answered(state: &mut ClaimState, member: MemberId, now: Instant) -> bool {
    let retry = now + state.term.retry();
    let known = &mut state.members[member];
    if !known.is_granted() {
        return false;
    }
    known.renew_at = Some(retry);
    !std::mem::replace(&mut known.is_failing, true)
}

impl Claim {
    /// What came of a renewal. The cause if it was not answered, and the one before was.
    pub(super) fn take_in(
        &self,
        state: &mut ClaimState,
        member: MemberId,
        report: Report,
        now: Instant,
    ) -> Option<NodeError> {
        match report {
            Report::Unknown { cause } => {
                state.unrenewed = Some(Box::new((member, cause.clone())));
                not_answered(state, member, now).then_some(cause)
            }
            Report::Answered { outcome, sent, run_id } => {
                self.answered(state, member, &RenewalAnswer { outcome, sent, run_id }, now);
                None
            }
        }
    }

    fn answered(
        &self,
        state: &mut ClaimState,
        member: MemberId,
        answer: &RenewalAnswer,
        now: Instant,
    ) {
        let &RenewalAnswer { outcome, sent, run_id } = answer;
        let (term, composite) = (state.term, self.members.len() > 1);
        let next_renewal = self.next_renewal(term, now);
        let next_heal = next_renewal.filter(|_| self.heals(state, now));
        let may_extend = state.may_extend(now);
        let reduced_at = state.reduced_at;
        let known = &mut state.members[member];
        known.is_failing = false;
        let done = outcome.code == Outcome::DONE;
        // A restarted server may show the key from an old copy of its data. That others were not
        // granted in between is certain only on a single server, or while our deadline stands:
        // whatever took the place of its process had no other to grant it to yet.
        let of = &self.members[member];
        let stands = known.deadline().filter(|deadline| now < *deadline);
        let is_another = run_id.is_some() && !known.is_same_process(run_id);
        let outlives = |deadline| of.outlives_restarts(deadline, now).is_some();
        let is_successor = is_another && stands.is_some_and(outlives);
        // In a cluster that cannot be told, but for the mark of the server that is there now.
        let is_elsewhere = of.services.node.is_cluster() && of.outlives_failovers();
        let is_elsewhere = is_elsewhere && stands.is_some();
        // Where no server waits, whatever is gone may have been granted since.
        let is_elsewhere = is_elsewhere || is_successor && of.vetting != Vetting::None;
        let is_gone = !done || (composite && !is_successor && !known.is_same_process(run_id));
        if is_gone && planted!(GoneStillCounts) {
            known.confirmed(term, sent, term.ms(), next_renewal);
        } else if is_gone && stands.is_some() && known.is_confirmed_since(sent) {
            // It was written again since.
            known.renew_at = Some(now);
        } else if is_gone
            && is_elsewhere
            // Others that share it may have been written again before: whether one keeps it out, an acquire shows.
            && (Absence::of(outcome) == Absence::Gone || of.kind.is_shared())
            && !planted!(MissingNotRewritten)
        {
            known.missing(Absence::of(outcome), now);
        } else if is_gone {
            known.gone(Absence::of(outcome), sent, now, next_heal);
        } else if may_extend && known.wanted_ms(term) > 0 {
            known.confirmed(term, sent, outcome.value, next_renewal);
        }
        if is_successor && !is_gone {
            known.moved_to(run_id);
        }
        if !is_gone && reduced_at.is_some_and(|at| sent < at) {
            // It was not told yet.
            known.renew_at = Some(now);
        }
    }

    /// Once a streak: a server that is down is asked again several times a second.
    pub(super) fn warn_of_failure(&self, member: MemberId, cause: NodeError) {
        let (lock, holder) = (self.members[member].shown_name(), self.holder.clone());
        self.members[member].services.settings.meters.not_renewed();
        let node = self.members[member].services.node_id().clone();
        telling::event_of_many(
            move || {
                tracing::warn!(target: WATCHDOG, %lock, %holder, %node, %cause, "a lock is not renewed: it is tried again");
            },
            "locks are not renewed, as the one that was named: it is tried again",
        );
    }

    /// The renewal of one member, whether or not it is due.
    pub(super) fn renewal_now(&self, member: MemberId) -> Due {
        let state = self.state();
        let (term, may_extend) = (state.term, state.may_extend(self.now()));
        let known = &state.members[member];
        let lease_ms = if may_extend { known.wanted_ms(term) } else { 0 };
        self.renewal(member, known.holder(&self.holder), term, lease_ms)
    }

    /// The renewal of one member. A lease of 0 ms only asks.
    fn renewal(&self, member: MemberId, holder: &Arc<str>, term: Term, lease_ms: i64) -> Due {
        let of = &self.members[member];
        Due {
            member,
            node: of.services.node.clone(),
            statement: self.kind(member).renew(holder, lease_ms),
            timeout: term.renewal_timeout(of.services.settings.node_timeout),
            is_look: false,
            due_at: DueTime::default(),
        }
    }

    /// A look at one member: a renewal that extends nothing.
    fn look(&self, member: MemberId, holder: &Arc<str>, term: Term) -> Due {
        let lease_ms = if planted!(LookRenews) { term.ms() } else { 0 };
        Due { is_look: true, ..self.renewal(member, holder, term, lease_ms) }
    }
}
