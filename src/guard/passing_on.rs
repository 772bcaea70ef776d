//! What becomes of a hold when its turn is over and others of the same process wait. It is passed on to
//! the next, or released so that the next, or another process, comes to it soon.
//!
//! Source: lock cohorting (Dice, Marathe, Shavit), with a lease in place of the global lock.

use std::{sync::Arc, time::Duration};

use futures::FutureExt;

use super::{handover_rule::handover, turn::Turn};
use crate::{
    claim::Claim,
    clock::Instant,
    logging::LOCK,
    telling,
    wait::{HandoverTerms, Line, Offered, Overdue, Parting},
};

/// What is left to do with a hold whose turn is over.
pub(crate) enum AfterTurn {
    /// Nothing: it was passed on.
    PassedOn,
    /// To release it, and to tell the waiters, if there are any.
    Release(Option<AwaitedRelease>),
}

/// A release that others of the same process wait for.
pub(crate) struct AwaitedRelease {
    line: Arc<Line<Claim>>,
    /// For how long it is left to other processes; `None` if the next one may ask at once.
    leave: Option<Duration>,
    now: Instant,
}

impl Turn {
    /// Passes the claim on to its next waiter in this process, if that may be. The turn is over.
    /// Never blocks.
    pub(crate) fn pass_on(self: &Arc<Self>) -> AfterTurn {
        let after = self.pass_on_or_release();
        self.tell_end(matches!(after, AfterTurn::PassedOn));
        after
    }

    /// Costs a comparison if nothing listens and nothing is measured.
    fn tell_end(self: &Arc<Self>, passed_on: bool) {
        self.meters().ended(|| self.lasts(), passed_on);
        if telling::is_each_wanted() {
            let (lock, holder) = (self.claim().lock_name(), self.claim().holder().clone());
            let held = self.lasts();
            if let Some(turn) = self.span().map(|_| self.clone()) {
                telling::event(move || turn.span().into_iter().for_each(|it| it.ended(passed_on)));
            }
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, %holder, ?held, passed_on, "a turn with a lock is over");
            });
        }
    }

    fn pass_on_or_release(self: &Arc<Self>) -> AfterTurn {
        if planted!(FormerOwnerEnters) {
            // So that its owner finds it.
            std::mem::forget(self.clone());
        }
        let (claim, handover_rule) = (self.claim(), &self.handover_rule);
        let members = claim.members();
        let Some(limit) = handover(members).limit() else { return AfterTurn::Release(None) };
        let Some(line) = handover_rule.line(members) else { return AfterTurn::Release(None) };
        let now = claim.now();
        let long = now.saturating_since(line.ours_since(claim.won_at()));
        let nobody = line.others(|others| others.nobody_waits());
        let leave = match Parting::after(long, limit, nobody, claim.round_trip()) {
            Parting::Leave(free) => Some(free),
            Parting::Stay { or_ask_at_once } => {
                if let Some(terms) = handover_rule.terms(members, claim.term())
                    && offer(claim, &line, terms, now, limit)
                {
                    return AfterTurn::PassedOn;
                }
                if !or_ask_at_once {
                    return AfterTurn::Release(None);
                }
                None
            }
        };
        AfterTurn::Release(Some(AwaitedRelease { line, leave, now }))
    }
}

/// Offers the claim to the first in line. True if that may have it.
fn offer(
    claim: &Arc<Claim>,
    line: &Arc<Line<Claim>>,
    terms: HandoverTerms,
    now: Instant,
    limit: Duration,
) -> bool {
    if !claim.may_be_handed_on(now) {
        return false;
    }
    let Ok(unwatched) = line.offer(terms, claim.clone()) else { return false };
    if let Some(number) = unwatched {
        watch(claim, line.clone(), number, limit);
    }
    true
}

// keeps: offer-taken-or-back
/// Has the watchdog look after what is offered in a line: a waiter that is not polled would keep it for
/// ever.
fn watch(claim: &Claim, line: Arc<Line<Claim>>, mut number: u64, limit: Duration) {
    if planted!(OfferNeverWithdrawn) {
        return;
    }
    let process = claim.process();
    let clock = process.clock.clone();
    let timeouts = claim.members().values().map(|of| of.services.settings.node_timeout);
    // By then it has all that it may need of the servers, unless it is not polled.
    let had_within = claim.term().node_timeout(timeouts.max().unwrap_or_default()) * 2;
    let watch = async move {
        loop {
            clock.sleep_until(clock.now() + limit).await;
            match line.withdraw(number) {
                Overdue::Nothing => return,
                Overdue::LookAgain(next) => number = next,
                Overdue::Taken => {
                    clock.sleep_until(clock.now() + had_within).await;
                    if let Some(what) = line.withdraw_taken(number) {
                        return what.give_back();
                    }
                }
                Overdue::GiveBack(what) => return what.give_back(),
            }
        }
    };
    process.watchdog.attend(watch.boxed());
}

impl AwaitedRelease {
    /// The release has taken its place on its way to the servers.
    pub(crate) fn has_left(&self) {
        let at = self.now + self.leave.unwrap_or_default();
        self.line.released(at, self.leave.is_some());
    }

    /// It is left to others to finish, and to the announcement to wake the waiters; but other processes
    /// are left their time.
    pub(crate) fn is_left_to_others(&self) {
        if self.leave.is_some() {
            self.has_left();
        }
    }

    /// So many others heard of it, if that is known.
    pub(crate) fn was_heard(&self, others: Option<u32>) {
        self.line.others(|known| known.heard(others));
    }
}
