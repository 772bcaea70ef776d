//! What is in one outbox: calls that wait, calls that were taken by the driver, and what has become
//! of either.

mod answered;
mod group;
mod lanes;
mod rules;

use std::{collections::VecDeque, iter, sync::Arc, task::Waker, time::Duration};

use redis::Value;
use slab::Slab;
use tokio::sync::oneshot;

use self::{lanes::Lanes, rules::GroupingRules};
use super::{
    acquire_source::{AcquireSource, SendReason},
    priority::Priority,
    request::{ASKING, AnswerCount, Form, Request},
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    reach::cause,
    wire::{Outcome, Words},
};

pub(super) use self::{answered::AcquireReply, group::MOST_LOCKS, lanes::NextToSend};

/// Stands for a call until its caller has learnt how it ended.
pub(super) type CallId = usize;

/// What has become of a call.
#[derive(Debug)]
pub(super) enum CallEnd {
    /// The server answered. An error of the server is an answer, too. Where there are two, `first` came
    /// before the other.
    Answered { first: Option<Value>, value: Value, sent: Instant },
    /// The server answered, about one lock of a call.
    Acquired(AcquireAnswered),
    /// Nobody wanted it any more when its turn had come. It was not sent.
    Unwanted,
    /// It was not answered, and nobody knows whether it was executed.
    Unknown(NodeError),
    /// None of it has left this machine, and none ever will.
    NotSent(NodeError),
    /// Its caller waited long enough.
    GivenUp { phase: Phase, counts: bool },
}

impl CallEnd {
    /// Whether it was not sent, and never will be; or was sent and not executed.
    fn was_not_executed(&self) -> bool {
        matches!(
            self,
            Self::Unwanted | Self::NotSent(_) | Self::GivenUp { phase: Phase::Sending, .. }
        )
    }
}

/// What a server said of one lock.
#[derive(Debug)]
pub(super) struct AcquireAnswered {
    pub(super) outcome: Result<Outcome, NodeError>,
    /// The stamp that it was noted with.
    pub(super) not_after: i64,
    pub(super) sent: Instant,
    pub(super) received: Instant,
    pub(super) server_time: i64,
}

#[derive(Default)]
pub(super) struct CallTable {
    pub(super) calls: Slab<CallState>,
    /// What the driver has not taken yet, but for acquires.
    pub(super) lanes: Lanes<CallId>,
    /// Acquires that it has not taken yet. They leave in calls that they share.
    pub(super) acquires: VecDeque<CallId>,
    /// What it has taken, until the answer comes.
    pub(super) sent: VecDeque<SentCall>,
    /// The acquires of the calls among these, in the same order.
    pub(super) sent_acquires: VecDeque<CallId>,
    /// How many calls were ever taken.
    pub(super) taken: u64,
    /// How many calls with acquires are not answered.
    pub(super) acquire_calls: usize,
    /// How many of them may be, as of the last time when it was looked.
    pub(super) most_acquire_calls: usize,
    /// What the last call with acquires took.
    pub(super) last_round_trip: Duration,
    /// Bytes of all that it has taken.
    pub(super) bytes: u64,
    pub(super) rules: GroupingRules,
    /// The number of the last part of a call that was refused.
    pub(super) parts: u64,
    /// To put calls together in.
    pub(super) scratch: Words,
    /// When somebody who waits is to be woken first, or earlier.
    pub(super) next_wake: Option<Instant>,
    /// To be woken when something enters; there while the driver sleeps.
    pub(super) driver: Option<Waker>,
    /// A call has waited in vain for the driver to come, who has not come since.
    pub(super) stands_still: bool,
    /// To be dropped when the driver has read all that has come.
    pub(super) lookers: Vec<oneshot::Sender<()>>,
}

pub(super) enum CallState {
    Queued {
        request: Request,
        deadline: Instant,
        caller: CallWaiter,
    },
    Sent {
        sent: Instant,
        /// The first answer, of two.
        first: Option<Value>,
        caller: CallWaiter,
    },
    Acquire(QueuedAcquire),
    /// Given up before the driver took it.
    GivenUpQueued,
    /// Given up after that.
    GivenUpSent,
    Ended(CallEnd),
}

/// Who waits for what becomes of a call.
pub(super) struct CallWaiter {
    pub(super) waker: Waker,
    /// When it is to be woken, whatever has become of it; `None` if it has a timer of its own.
    pub(super) wake_at: Option<Instant>,
    /// Who waits, and for what besides.
    pub(super) priority: Priority,
}

