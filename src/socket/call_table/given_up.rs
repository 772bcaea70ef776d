//! A call that is not waited for any more.

use super::{
    CallId, CallTable, GivenUp, QueuedCall,
    call::{CallEnd, CallState, SentCall},
};
use crate::error::Phase;

impl CallTable {
    /// Gives up a call, whose id is void then; with what is to be dropped once nothing is locked: it may have a
    /// waker. One that was not taken will never be sent.
    pub(in crate::socket) fn give_up(&mut self, id: CallId) -> (GivenUp, impl Sized + use<>) {
        let given_up = match self.calls.get_mut(id) {
            Some(CallState::Queued { call: QueuedCall::Command { .. }, .. }) => unsent(true),
            Some(CallState::Queued { call: QueuedCall::Acquire(acquire), .. }) => {
                acquire.was_not_sent();
                // A caller that is asked beside others was not sent for want of time: the server may
                // be there.
                let is_alone = acquire.unsent_until.is_none();
                unsent(is_alone && is_first(self.sent.front_mut()))
            }
            Some(CallState::Sent { .. }) => sent(true),
            Some(CallState::SentAcquire { number, .. }) => {
                let oldest = self.taken - self.sent.len() as u64;
                let at = usize::try_from(*number - oldest).unwrap_or(usize::MAX);
                sent(is_first(self.sent.get_mut(at)))
            }
            _ => {
                let end = self.take_end(id);
                let is_unsent = end.as_ref().is_some_and(CallEnd::was_not_executed);
                let given_up = if is_unsent { unsent(false) } else { sent(true) };
                return (given_up, end.map(CallState::Ended));
            }
        };
        if planted!(WithdrawnAfterNoscript) && given_up.phase == Phase::Answering {
            return (given_up, None);
        }
        let state = self.calls.get_mut(id);
        (given_up, state.map(|state| std::mem::replace(state, CallState::GivenUp)))
    }
}

fn unsent(counts: bool) -> GivenUp {
    GivenUp { phase: Phase::Sending, counts }
}

fn sent(counts: bool) -> GivenUp {
    GivenUp { phase: Phase::Answering, counts }
}

/// Whether no caller of this call was late before.
fn is_first(call: Option<&mut SentCall>) -> bool {
    call.is_some_and(|call| !std::mem::replace(&mut call.is_late, true))
}
