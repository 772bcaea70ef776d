//! One call on its way: through the outbox to the server, and back with what came of it.

use std::task::{Context, Poll, ready};

use redis::{Cmd, Value};

use super::{
    caller::Caller,
    deadline::before,
    outbox::{Entered, Fate, Outbox, Ticket, lost},
    request::{AnyCall, Form},
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
};

/// What came of a call.
#[derive(Debug)]
pub(super) enum Landing {
    /// Its caller no longer wanted it. It was not sent.
    Unwanted,
    /// The server answered. An error of the server is an answer, too.
    Answered { value: Value, sent: Instant },
    /// There was no answer. The error says whether the call may have been executed.
    Failed(NodeError),
}

/// Sends `call` in its turn, in one form, and waits for the answer until `deadline`.
///
/// # Cancel safety
/// If the future is dropped while the call waits for its turn, the call is never sent, and
/// [`Caller::never_left`] is called.
pub(super) async fn fly<C: AnyCall, K: Caller>(
    outbox: &Outbox,
    form: Form,
    call: &C,
    deadline: Instant,
    caller: &K,
) -> Landing {
    let stage = Stage::New(call.pack(form));
    // The text is sent only after a digest that the server did not know.
    let is_again = matches!(form, Form::Text);
    let mut flight = Flight { outbox, is_again, deadline, caller, stage };
    let landing = std::future::poll_fn(|cx| flight.poll(cx));
    match before(outbox.clock(), deadline, landing).await {
        Some(landing) => landing,
        None => Landing::Failed(flight.abort()),
    }
}

/// A call from its start to its end.
struct Flight<'a, K: Caller> {
    outbox: &'a Outbox,
    is_again: bool,
    deadline: Instant,
    caller: &'a K,
    stage: Stage,
}

enum Stage {
    New(Cmd),
    Entered(Ticket),
    Landed,
}

impl<K: Caller> Flight<'_, K> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Landing> {
        match std::mem::replace(&mut self.stage, Stage::Landed) {
            Stage::New(cmd) => {
                let wanted = || self.caller.wants(self.is_again);
                match self.outbox.enter(wanted, cmd, self.deadline, cx.waker()) {
                    Entered::Unwanted => return Poll::Ready(Landing::Unwanted),
                    Entered::Over => return Poll::Ready(self.never_left(lost())),
                    Entered::Waits(ticket) => self.stage = Stage::Entered(ticket),
                }
                Poll::Pending
            }
            Stage::Entered(ticket) => {
                self.stage = Stage::Entered(ticket);
                let fate = ready!(self.outbox.poll_fate(ticket, cx));
                self.stage = Stage::Landed;
                Poll::Ready(match fate {
                    Fate::Answered { value, sent } => Landing::Answered { value, sent },
                    Fate::Unknown(error) => Landing::Failed(error),
                    Fate::NeverLeft(error) => self.never_left(error),
                })
            }
            // A flight that has landed is not polled again.
            Stage::Landed => Poll::Pending,
        }
    }

    fn never_left(&self, error: NodeError) -> Landing {
        self.caller.never_left();
        Landing::Failed(error)
    }

    /// Ends the flight without an answer, because nobody waits for one any more.
    fn abort(&mut self) -> NodeError {
        if let Stage::Entered(ticket) = std::mem::replace(&mut self.stage, Stage::Landed)
            && self.outbox.leave(ticket)
        {
            self.caller.never_left();
            return NodeError::TimedOut { phase: Phase::Sending };
        }
        NodeError::TimedOut { phase: Phase::Answering }
    }
}

impl<K: Caller> Drop for Flight<'_, K> {
    fn drop(&mut self) {
        let _nobody_asks = self.abort();
    }
}
