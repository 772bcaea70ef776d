//! One call on its way: through the outbox to the server, and back with what came of it.

use std::{
    future::poll_fn,
    task::{Context, Poll, ready},
};

use super::{
    call_table::{CallEnd, CallId, CallWaiter, GivenUp, QueuedCall, lost},
    outbox::Outbox,
    priority::{CallTimeouts, Priority},
};
use crate::{
    clock::Instant,
    error::Phase,
    reach::{before, last_look},
};

/// Sends a call in its turn, and waits for what comes of it: until the `deadline`, and if there are `timeouts` for as
/// long as they say after that.
///
/// # Cancel safety
/// If the future is dropped while the call waits for its turn, the call is never sent.
pub(super) fn send_and_wait<'a>(
    outbox: &'a Outbox,
    priority: Priority,
    call: QueuedCall,
    deadline: Instant,
    timeouts: Option<CallTimeouts>,
) -> impl Future<Output = CallEnd> + Send + use<'a> {
    let wake_at = outbox.wakes_here().then_some(deadline);
    let mut call = CallFuture { outbox, wake_at, priority, deadline, stage: Stage::New(call) };
    // The future of an `async fn` would hold all this twice, as what it was given and as what it made of it.
    async move {
        loop {
            if let Some(end) = call.until_deadline().await {
                return end;
            }
            if !timeouts.as_ref().is_some_and(|timeouts| call.goes_on(timeouts)) {
                return call.give_up();
            }
        }
    }
}

/// A call from its start to its end.
struct CallFuture<'a> {
    outbox: &'a Outbox,
    /// If the outbox is to wake it then: else it needs a timer.
    wake_at: Option<Instant>,
    priority: Priority,
    deadline: Instant,
    stage: Stage,
}

enum Stage {
    New(QueuedCall),
    Entered(CallId),
    Over,
}

impl CallFuture<'_> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<CallEnd> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::New(call) => {
                let (waker, wake_at) = (cx.waker().clone(), self.wake_at);
                let waiter = CallWaiter { waker, wake_at, priority: self.priority };
                match self.outbox.enter(call, waiter) {
                    None => Poll::Ready(CallEnd::NotSent(lost())),
                    Some(id) => {
                        self.stage = Stage::Entered(id);
                        Poll::Pending
                    }
                }
            }
            Stage::Entered(id) => {
                self.stage = Stage::Entered(id);
                let end = ready!(self.outbox.poll_end(id, cx));
                self.stage = Stage::Over;
                Poll::Ready(end)
            }
            // What is over is not polled again.
            Stage::Over => Poll::Pending,
        }
    }

    /// Whether its caller waits on, after its deadline.
    fn goes_on(&mut self, timeouts: &CallTimeouts) -> bool {
        let Stage::Entered(id) = self.stage else { return false };
        let later = self.outbox.waits_until(id, timeouts);
        if later <= self.outbox.clocks.now() {
            return false;
        }
        self.deadline = later;
        if self.wake_at.is_some() {
            self.outbox.wake_later(id, later);
        }
        true
    }

    /// `None` if there is no answer by then.
    async fn until_deadline(&mut self) -> Option<CallEnd> {
        let (clock, deadline) = (self.outbox.clocks.here(), self.deadline);
        if self.wake_at.is_none() {
            return before(clock, deadline, poll_fn(|cx| self.poll(cx))).await;
        }
        let is_over = poll_fn(|cx| {
            let is_entering = matches!(self.stage, Stage::New(_));
            match self.poll(cx) {
                Poll::Ready(end) => Poll::Ready(Some(end)),
                // Reading the clock costs time, and a call that has just entered is not late.
                Poll::Pending if !is_entering && clock.now() >= deadline => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        if let Some(end) = is_over.await {
            return Some(end);
        }
        last_look(poll_fn(|cx| self.poll(cx))).await
    }

    /// Ends without an answer, because none is waited for any more.
    fn give_up(&mut self) -> CallEnd {
        CallEnd::GivenUp(match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Entered(id) => self.outbox.give_up(id),
            Stage::New(_) | Stage::Over => GivenUp { phase: Phase::Sending, counts: true },
        })
    }
}

impl Drop for CallFuture<'_> {
    fn drop(&mut self) {
        // In the child of a fork a thread that is not there may have the table.
        if let Stage::Entered(id) = self.stage
            && self.outbox.is_here()
        {
            self.outbox.give_up(id);
        }
    }
}