impl CallWaiter {
    /// Who has time, and a timer of its own.
    #[cfg(test)]
    pub(super) fn of(waker: &Waker) -> Self {
        Self { waker: waker.clone(), wake_at: None, priority: Priority::default() }
    }
}

/// A call beside which there is no other on its socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct OnlyCall {
    pub(super) sent: Instant,
    pub(super) priority: Priority,
}

/// An acquire that waits, or is sent.
pub(super) struct QueuedAcquire {
    pub(super) source: Arc<dyn AcquireSource>,
    pub(super) unsent_until: Option<Instant>,
    pub(super) reason: SendReason,
    /// The stamp that it was noted with, if it was taken by the driver, be it in vain.
    pub(super) stamp: Option<i64>,
    /// When it was taken, and in which call. `None` while it waits.
    pub(super) flight: Option<(Instant, u64)>,
    /// Whether ASKING is said before its call.
    pub(super) is_asking: bool,
    /// So many that callers wait for are to leave first; 0 if it passes them in its turn.
    pub(super) behind: u64,
    /// Of those that wait, only the ones with the same number share a call. 0 if it may be any.
    pub(super) part: u64,
    pub(super) caller: CallWaiter,
}

impl CallState {
    fn caller(&mut self) -> Option<&mut CallWaiter> {
        match self {
            Self::Queued { caller, .. }
            | Self::Sent { caller, .. }
            | Self::Acquire(QueuedAcquire { caller, .. }) => Some(caller),
            Self::GivenUpQueued | Self::GivenUpSent | Self::Ended(_) => None,
        }
    }
}

impl QueuedAcquire {
    pub(super) fn form(&self) -> Form {
        if self.reason == SendReason::WithText { Form::Text } else { Form::Digest }
    }
}

/// Has not been answered yet.
pub(super) struct SentCall {
    pub(super) sent: Instant,
    /// So many bytes were taken before its first.
    pub(super) start: u64,
    pub(super) what: SentPart,
    /// Whether the answer tells of many.
    pub(super) is_list: bool,
    /// Whether somebody has waited for it too long.
    pub(super) is_late: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum SentPart {
    /// One answer is missing.
    Call(CallId),
    /// Two are.
    Pair(CallId),
    /// So many of those that are sent.
    Acquires(usize),
    /// ASKING, whose answer nobody waits for.
    Asking,
}

/// How a call was given up, and whether that counts where its caller waited for too long: once for a
/// call of the server's, however many locks were in it or waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivenUp {
    /// It has not left this machine, and never will.
    Unsent { counts: bool },
    /// It may have been executed.
    Sent { counts: bool },
}

impl CallTable {
    /// Whether something was not taken yet.
    pub(super) fn has_waiting(&self) -> bool {
        !self.lanes.is_empty() || !self.acquires.is_empty()
    }

    /// Packs a call that waits, unless it was given up or nobody waits for its answer any more: then
    /// its waker is returned.
    pub(super) fn send(&mut self, ticket: CallId, now: Instant, to: &mut Vec<u8>) -> Option<Waker> {
        match self.calls.get_mut(ticket) {
            Some(CallState::Queued { deadline, .. }) if now >= *deadline => {
                self.decide(ticket, late(true))
            }
            Some(entry @ CallState::Queued { .. }) => {
                if let CallState::Queued { request, caller, .. } =
                    std::mem::replace(entry, CallState::GivenUpQueued)
                {
                    *entry = CallState::Sent { sent: now, first: None, caller };
                    let what = match request.answers {
                        AnswerCount::One => SentPart::Call(ticket),
                        AnswerCount::Two => SentPart::Pair(ticket),
                    };
                    if request.is_asking {
                        self.take_asking(now, to);
                    }
                    self.take(what, now, to, |to| to.extend_from_slice(&request.bytes));
                    if let Some(departed) = self.sent.back_mut() {
                        departed.is_list = request.is_list;
                    }
                }
                None
            }
            _ => {
                self.calls.try_remove(ticket);
                None
            }
        }
    }

    /// Packs a call behind all that were packed.
    pub(super) fn take(
        &mut self,
        what: SentPart,
        now: Instant,
        to: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let before = to.len();
        write(to);
        self.sent.push_back(SentCall {
            sent: now,
            start: self.bytes,
            what,
            is_list: false,
            is_late: false,
        });
        self.bytes += (to.len() - before) as u64;
        self.taken += 1;
    }

    /// Packs the word that lets the call behind it pass.
    pub(super) fn take_asking(&mut self, now: Instant, to: &mut Vec<u8>) {
        self.take(SentPart::Asking, now, to, |to| to.extend_from_slice(ASKING));
    }

