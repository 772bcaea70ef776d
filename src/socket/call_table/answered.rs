//! What comes of what was sent: each call is answered in its turn, or the stream breaks.
//!
//! # Invariants
//! - Each lock of a call of several gets its own outcome. What is refused for one command is so for its lock alone.
//! - A call that was refused as a whole has executed nothing. Its acquires wait again, but for those
//!   that were given up: their releases may have left already, and would be overtaken.

use std::{collections::VecDeque, task::Waker};

use redis::Value;

use super::{
    CallId, CallTable, QueuedCall,
    call::{AcquireAnswer, CallEnd, CallState, SentCall, SentPart},
    lost,
};
use crate::{
    error::NodeError,
    metering::CallSize,
    reach::{Sample, cause},
    socket::{acquire_source::SendReason, clocks::Clocks},
    wire::{Answers, Malformed, Outcome},
};

/// How many callers were woken.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::socket) struct Woken {
    pub(in crate::socket) all: usize,
    /// Of these, the callers that go on now: those that do not wait for other servers, too.
    pub(in crate::socket) who_go_on: usize,
}

impl CallTable {
    /// The answers that came, in their order. It stops when so many callers are to be woken that go on, or a
    /// quarter of all, but no more than [`MOST_AT_ONCE`]. With these callers, and false if the server said more
    /// than it was asked. `is_live`: whether anything more can be sent on this socket.
    pub(in crate::socket) fn answered(
        &mut self,
        clocks: &Clocks,
        is_live: bool,
        values: &mut VecDeque<Value>,
        most: usize,
        woken: &mut Woken,
    ) -> (Vec<Waker>, bool) {
        let (mut wakers, before) = (Vec::new(), woken.all);
        let most = most.max((self.calls.len() / 4).min(MOST_AT_ONCE));
        while woken.who_go_on < most
            && woken.all < most.max(MOST_AT_ONCE)
            && let Some(value) = values.pop_front()
        {
            let Some(next) = self.sent.front_mut() else { return (wakers, false) };
            let (what, sent) = (next.what, next.sent);
            if let SentPart::Pair(id) = what {
                next.what = SentPart::Call(id);
                self.answer_first(id, value);
                continue;
            }
            self.sent.pop_front();
            match what {
                SentPart::Call(id) => {
                    woken.who_go_on += usize::from(self.goes_on(id));
                    wakers.extend(self.answer(id, value));
                }
                SentPart::Acquires(locks) => {
                    self.acquire_calls -= 1;
                    let so_many = locks.min(self.sent_acquires.len());
                    let all: Vec<CallId> = self.sent_acquires.drain(..so_many).collect();
                    woken.who_go_on += all.iter().filter(|id| self.goes_on(**id)).count();
                    let times = Sample { sent, received: clocks.now(), server_us: i64::MIN };
                    self.last_round_trip = times.received.saturating_since(sent);
                    if let Some(told) = self.acquired(all, value, times, is_live, &mut wakers) {
                        clocks.observe(told);
                    }
                }
                SentPart::Pair(_) | SentPart::Asking => {}
            }
            woken.all = before + wakers.len();
        }
        (wakers, true)
    }

    /// Keeps the first of two answers.
    fn answer_first(&mut self, id: CallId, value: Value) {
        if let Some(CallState::Sent { first, .. }) = self.calls.get_mut(id) {
            *first = Some(value);
        }
    }

    /// The last answer, or the only one.
    fn answer(&mut self, id: CallId, value: Value) -> Option<Waker> {
        let Some(CallState::Sent { sent, first, .. }) = self.calls.get_mut(id) else {
            self.calls.try_remove(id);
            return None;
        };
        let (sent, first) = (*sent, first.take());
        self.end(id, CallEnd::Answered { first, value, sent })
    }

    /// Hands the answer to all acquires of a call, or has them wait again. With the server's time, if it told it.
    fn acquired(
        &mut self,
        all: Vec<CallId>,
        value: Value,
        times: Sample,
        is_live: bool,
        wakers: &mut Vec<Waker>,
    ) -> Option<Sample> {
        if let Value::ServerError(error) = &value {
            self.refused(all, &cause::of_server(error), times, is_live, wakers);
            return None;
        }
        let source = |id: &CallId| Some(self.calls.get_mut(*id)?.acquire()?.source.clone());
        let Some(source) = all.iter().find_map(source) else {
            all.into_iter().for_each(|id| drop(self.calls.try_remove(id)));
            return None;
        };
        let mut answers = source.acquire().answers(value, all.len());
        if let Ok(answers) = &mut answers
            && all.len() > 1
            && planted!(BatchOutcomesShifted)
        {
            let _of_another = answers.next();
        }
        let told =
            answers.as_ref().ok().map(|told| Sample { server_us: told.server_time, ..times });
        let mut times = told.unwrap_or(times);
        if planted!(ValidityFromTheAnswer) {
            times.sent = times.received;
        }
        let mut call_size = CallSize::of(all.len());
        for id in all {
            let call_size = std::mem::take(&mut call_size);
            wakers.extend(self.tell(id, next_outcome(&mut answers), times, call_size));
        }
        told
    }

