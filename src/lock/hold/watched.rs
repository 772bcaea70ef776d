//! The hold as the watchdog sees it: renewals.

use std::sync::Arc;

use super::{Hold, Phase};
use crate::{
    clock::Instant,
    lease::Term,
    lock::absence::Absence,
    watchdog::{Due, Report, Tick, Watched},
    wire::Outcome,
};

impl Watched for Hold {
    fn tick(self: Arc<Self>, now: Instant) -> Tick {
        if self.look_for_loss(self.state(), now).is_none() {
            return Tick::default();
        }
        let mut state = self.state();
        let term = state.term;
        let may_extend = state.may_extend(now);
        let mut due = Vec::new();
        for (member, seat) in state.seats.iter_mut().enumerate() {
            if seat.renew_at.is_none_or(|at| at > now) {
                continue;
            }
            // None while it is under way: what comes of it sets the next time.
            seat.renew_at = None;
            let lease_ms = if may_extend { seat.wanted_ms(term) } else { 0 };
            due.extend(self.renewal(member, term, lease_ms));
        }
        let errands = self.heals_due(&mut state, now);
        Tick { due, errands, next: self.next_look(&state) }
    }

    fn told(&self, member: usize, report: Report, now: Instant) -> Option<Instant> {
        // What is told after the end, or after a deadline that nobody has noticed, is ignored.
        self.look_for_loss(self.state(), now)?;
        let mut state = self.state();
        if state.phase != Phase::Held {
            return None;
        }
        let (term, composite) = (state.term, self.members.len() > 1);
        let next_renewal = self.next_renewal(term, now);
        let (next_heal, may_extend) = (self.next_heal(&state, now), state.may_extend(now));
        let seat = state.seats.get_mut(member)?;
        match report {
            Report::Unknown if !seat.is_granted() => {}
            Report::Unknown => seat.renew_at = Some(now + term.retry()),
            Report::Answered { outcome, sent, run_id } => {
                let done = outcome.code == Outcome::DONE;
                // A restarted server may show the key from an old copy of its data; that others
                // were not granted in between is certain only on a single server.
                let is_gone = !done || (composite && !seat.is_same_process(run_id));
                if is_gone && planted!(GoneStillCounts) {
                    seat.vouched(term, sent, term.ms(), next_renewal);
                } else if is_gone {
                    seat.gone(Absence::of(outcome), sent, now, next_heal);
                } else if may_extend && seat.wanted_ms(term) > 0 {
                    seat.vouched(term, sent, outcome.value, next_renewal);
                }
            }
        }
        self.look_for_loss(state, now)
    }

    fn recount(&self) -> Vec<Due> {
        self.counts_to_write()
    }

    fn recounted(&self, member: usize, report: Report, now: Instant) {
        self.count_written(member, report, now);
    }
}

impl Hold {
    /// Asks at once whether the lock is still ours.
    pub(crate) fn hurry(&self) {
        let now = self.now();
        for seat in self.state().seats.iter_mut().filter(|seat| seat.is_granted()) {
            seat.renew_at = Some(now);
        }
        self.process.watchdog.reschedule(self.id, now);
    }

    /// The renewal of one member. A lease of 0 ms only asks.
    fn renewal(&self, member: usize, term: Term, lease_ms: i64) -> Option<Due> {
        let of = self.members.get(member)?;
        Some(Due {
            member,
            node: of.site.node.clone(),
            statement: of.kind.renew(&self.holder, lease_ms),
            timeout: term.renewal_timeout(of.site.settings.node_timeout),
        })
    }
}