    /// The next call that is answered, and when it was taken.
    pub(super) fn answer_next(&mut self) -> Option<(SentPart, Instant)> {
        let next = self.sent.front_mut()?;
        let (what, sent) = (next.what, next.sent);
        match what {
            SentPart::Pair(ticket) => {
                next.what = SentPart::Call(ticket);
                return Some((what, sent));
            }
            SentPart::Call(_) | SentPart::Asking => {}
            SentPart::Acquires(_) => self.acquire_calls -= 1,
        }
        self.sent.pop_front();
        Some((what, sent))
    }

    /// Whether the answer behind so many may tell of many.
    pub(super) fn awaits_a_list(&self, behind: usize) -> bool {
        let mut answers = self.sent.iter().flat_map(|departed| {
            let so_many = if let SentPart::Pair(_) = departed.what { 2 } else { 1 };
            iter::repeat_n(departed.is_list, so_many)
        });
        answers.nth(behind).is_some_and(|is_list| is_list)
    }

    /// The next call that is never answered, and the byte that it begins with.
    pub(super) fn break_next(&mut self) -> Option<(SentPart, u64)> {
        let SentCall { what, start, .. } = self.sent.pop_front()?;
        Some((what, start))
    }

    /// Keeps the first of two answers.
    pub(super) fn answer_first(&mut self, ticket: CallId, value: Value) {
        if let Some(CallState::Sent { first, .. }) = self.calls.get_mut(ticket) {
            *first = Some(value);
        }
    }

    /// The last answer, or the only one.
    pub(super) fn answer(&mut self, ticket: CallId, value: Value) -> Option<Waker> {
        let Some(CallState::Sent { sent, first, .. }) = self.calls.get_mut(ticket) else {
            self.calls.try_remove(ticket);
            return None;
        };
        let (sent, first) = (*sent, first.take());
        self.decide(ticket, CallEnd::Answered { first, value, sent })
    }

    /// Notes the end of a call for its caller, which is to be woken; forgets one that was given up.
    pub(super) fn decide(&mut self, ticket: CallId, end: CallEnd) -> Option<Waker> {
        match self.calls.get_mut(ticket) {
            Some(
                entry @ (CallState::Queued { .. } | CallState::Sent { .. } | CallState::Acquire(_)),
            ) => {
                if let (CallState::Acquire(queued), true) = (&mut *entry, end.was_not_executed()) {
                    queued.was_not_sent();
                }
                let end = match entry {
                    CallState::Sent { sent, first: Some(first), .. }
                        if planted!(AnnouncementLost) =>
                    {
                        let (sent, first) = (*sent, Some(first.clone()));
                        CallEnd::Answered { first, value: Value::Int(-1), sent }
                    }
                    _ => end,
                };
                match std::mem::replace(entry, CallState::Ended(end)) {
                    CallState::Queued { caller, .. } | CallState::Sent { caller, .. } => {
                        Some(caller.waker)
                    }
                    CallState::Acquire(queued) => Some(queued.caller.waker),
                    _ => None,
                }
            }
            _ => {
                self.calls.try_remove(ticket);
                None
            }
        }
    }

    pub(super) fn take_fate(&mut self, ticket: CallId) -> Option<CallEnd> {
        match self.calls.try_remove(ticket) {
            Some(CallState::Ended(end)) => Some(end),
            _ => None,
        }
    }

    /// Gives up a call; with what is to be dropped once nothing is locked.
    pub(super) fn leave(&mut self, ticket: CallId) -> (GivenUp, Option<CallState>) {
        let (left, after) = match self.calls.get_mut(ticket) {
            Some(CallState::Queued { .. }) => {
                (GivenUp::Unsent { counts: true }, CallState::GivenUpQueued)
            }
            Some(CallState::Sent { .. }) => {
                (GivenUp::Sent { counts: true }, CallState::GivenUpSent)
            }
            Some(CallState::Acquire(queued)) => match queued.flight {
                None => {
                    queued.was_not_sent();
                    // Who is asked beside others was not sent for want of time: the server may be there.
                    let is_alone = queued.unsent_until.is_none();
                    let counts = is_alone && is_first(self.sent.front_mut());
                    (GivenUp::Unsent { counts }, CallState::GivenUpQueued)
                }
                Some((_, number)) => {
                    let oldest = self.taken - self.sent.len() as u64;
                    let at = usize::try_from(number - oldest).unwrap_or(usize::MAX);
                    (
                        GivenUp::Sent { counts: is_first(self.sent.get_mut(at)) },
                        CallState::GivenUpSent,
                    )
                }
            },
            _ => {
                let end = self.take_fate(ticket);
                let is_unsent = end.as_ref().is_some_and(CallEnd::was_not_executed);
                let left = if is_unsent {
                    GivenUp::Unsent { counts: false }
                } else {
                    GivenUp::Sent { counts: true }
                };
                return (left, end.map(CallState::Ended));
            }
        };
        if planted!(WithdrawnAfterNoscript) && matches!(left, GivenUp::Sent { .. }) {
            return (left, None);
        }
        (left, self.calls.get_mut(ticket).map(|entry| std::mem::replace(entry, after)))
    }

