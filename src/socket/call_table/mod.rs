//! All calls of one socket: what waits, what was sent, and what has become of either.
//!
//! Only the methods here change the state of a call, one idea a file:
//!
//! | what happens to a call | where |
//! |---|---|
//! | it enters, is waited for, and has ended | here |
//! | it is sent: what leaves next, and how much of it | `sent`, in the order of `lanes` |
//! | acquires share a call | `group`, as `rules` allows |
//! | it is answered, or the stream breaks | `answered` |
//! | it is given up | `given_up` |
//!
//! # Invariants
//! - A call has one [`CallEnd`], and its caller learns it once. What is given up has none.
//! - Answers come in the order of what was sent.
//! - An acquire is wanted, noted and sent in one step: see [`AcquireSource`](super::AcquireSource).
//!
//! Wakers are handed to the caller, which wakes and drops them once nothing is locked.

mod answered;
mod call;
mod given_up;
mod group;
mod lanes;
mod rules;
mod sent;

use std::{collections::VecDeque, task::Waker, time::Duration};

use slab::Slab;
use tokio::sync::oneshot;

pub(crate) use self::call::AcquireAnswer;
pub(super) use self::{
    answered::Woken,
    call::{CallEnd, CallId, CallWaiter, GivenUp, QueuedCall},
    sent::{OnlyCall, Packed},
};
use self::{
    call::{CallState, QueuedAcquire, SentCall},
    lanes::Lanes,
    rules::GroupingRules,
};
use super::{
    clocks::Clocks,
    priority::{CallTimeouts, Priority},
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::cause,
    wire::{Publishing, Words},
};

#[derive(Default)]
pub(super) struct CallTable {
    calls: Slab<CallState>,
    /// What the driver has not taken yet, but for acquires.
    lanes: Lanes<CallId>,
    /// Acquires that it has not taken yet. They leave in calls that they share.
    acquires: VecDeque<CallId>,
    /// What it has taken, until the answer comes.
    sent: VecDeque<SentCall>,
    /// The acquires of the calls among these, in the same order.
    sent_acquires: VecDeque<CallId>,
    /// How many calls were ever taken.
    taken: u64,
    /// How many calls with acquires are not answered.
    acquire_calls: usize,
    /// How many of them may be, as of the last time when it was looked.
    most_acquire_calls: usize,
    /// What the last call with acquires took.
    last_round_trip: Duration,
    /// Bytes of all that it has taken.
    bytes: u64,
    rules: GroupingRules,
    /// The number of the last part of a call that was refused.
    parts: u64,
    /// To put calls together in.
    scratch: Words,
    /// When a caller that waits is to be woken first, or earlier.
    next_wake: Option<Instant>,
    /// To be woken when something enters; there while the driver sleeps.
    driver: Option<Waker>,
    /// A call has waited in vain for the driver to come, which has not come since.
    stands_still: bool,
    /// To be dropped when the driver has read all that has come.
    lookers: Vec<oneshot::Sender<()>>,
}

impl CallTable {
    pub(super) fn new(publishing: Publishing) -> Self {
        let rules = GroupingRules { publishing, ..GroupingRules::default() };
        Self { rules, ..Self::default() }
    }

    /// Whether a call takes keys of one slot only.
    pub(super) fn set_by_slot(&mut self, by_slot: bool) {
        self.rules.by_slot = by_slot;
    }

    /// Puts a call in. With the driver, if it is to be woken for it.
    pub(super) fn enter(
        &mut self,
        mut call: QueuedCall,
        waiter: CallWaiter,
    ) -> (CallId, Option<Waker>) {
        let is_next = self.plan_wake(waiter.wake_at);
        let priority = waiter.priority;
        let bytes = match &mut call {
            QueuedCall::Command { request, .. } => Some(request.bytes.len()),
            QueuedCall::Acquire(acquire) => {
                acquire.behind = if acquire.source.keeps_order() { self.lanes.end() } else { 0 };
                None
            }
        };
        let id = self.calls.insert(CallState::Queued { call, waiter });
        let leaves = if let Some(bytes) = bytes {
            self.lanes.push(id, bytes, priority);
            true
        } else {
            self.acquires.push_back(id);
            // Else an answer makes room for it, and the driver reads that.
            self.acquire_calls < self.most_acquire_calls.max(1)
        };
        let driver = if leaves || is_next { self.driver.take() } else { None };
        (id, driver)
    }