    fn tell(
        &mut self,
        id: CallId,
        outcome: Result<Outcome, NodeError>,
        times: Sample,
        call_size: CallSize,
    ) -> Option<Waker> {
        let stamp = self.calls.get_mut(id).and_then(|call| call.acquire()?.stamp);
        let not_after = stamp.unwrap_or(i64::MIN);
        self.end(id, CallEnd::Acquired(AcquireAnswer { outcome, not_after, times, call_size }))
    }

    /// The server refused a call as a whole.
    fn refused(
        &mut self,
        mut all: Vec<CallId>,
        error: &NodeError,
        times: Sample,
        is_live: bool,
        wakers: &mut Vec<Waker>,
    ) {
        let may_be_one = error.may_concern_one_key();
        if error.is_noscript() && !self.has_text(&all) {
            self.wait_again(&all, SendReason::WithText, None, is_live, wakers);
        } else if all.len() > 1 && error.is_crossslot() && !self.rules.by_slot {
            self.rules.by_slot = true;
            self.wait_again(&all, SendReason::Regrouped, Some(0), is_live, wakers);
        } else if all.len() > 1 && may_be_one {
            let rest = all.split_off(all.len() / 2);
            // What is put in front last is sent first.
            for half in [rest, all] {
                self.parts += 1;
                self.wait_again(&half, SendReason::Regrouped, Some(self.parts), is_live, wakers);
            }
        } else {
            for id in all {
                let acquire = self.calls.get_mut(id).and_then(CallState::acquire);
                if let (true, Some(acquire)) = (may_be_one, acquire) {
                    self.rules.loners.note(acquire.source.acquire(), times.received);
                }
                wakers.extend(self.tell(id, Err(error.clone()), times, CallSize::default()));
            }
        }
    }

    fn has_text(&mut self, all: &[CallId]) -> bool {
        all.iter().any(|id| {
            let acquire = self.calls.get_mut(*id).and_then(CallState::acquire);
            acquire.is_some_and(|acquire| acquire.reason == SendReason::WithText)
        })
    }

    /// Has acquires that were not executed wait in front of all others, with the stamps that they have.
    fn wait_again(
        &mut self,
        all: &[CallId],
        reason: SendReason,
        part: Option<u64>,
        is_live: bool,
        wakers: &mut Vec<Waker>,
    ) {
        for id in all.iter().rev() {
            match self.calls.get_mut(*id) {
                Some(state @ CallState::SentAcquire { .. }) if is_live => {
                    if let CallState::SentAcquire { mut acquire, waiter, .. } =
                        std::mem::replace(state, CallState::GivenUp)
                    {
                        acquire.reason = reason;
                        acquire.part = part.unwrap_or(acquire.part);
                        *state = CallState::Queued { call: QueuedCall::Acquire(acquire), waiter };
                        self.acquires.push_front(*id);
                    }
                }
                _ => wakers.extend(self.end(*id, CallEnd::NotSent(lost()))),
            }
        }
    }

    /// Whether its caller goes on once it is answered: unless it waits for other servers, too.
    fn goes_on(&mut self, id: CallId) -> bool {
        self.waiter(id).is_some_and(|waiter| !waiter.priority.is_with_others())
    }

    /// Nothing more is answered: the stream took so many bytes and not one more. The first of those that were sent
    /// is told `first` of it, if there is something to tell.
    pub(in crate::socket) fn broken(
        &mut self,
        taken: u64,
        mut first: Option<NodeError>,
        cause: &NodeError,
    ) -> Vec<Waker> {
        let mut wakers = Vec::new();
        while let Some(SentCall { what, start, .. }) = self.sent.pop_front() {
            let ids: Vec<CallId> = match what {
                SentPart::Call(id) | SentPart::Pair(id) => vec![id],
                SentPart::Acquires(locks) => self.sent_acquires.drain(..locks).collect(),
                SentPart::Asking => continue,
            };
            let error = (start < taken).then(|| first.take().unwrap_or_else(|| cause.clone()));
            for id in ids {
                let end = match &error {
                    Some(error) => CallEnd::Unknown(error.clone()),
                    None => CallEnd::NotSent(unsent()),
                };
                #[cfg(planted_bugs)]
                let end = if planted!(AnnouncementLost) { self.announced(id, end) } else { end };
                wakers.extend(self.end(id, end));
            }
        }
        wakers
    }

    /// As if the second of two answers had come, where the first has: for the planted bug.
    #[cfg(planted_bugs)]
    fn announced(&mut self, id: CallId, end: CallEnd) -> CallEnd {
        match self.calls.get_mut(id) {
            Some(CallState::Sent { sent, first: Some(first), .. }) => {
                CallEnd::Answered { first: Some(first.clone()), value: Value::Int(-1), sent: *sent }
            }
            _ => end,
        }
    }
}

fn next_outcome(answers: &mut Result<Answers, Malformed>) -> Result<Outcome, NodeError> {
    match answers {
        Ok(answers) => answers.next()?.map_err(|error| cause::of_server(&error)),
        Err(malformed) => Err(malformed.clone().into()),
    }
}

fn unsent() -> NodeError {
    cause::unreachable(&"the connection broke before it was sent")
}

/// No more callers are woken at a time, however many there are: other tasks of their runtime run behind them.
const MOST_AT_ONCE: usize = 256;
