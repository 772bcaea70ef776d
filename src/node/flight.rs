//! One call on its way: through the outbox to the server, and back with what came of it.

use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
    time::Duration,
};

use redis::{Cmd, Value};

use super::{
    caller::Caller,
    deadline::before,
    outbox::{Entered, Fate, Outbox, Ticket, lost},
    request::{AnyCall, Form},
    spin::Spinner,
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
    hurry: Option<Hurry<'_>>,
    form: Form,
    call: &C,
    deadline: Instant,
    caller: &K,
) -> Landing {
    let stage = Stage::New(call.pack(form));
    // The text is sent only after a digest that the server did not know.
    let is_again = matches!(form, Form::Text);
    let mut flight = Flight { outbox, is_again, deadline, caller, stage };
    if let Some(hurry) = hurry
        && let Some(landing) = flight.spin(hurry).await
    {
        return landing;
    }
    let landing = poll_fn(|cx| flight.poll(cx));
    match before(outbox.clock(), deadline, landing).await {
        Some(landing) => landing,
        None => Landing::Failed(flight.abort()),
    }
}

/// For a caller who would rather look again than sleep.
#[derive(Clone, Copy)]
pub(super) struct Hurry<'a> {
    pub(super) spinner: &'a Spinner,
    /// What an answer usually takes.
    pub(super) round_trip: Duration,
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

    /// Looks for the answer again and again, and lets the runtime go round in between: it reads the
    /// socket each time. `None` if the call does not come alone, or the answer not in time.
    async fn spin(&mut self, hurry: Hurry<'_>) -> Option<Landing> {
        let (clock, Hurry { spinner, round_trip }) = (self.outbox.clock(), hurry);
        let mut landing = poll_once(|cx| self.poll(cx)).await;
        if landing.is_some() || !self.outbox.has_one_call() {
            return landing;
        }
        let since = clock.now();
        let until = spinner.until(since, round_trip)?;
        loop {
            tokio::task::yield_now().await;
            landing = poll_once(|cx| self.poll(cx)).await;
            let now = clock.now();
            if landing.is_some() || now >= until {
                spinner.note(landing.is_some(), since, now);
                return landing;
            }
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

/// What one poll gives.
async fn poll_once<T>(mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>) -> Option<T> {
    poll_fn(|cx| match poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}
