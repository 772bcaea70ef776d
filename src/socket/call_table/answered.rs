//! What becomes of the acquires of a call when it is answered.
//!
//! # Invariants
//! - Each lock gets its own outcome. What is refused for one command is so for its lock alone.
//! - A call that was refused as a whole has executed nothing. Its acquires wait again, but for those
//!   that were given up: their releases may have left already, and would be overtaken.

use std::task::Waker;

use redis::Value;

use super::{AcquireAnswered, CallEnd, CallId, CallState, CallTable, lost};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::cause,
    socket::acquire_source::SendReason,
    wire::{Answers, Malformed, Outcome},
};

/// The answer to a call with acquires, and when it was asked for and given.
pub(in crate::socket) struct AcquireReply {
    pub(in crate::socket) value: Value,
    pub(in crate::socket) sent: Instant,
    pub(in crate::socket) received: Instant,
    /// Whether anything more can be sent on this socket.
    pub(in crate::socket) is_live: bool,
}

impl CallTable {
    /// Hands the answer to so many `locks`, the first of those that are sent, or has them wait again. The
    /// server's time, if it told it.
    pub(in crate::socket) fn answer_acquires(
        &mut self,
        locks: usize,
        reply: AcquireReply,
        wakers: &mut Vec<Waker>,
    ) -> Option<i64> {
        let all: Vec<CallId> =
            self.sent_acquires.drain(..locks.min(self.sent_acquires.len())).collect();
        if let Value::ServerError(error) = &reply.value {
            self.refused(all, &cause::of_server(error), &reply, wakers);
            return None;
        }
        let AcquireReply { value, sent, received, .. } = reply;
        let source = all.iter().find_map(|ticket| match self.calls.get(*ticket) {
            Some(CallState::Acquire(queued)) => Some(queued.source.clone()),
            _ => None,
        });
        let Some(source) = source else {
            all.into_iter().for_each(|ticket| drop(self.calls.try_remove(ticket)));
            return None;
        };
        let mut answers = source.acquire().answers(value, locks);
        let server_time = answers.as_ref().ok().map(|answers| answers.server_time);
        if let Ok(answers) = &mut answers
            && locks > 1
            && planted!(BatchOutcomesShifted)
        {
            let _of_another = answers.next();
        }
        let sent = if planted!(ValidityFromTheAnswer) { received } else { sent };
        for ticket in all {
            let said = (next_outcome(&mut answers), server_time.unwrap_or(i64::MIN));
            wakers.extend(self.tell(ticket, said, sent, received));
        }
        server_time
    }

    fn tell(
        &mut self,
        ticket: CallId,
        (outcome, server_time): (Result<Outcome, NodeError>, i64),
        sent: Instant,
        received: Instant,
    ) -> Option<Waker> {
        let not_after = match self.calls.get(ticket) {
            Some(CallState::Acquire(queued)) => queued.stamp.unwrap_or(i64::MIN),
            _ => i64::MIN,
        };
        let acquired = AcquireAnswered { outcome, not_after, sent, received, server_time };
        self.decide(ticket, CallEnd::Acquired(acquired))
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
            for ticket in all {
                if let (true, Some(CallState::Acquire(queued))) =
                    (may_be_one, self.calls.get(ticket))
                {
                    self.rules.loners.note(queued.source.acquire(), reply.received);
                }
                let said = (Err(error.clone()), i64::MIN);
                wakers.extend(self.tell(ticket, said, reply.sent, reply.received));
            }
        }
    }

    fn has_text(&self, all: &[CallId]) -> bool {
        all.iter().any(|ticket| match self.calls.get(*ticket) {
            Some(CallState::Acquire(queued)) => queued.reason == SendReason::WithText,
            _ => false,
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
        for ticket in all.iter().rev() {
            match self.calls.get_mut(*ticket) {
                Some(CallState::Acquire(queued)) if reply.is_live => {
                    (queued.reason, queued.flight) = (reason, None);
                    queued.part = part.unwrap_or(queued.part);
                    self.acquires.push_front(*ticket);
                }
                _ => wakers.extend(self.decide(*ticket, CallEnd::NotSent(lost()))),
            }
        }
    }
}

fn next_outcome(answers: &mut Result<Answers, Malformed>) -> Result<Outcome, NodeError> {
    match answers {
        Ok(answers) => answers.next()?.map_err(|error| cause::of_server(&error)),
        Err(malformed) => Err(malformed.clone().into()),
    }
}