    /// The waiter for a call whose end is not known.
    pub(super) fn caller(&mut self, ticket: CallId) -> Option<&mut CallWaiter> {
        self.calls.get_mut(ticket).and_then(CallState::caller)
    }

    /// How it is waited for, if it still is.
    pub(super) fn priority(&mut self, ticket: CallId) -> Option<Priority> {
        self.caller(ticket).map(|caller| caller.priority)
    }

    /// Whether its caller goes on once it is answered: unless it waits for other servers, too.
    pub(super) fn goes_on(&mut self, ticket: CallId) -> bool {
        self.priority(ticket).is_some_and(|priority| !priority.is_with_others())
    }

    /// How many callers go on once the first so many of those that are sent are answered.
    pub(super) fn how_many_go_on(&mut self, locks: usize) -> usize {
        let goes_on =
            |at: &usize| self.sent_acquires.get(*at).copied().is_some_and(|it| self.goes_on(it));
        (0..locks).filter(goes_on).count()
    }

    /// The only call, if it is under way.
    pub(super) fn only_call(&mut self) -> Option<OnlyCall> {
        let is_alone = self.sent.len() == 1 && !self.has_waiting();
        let only = self.sent.front().filter(|_| is_alone)?;
        let sent = only.sent;
        let ticket = match only.what {
            SentPart::Call(ticket) | SentPart::Pair(ticket) => ticket,
            SentPart::Acquires(_) => *self.sent_acquires.front()?,
            SentPart::Asking => return None,
        };
        self.priority(ticket).map(|priority| OnlyCall { sent, priority })
    }

    /// Somebody is to be woken then. True if that is before all that were planned.
    pub(super) fn plan_wake(&mut self, at: Option<Instant>) -> bool {
        let Some(at) = at.filter(|at| self.next_wake.is_none_or(|next| *at < next)) else {
            return false;
        };
        self.next_wake = Some(at);
        true
    }

    /// Those whose time is over at `now`. All are looked at, so the more there are, the later is the next
    /// time.
    pub(super) fn overdue(&mut self, now: Instant) -> Vec<Waker> {
        let mut overdue = Vec::new();
        self.next_wake = None;
        for (_, entry) in &mut self.calls {
            let Some(caller) = entry.caller() else { continue };
            match caller.wake_at {
                Some(at) if at <= now => {
                    caller.wake_at = None;
                    overdue.push(caller.waker.clone());
                }
                Some(at) if self.next_wake.is_none_or(|next| at < next) => {
                    self.next_wake = Some(at);
                }
                _ => {}
            }
        }
        let looked_at = u32::try_from(self.calls.len()).unwrap_or(u32::MAX);
        self.next_wake = self.next_wake.map(|at| at.max(now + A_LOOK * looked_at));
        overdue
    }

    /// Tells everybody who waits that it will not be sent.
    pub(super) fn drop_unsent(&mut self, error: impl Fn() -> NodeError) -> Vec<Waker> {
        let mut lanes = std::mem::take(&mut self.lanes);
        let mut unsent = std::mem::take(&mut self.acquires);
        unsent.extend(std::iter::from_fn(|| lanes.oldest()));
        unsent.into_iter().filter_map(|one| self.decide(one, CallEnd::NotSent(error()))).collect()
    }
}

impl QueuedAcquire {
    /// What was noted was not executed, and never will be.
    fn was_not_sent(&mut self) {
        if let Some(stamp) = self.stamp.take() {
            self.source.was_not_sent(stamp);
        }
    }
}

/// Twenty times what it takes to look at one call.
const A_LOOK: Duration = Duration::from_nanos(200);

/// Whether nobody who waited for this call was late before.
fn is_first(call: Option<&mut SentCall>) -> bool {
    call.is_some_and(|call| !std::mem::replace(&mut call.is_late, true))
}

/// What is told of a call that waited too long to be sent.
pub(super) fn late(counts: bool) -> CallEnd {
    CallEnd::GivenUp { phase: Phase::Sending, counts }
}

/// Why a call was not sent: the connection has ended.
pub(super) fn lost() -> NodeError {
    cause::unreachable(&"the connection has just been lost")
}
