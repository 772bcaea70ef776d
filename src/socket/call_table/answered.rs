//! What comes of what was sent: each call is answered in its turn, or the stream breaks.
//!
//! # Invariants
//! - Each lock of a call of several gets its own outcome. What is refused for one command is so for its lock alone.
//! - A call that was refused as a whole has executed nothing. Its acquires wait again, but for those
//!   that were given up: their releases may have left already, and would be overtaken.

use std::{collections::VecDeque, task::Waker};

use redis::Value;

use super::{
    CallId, CallTable, QueuedCall, UnansweredCall,
    call::{AcquireAnswer, CallEnd, CallState, SentCall, SentPart},
    lost,
};
use crate::{
    clock::Instant,
    error::NodeError,
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

/// The answer to a call with acquires, and when it was asked for and given.
struct AcquireReply {
    value: Value,
    sent: Instant,
    received: Instant,
    /// Whether anything more can be sent on this socket.
    is_live: bool,
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
                    let received = clocks.now();
                    self.last_round_trip = received.saturating_since(sent);
                    let reply = AcquireReply { value, sent, received, is_live };
                    if let Some(server_us) = self.answer_acquires(all, reply, &mut wakers) {
                        clocks.observe(Sample { sent, received, server_us });
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
        if let Some(CallState::Sent { call: UnansweredCall::Command { first }, .. }) =
            self.calls.get_mut(id)
        {
            *first = Some(value);
        }
    }

    /// The last answer, or the only one.
    fn answer(&mut self, id: CallId, value: Value) -> Option<Waker> {
        let Some(CallState::Sent { sent, call: UnansweredCall::Command { first }, .. }) =
            self.calls.get_mut(id)
        else {
            self.calls.try_remove(id);
            return None;
        };
        let (sent, first) = (*sent, first.take());
        self.end(id, CallEnd::Answered { first, value, sent })
    }

    /// Hands the answer to all acquires of a call, or has them wait again. The server's time, if it told it.
    fn answer_acquires(
        &mut self,
        all: Vec<CallId>,
        reply: AcquireReply,
        wakers: &mut Vec<Waker>,
    ) -> Option<i64> {
        if let Value::ServerError(error) = &reply.value {
            self.refused(all, &cause::of_server(error), &reply, wakers);
            return None;
        }
        let AcquireReply { value, sent, received, .. } = reply;
        let source =
            all.iter().find_map(|id| Some(self.calls.get_mut(*id)?.acquire()?.source.clone()));
        let Some(source) = source else {
            all.into_iter().for_each(|id| drop(self.calls.try_remove(id)));
            return None;
        };
        let locks = all.len();
        let mut answers = source.acquire().answers(value, locks);
        let told = answers.as_ref().ok().map(|answers| answers.server_time);
        if let Ok(answers) = &mut answers
            && locks > 1
            && planted!(BatchOutcomesShifted)
        {
            let _of_another = answers.next();
        }
        let sent = if planted!(ValidityFromTheAnswer) { received } else { sent };
        let server_time = told.unwrap_or(i64::MIN);
        for id in all {
            let outcome = next_outcome(&mut answers);
            wakers.extend(self.tell(id, outcome, sent, received, server_time));
        }
        told
    }

    fn tell(
        &mut self,
        id: CallId,
        outcome: Result<Outcome, NodeError>,
        sent: Instant,
        received: Instant,
        server_time: i64,
    ) -> Option<Waker> {
        let stamp = self.calls.get_mut(id).and_then(|call| call.acquire()?.stamp);
        let not_after = stamp.unwrap_or(i64::MIN);
        let answer = AcquireAnswer { outcome, not_after, sent, received, server_time };
        self.end(id, CallEnd::Acquired(answer))
    }

    /// The server refused a call as a whole.
    fn refused(
        &mut self,
        mut all: Vec<CallId>,
        error: &NodeError,
        reply: &AcquireReply,
        wakers: &mut Vec<Waker>,
    ) {
        let may_be_one = error.may_concern_one_key();
        if error.is_noscript() && !self.has_text(&all) {
            self.wait_again(&all, SendReason::WithText, None, reply, wakers);
        } else if all.len() > 1 && error.is_crossslot() && !self.rules.by_slot {
            self.rules.by_slot = true;
            self.wait_again(&all, SendReason::Regrouped, Some(0), reply, wakers);
        } else if all.len() > 1 && may_be_one {
            let rest = all.split_off(all.len() / 2);
            // What is put in front last is sent first.
            for half in [rest, all] {
                self.parts += 1;
                self.wait_again(&half, SendReason::Regrouped, Some(self.parts), reply, wakers);
            }
        } else {
            for id in all {
                let acquire = self.calls.get_mut(id).and_then(CallState::acquire);
                if let (true, Some(acquire)) = (may_be_one, acquire) {
                    self.rules.loners.note(acquire.source.acquire(), reply.received);
                }
                let outcome = Err(error.clone());
                wakers.extend(self.tell(id, outcome, reply.sent, reply.received, i64::MIN));
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
        reply: &AcquireReply,
        wakers: &mut Vec<Waker>,
    ) {
        for id in all.iter().rev() {
            match self.calls.get_mut(*id) {
                Some(state @ CallState::Sent { .. }) if reply.is_live => {
                    if let CallState::Sent { call, waiter, .. } =
                        std::mem::replace(state, CallState::GivenUp)
                        && let UnansweredCall::Acquire { mut acquire, .. } = call
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
            Some(CallState::Sent {
                sent,
                call: UnansweredCall::Command { first: Some(first) },
                ..
            }) => {
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