    /// Whether something was not taken yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.lanes.is_empty() || !self.acquires.is_empty()
    }

    /// Whether nothing waits, and nothing is to be answered.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty() && !self.has_waiting()
    }

    /// When the first call was sent that is not answered.
    pub(super) fn owed_since(&self) -> Option<Instant> {
        self.sent.front().map(|first| first.sent)
    }

    /// How a call has ended, and then its id is void. Else it has the `waker` from now on, and with what it had
    /// before.
    pub(super) fn poll_end(&mut self, id: CallId, waker: &Waker) -> Result<CallEnd, Option<Waker>> {
        let Some(waiter) = self.waiter(id) else { return self.take_end(id).ok_or(None) };
        if waiter.waker.will_wake(waker) {
            return Err(None);
        }
        Err(Some(std::mem::replace(&mut waiter.waker, waker.clone())))
    }

    fn take_end(&mut self, id: CallId) -> Option<CallEnd> {
        match self.calls.try_remove(id) {
            Some(CallState::Ended(end)) => Some(end),
            _ => None,
        }
    }

    /// Notes the end of a call for its caller, which is to be woken; forgets one that was given up.
    fn end(&mut self, id: CallId, end: CallEnd) -> Option<Waker> {
        let state = self.calls.get_mut(id)?;
        if let (Some(acquire), true) = (state.acquire(), end.was_not_executed()) {
            acquire.was_not_sent();
        }
        match std::mem::replace(state, CallState::Ended(end)) {
            CallState::Queued { waiter, .. }
            | CallState::Sent { waiter, .. }
            | CallState::SentAcquire { waiter, .. } => Some(waiter.waker),
            CallState::GivenUp | CallState::Ended(_) => {
                self.calls.try_remove(id);
                None
            }
        }
    }

    /// Tells all that waits that it will not be sent.
    pub(super) fn end_unsent(&mut self, error: impl Fn() -> NodeError) -> Vec<Waker> {
        let mut lanes = std::mem::take(&mut self.lanes);
        let mut unsent = std::mem::take(&mut self.acquires);
        unsent.extend(std::iter::from_fn(|| lanes.oldest()));
        unsent.into_iter().filter_map(|one| self.end(one, CallEnd::NotSent(error()))).collect()
    }

    /// What waits for a call whose end is not known.
    fn waiter(&mut self, id: CallId) -> Option<&mut CallWaiter> {
        self.calls.get_mut(id).and_then(CallState::waiter)
    }

    /// Until when an acquire is to be waited for, by what has become of it by now.
    pub(super) fn waits_until(
        &self,
        id: CallId,
        timeouts: &CallTimeouts,
        last_heard: Instant,
        clocks: &Clocks,
    ) -> Instant {
        let since = match self.calls.get(id) {
            Some(CallState::SentAcquire { sent, .. }) => *sent,
            Some(CallState::Queued { call: QueuedCall::Acquire(acquire), .. }) => {
                if let Some(until) = acquire.unsent_until {
                    return until;
                }
                // However many are before it: the server is there. If none is, it has not been looked for
                // anything to send.
                self.owed_since().map_or_else(|| clocks.now(), |first| first.max(last_heard))
            }
            // Its end is there.
            _ => clocks.now(),
        };
        since + timeouts.for_the_server
    }

    /// Has the caller of a call woken later. With the driver, if it is to plan anew.
    pub(super) fn wake_later(&mut self, id: CallId, at: Instant) -> Option<Waker> {
        if let Some(waiter) = self.waiter(id) {
            waiter.wake_at = Some(at);
        }
        if self.plan_wake(Some(at)) { self.driver.take() } else { None }
    }

    /// A caller is to be woken then. True if that is before all that were planned.
    fn plan_wake(&mut self, at: Option<Instant>) -> bool {
        let Some(at) = at.filter(|at| self.next_wake.is_none_or(|next| *at < next)) else {
            return false;
        };
        self.next_wake = Some(at);
        true
    }

    /// The callers whose time is over at `now`, and when the next one's is. All are looked at, so the more
    /// there are, the later is the next time.
    pub(super) fn overdue(&mut self, now: Instant) -> (Vec<Waker>, Option<Instant>) {
        let (mut overdue, mut next) = (Vec::new(), None::<Instant>);
        for waiter in self.calls.iter_mut().filter_map(|(_, state)| state.waiter()) {
            match waiter.wake_at {
                Some(at) if at <= now => {
                    waiter.wake_at = None;
                    overdue.push(waiter.waker.clone());
                }
                Some(at) => next = Some(next.map_or(at, |next| next.min(at))),
                None => {}
            }
        }
        let looked_at = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.next_wake = next.map(|at| at.max(now + A_LOOK * looked_at));
        (overdue, self.next_wake)
    }

    /// Drops `looker` once the driver has read all that has come. With the driver, if it is to be woken for it.
    pub(super) fn look(&mut self, looker: oneshot::Sender<()>) -> Option<Waker> {
        self.lookers.push(looker);
        self.driver.take()
    }

    /// Notes that a call was given up that had waited all its time to be sent.
    pub(super) fn note_unsent(&mut self) {
        self.stands_still = true;
    }

    /// Whether the driver has not come since.
    pub(super) fn stands_still(&self) -> bool {
        self.stands_still
    }

    /// How many wait, and how many calls are to be answered.
    pub(super) fn lengths(&self) -> (usize, usize) {
        (self.lanes.len() + self.acquires.len(), self.sent.len())
    }
}

/// Twenty times what it takes to look at one call.
const A_LOOK: Duration = Duration::from_nanos(200);

/// Why a call was not sent: the connection has ended.
pub(super) fn lost() -> NodeError {
    cause::unreachable(&"the connection has just been lost")
}
