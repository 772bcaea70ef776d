//! One call on its way: through the outbox to the server, and back with what came of it.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use redis::{RedisResult, Value};

use super::{
    caller::Caller,
    cause,
    deadline::before,
    outbox::{ConnectionEnd, Dequeued, Entered, Outbox},
    request::{AnyCall, Form, packed_len},
    window::Position,
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
pub(super) async fn fly<C: AnyCall + Clone + 'static, K: Caller>(
    outbox: &Outbox,
    form: Form,
    call: &C,
    deadline: Instant,
    caller: &K,
) -> Landing {
    let mut redis = outbox.redis();
    let cmd = call.pack(form);
    let bytes = packed_len(&cmd);
    // Declared before the flight, and so dropped after it: the outbox must hear of it first.
    let request = pin!(redis.send_packed_command(&cmd));
    let stage = Stage::New;
    let mut flight = Flight { outbox, request, bytes, form, call, deadline, caller, stage };
    let landing = std::future::poll_fn(|cx| flight.poll(cx));
    match before(outbox.clock(), deadline, landing).await {
        Some(landing) => landing,
        None => Landing::Failed(flight.abort()),
    }
}

/// A call from its start to its end.
struct Flight<'a, F, C: AnyCall + Clone + 'static, K: Caller> {
    outbox: &'a Outbox,
    /// The future that hands the request over and waits for the reply. Not used if the call had to
    /// wait, since then the poll of another call hands it over.
    request: Pin<&'a mut F>,
    bytes: u64,
    form: Form,
    call: &'a C,
    deadline: Instant,
    caller: &'a K,
    stage: Stage,
}

enum Stage {
    New,
    Queued {
        ticket: u64,
    },
    HandedOver {
        position: Position,
        sent: Instant,
        /// The future to poll instead of `request`, if the poll of another call handed it over.
        elsewhere: Option<BoxFuture<'static, RedisResult<Value>>>,
    },
    Landed,
}

impl<F, C, K> Flight<'_, F, C, K>
where
    F: Future<Output = RedisResult<Value>>,
    C: AnyCall + Clone + 'static,
    K: Caller,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Landing> {
        loop {
            match &mut self.stage {
                Stage::New => {
                    let (call, form, deadline, caller) =
                        (self.call, self.form, self.deadline, self.caller);
                    // The text is sent only after a digest that the server did not know.
                    let wanted = || caller.wants(matches!(form, Form::Text));
                    let waiting = || (Box::new(call.clone()) as Box<_>, form);
                    let (outbox, request) = (self.outbox, self.request.as_mut());
                    match outbox.enter(wanted, request, self.bytes, deadline, waiting, cx) {
                        Entered::Unwanted => {
                            self.stage = Stage::Landed;
                            return Poll::Ready(Landing::Unwanted);
                        }
                        Entered::Over => return Poll::Ready(Landing::Failed(self.taken_out())),
                        Entered::Queued { ticket } => self.stage = Stage::Queued { ticket },
                        Entered::HandedOver { position, sent, reply } => {
                            self.stage = Stage::HandedOver { position, sent, elsewhere: None };
                            return reply.map(|reply| self.land(position, sent, reply));
                        }
                    }
                }
                Stage::Queued { ticket } => {
                    let dequeued = ready!(self.outbox.poll_dequeued(*ticket, cx));
                    let Dequeued::HandedOver(it) = dequeued else {
                        return Poll::Ready(Landing::Failed(self.taken_out()));
                    };
                    let (position, sent, elsewhere) = (it.position, it.sent, Some(it.reply));
                    self.stage = Stage::HandedOver { position, sent, elsewhere };
                }
                Stage::HandedOver { position, sent, elsewhere } => {
                    let (position, sent) = (*position, *sent);
                    let reply = match elsewhere {
                        Some(elsewhere) => elsewhere.as_mut().poll(cx),
                        None => self.request.as_mut().poll(cx),
                    };
                    let reply = ready!(reply);
                    return Poll::Ready(self.land(position, sent, reply));
                }
                // A flight that has landed is not polled again.
                Stage::Landed => return Poll::Pending,
            }
        }
    }

    fn land(&mut self, position: Position, sent: Instant, reply: RedisResult<Value>) -> Landing {
        self.stage = Stage::Landed;
        let error = match reply {
            Ok(value) => {
                self.outbox.settle(|window, taken| window.answered(position, taken));
                return Landing::Answered { value, sent };
            }
            Err(error) => cause::of_redis(error),
        };
        let is_broken = matches!(error, NodeError::Disconnected { .. });
        if is_broken {
            // The caller may go on with the next socket, and must not be given this one again. Its
            // driver ends by itself, but perhaps not before that.
            self.outbox.end(ConnectionEnd::Lost);
        }
        let never_left = self.outbox.settle(|window, taken| window.broken(position, taken));
        if never_left && is_broken {
            self.caller.never_left();
            return Landing::Failed(cause::unreachable(&"the connection broke before it was sent"));
        }
        Landing::Failed(error)
    }
}

impl<F, C: AnyCall + Clone + 'static, K: Caller> Flight<'_, F, C, K> {
    /// The call will not be sent: the outbox has ended, or had no room in time.
    fn taken_out(&mut self) -> NodeError {
        self.stage = Stage::Landed;
        self.caller.never_left();
        if self.outbox.is_live() {
            NodeError::TimedOut { phase: Phase::Sending }
        } else {
            cause::unreachable(&"the connection has just been lost")
        }
    }

    /// Ends the flight without an answer, because nobody waits for one any more.
    fn abort(&mut self) -> NodeError {
        match std::mem::replace(&mut self.stage, Stage::Landed) {
            Stage::Queued { ticket } if self.outbox.leave(ticket) => return self.taken_out(),
            Stage::HandedOver { position, .. } => self.outbox.given_up(position),
            Stage::New | Stage::Queued { .. } | Stage::Landed => {}
        }
        NodeError::TimedOut { phase: Phase::Answering }
    }
}

impl<F, C: AnyCall + Clone + 'static, K: Caller> Drop for Flight<'_, F, C, K> {
    fn drop(&mut self) {
        let _nobody_asks = self.abort();
    }
}
