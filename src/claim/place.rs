//! The place of a waiter in the queue of a server. The watchdog keeps it, also while the runtime of the
//! waiter stands still, or the server cannot be reached for a while.

use std::{sync::Arc, time::Duration};

use super::record::{Claim, next_id};
use crate::{
    by_member::MemberId,
    clock::Instant,
    logging::LOCK,
    metering::DueTime,
    telling,
    watchdog::{Due, Report, Tick, Watched, renewal_time},
    wire::Statement,
};

/// Kept until this is dropped.
#[derive(Debug)]
pub(crate) struct KeptPlace {
    id: u64,
    claim: Arc<Claim>,
}

impl KeptPlace {
    /// That of a claim, if it stands in a queue where places end.
    pub(crate) fn of(claim: &Arc<Claim>) -> Option<Self> {
        let member = claim.place()?;
        let kept = Arc::new(Keeping { claim: claim.clone(), member });
        kept.statement()?;
        let place = Self { id: next_id(), claim: claim.clone() };
        let (now, watchdog) = (claim.now(), &claim.process.watchdog);
        watchdog.watch(place.id, kept.next(now), kept);
        Some(place)
    }
}

impl Drop for KeptPlace {
    fn drop(&mut self) {
        if self.claim.process.home.is_here() {
            self.claim.process.watchdog.forget(self.id);
        }
    }
}

#[derive(Debug)]
struct Keeping {
    claim: Arc<Claim>,
    member: MemberId,
}

impl Keeping {
    /// By the id that it stands there by now. `None` where places do not end.
    fn statement(&self) -> Option<Statement> {
        let queue = self.claim.kind(self.member).server_queue()?;
        Some(queue.keep_place(&self.claim.holder_at(self.member)))
    }

    /// Where those of many waiters meet in few calls.
    fn next(&self, now: Instant) -> Instant {
        renewal_time(now, EVERY, self.claim.process.renewal_phase)
    }
}

impl Watched for Keeping {
    fn end_in_time(&self, _now: Instant) -> Option<Instant> {
        None
    }

    fn tick(self: Arc<Self>, now: Instant, _most: usize) -> Tick {
        let services = &self.claim.members[self.member].services;
        let due = self.statement().map(|statement| Due {
            member: self.member,
            node: services.node.clone(),
            statement,
            timeout: services.settings.node_timeout,
            is_look: false,
            due_at: DueTime::default(),
        });
        Tick { due: due.into_iter().collect(), next: Some(self.next(now)), ..Tick::default() }
    }

    /// A place that is gone is noticed by its waiter, when it looks.
    fn on_report(&self, _member: MemberId, report: Report, now: Instant) -> Option<Instant> {
        Some(match report {
            Report::Answered { .. } => self.next(now),
            Report::Unknown { .. } => now + RETRY,
        })
    }

    fn recount(&self) -> Vec<Due> {
        Vec::new()
    }

    fn on_recounted(&self, _member: MemberId, _report: Report, _now: Instant) {}
}

impl Claim {
    /// The member in whose queue it stands.
    pub(crate) fn place(&self) -> Option<MemberId> {
        let state = self.state();
        state.queue.filter(|member| !state.members[*member].is_granted())
    }

    /// The member in whose queue it stands, or stood until that granted it.
    pub(crate) fn queue(&self) -> Option<MemberId> {
        self.state().queue
    }

    /// By which id it stands in a queue, or would: its own where it stands in none.
    pub(crate) fn holder_in_queue(&self) -> Arc<str> {
        self.queue().map_or_else(|| self.holder.clone(), |member| self.holder_at(member))
    }

    /// Whether others are kept out by its asking.
    pub(crate) fn keeps_out_by_asking(&self) -> bool {
        self.members.values().any(|member| member.kind.keeps_out_by_asking())
    }

    /// Whether `member` has a queue, and a place in it is wanted.
    pub(crate) fn has_queue_at(&self, member: MemberId) -> bool {
        self.wanted.queues_at(&self.members[member])
    }

    /// Whether it may stand there: a waiter that stands in two would be waited for in one of them while it
    /// waits in the other.
    pub(crate) fn may_queue_at(&self, member: MemberId) -> bool {
        self.has_queue_at(member) && self.queue().is_none_or(|queue| queue == member)
    }

    /// If it may, it takes a place there when it is refused, from now on.
    pub(crate) fn queue_at(&self, member: MemberId) {
        if self.may_queue_at(member) {
            self.state().queue = Some(member);
        }
    }

    /// Its place was gone when it looked, and it stands at the end of the queue now.
    pub(super) fn warn_of_lost_place(&self, member: MemberId) {
        let (lock, holder) = (self.members[member].shown_name(), self.holder.clone());
        telling::event(move || {
            tracing::warn!(
                target: LOCK, %lock, %holder,
                "a place in a queue was lost, by a clock that is ahead or a turn that was not taken: \
                 the wait goes on at its end"
            );
        });
    }
}

/// Places last for five minutes times their number, and are prolonged when half of five is over.
const EVERY: Duration = Duration::from_secs(60);
/// After no answer.
const RETRY: Duration = Duration::from_secs(5);
