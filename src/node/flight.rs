//! One request on its way: from its place in the outbox to what came of it.

use std::{
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use redis::{RedisResult, Value};

use super::{
    cause,
    deadline::before,
    outbox::{Caller, Entered, Outbox, Turn},
    request::{Form, Request, packed_len},
    window::Place,
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    wire::Call,
};

/// What came of a request.
#[derive(Debug)]
pub(super) enum Landing {
    /// It was no longer wanted, and nobody took note of it.
    Unwanted,
    /// The server answered; an error is an answer too.
    Answered { value: Value, sent: Instant },
    /// It came to nothing. Whether the server acted is for the error to say.
    Failed(NodeError),
}

/// Sends `call` in one form, when its turn has come, and waits for the answer until `deadline`.
///
/// # Cancel safety
/// Dropped while it waits for its turn, the call is never sent, and the caller is told so.
pub(super) async fn fly<C: Call, K: Caller>(
    outbox: &Outbox,
    form: Form,
    call: &C,
    deadline: Instant,
    caller: &K,
) -> Landing {
    let mut redis = outbox.redis();
    let cmd = call.pack(form);
    let bytes = packed_len(&cmd);
    // Dropped after the flight, which has to tell the outbox of it before.
    let request = pin!(redis.send_packed_command(&cmd));
    let stage = Stage::New;
    let mut flight = Flight { outbox, request, bytes, form, call, deadline, caller, stage };
    let landing = std::future::poll_fn(|cx| flight.poll(cx));
    match before(outbox.clock(), deadline, landing).await {
        Some(landing) => landing,
        None => Landing::Failed(flight.abort()),
    }
}

struct Flight<'a, F, C: Call, K: Caller> {
    outbox: &'a Outbox,
    /// What hands it over and waits for the reply, while nobody else does.
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
        place: Place,
        sent: Instant,
        /// In the place of the flight's own request, if somebody else handed it over.
        elsewhere: Option<BoxFuture<'static, RedisResult<Value>>>,
    },
    Landed,
}

impl<F, C, K> Flight<'_, F, C, K>
where
    F: Future<Output = RedisResult<Value>>,
    C: Call,
    K: Caller,
{
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Landing> {
        loop {
            match &mut self.stage {
                Stage::New => {
                    if let Some(landing) = self.enter(cx) {
                        return Poll::Ready(landing);
                    }
                    if matches!(self.stage, Stage::HandedOver { .. }) {
                        return Poll::Pending;
                    }
                }
                Stage::Queued { ticket } => {
                    let turn = ready!(self.outbox.poll_turn(*ticket, cx));
                    let Turn::HandedOver(it) = turn else {
                        return Poll::Ready(Landing::Failed(self.taken_out()));
                    };
                    let (place, sent, elsewhere) = (it.place, it.sent, Some(it.reply));
                    self.stage = Stage::HandedOver { place, sent, elsewhere };
                }
                Stage::HandedOver { place, sent, elsewhere } => {
                    let (place, sent) = (*place, *sent);
                    let reply = match elsewhere {
                        Some(elsewhere) => elsewhere.as_mut().poll(cx),
                        None => self.request.as_mut().poll(cx),
                    };
                    let reply = ready!(reply);
                    return Poll::Ready(self.land(place, sent, reply));
                }
                // Whoever has landed is not polled again.
                Stage::Landed => return Poll::Pending,
            }
        }
    }

    /// Takes its place in the order; some landing if that is the end of it.
    fn enter(&mut self, cx: &mut Context<'_>) -> Option<Landing> {
        let (call, form, deadline) = (self.call, self.form, self.deadline);
        let waiting = || (Box::new(call.clone()) as Box<_>, form, deadline);
        // The text follows a digest that the server did not know.
        let again = matches!(form, Form::Text);
        let wanted = || self.caller.wants(again);
        let request = self.request.as_mut();
        match self.outbox.enter(wanted, request, self.bytes, waiting, cx) {
            Entered::Unwanted => {
                self.stage = Stage::Landed;
                Some(Landing::Unwanted)
            }
            Entered::Over => Some(Landing::Failed(self.taken_out())),
            Entered::Queued { ticket } => {
                self.stage = Stage::Queued { ticket };
                None
            }
            Entered::HandedOver { place, sent, reply } => {
                self.stage = Stage::HandedOver { place, sent, elsewhere: None };
                match reply {
                    Poll::Ready(reply) => Some(self.land(place, sent, reply)),
                    Poll::Pending => None,
                }
            }
        }
    }

    fn land(&mut self, place: Place, sent: Instant, reply: RedisResult<Value>) -> Landing {
        self.stage = Stage::Landed;
        let error = match reply {
            Ok(value) => {
                self.outbox.answered(place);
                return Landing::Answered { value, sent };
            }
            Err(error) => cause::of_redis(error),
        };
        let never_left = self.outbox.broken(place);
        if never_left && matches!(error, NodeError::Disconnected { .. }) {
            self.caller.never_left();
            return Landing::Failed(cause::unreachable(&"the connection broke before it was sent"));
        }
        Landing::Failed(error)
    }
}

impl<F, C: Call, K: Caller> Flight<'_, F, C, K> {
    /// It will not be sent: the outbox has ended, or had no room in time.
    fn taken_out(&mut self) -> NodeError {
        self.stage = Stage::Landed;
        self.caller.never_left();
        if self.outbox.is_live() {
            NodeError::TimedOut { phase: Phase::Sending }
        } else {
            cause::unreachable(&"the connection has just been lost")
        }
    }

    /// Nobody waits for it any more.
    fn abort(&mut self) -> NodeError {
        match std::mem::replace(&mut self.stage, Stage::Landed) {
            Stage::Queued { ticket } if self.outbox.leave(ticket) => return self.taken_out(),
            Stage::HandedOver { place, .. } => self.outbox.given_up(place),
            Stage::New | Stage::Queued { .. } | Stage::Landed => {}
        }
        NodeError::TimedOut { phase: Phase::Answering }
    }
}

impl<F, C: Call, K: Caller> Drop for Flight<'_, F, C, K> {
    fn drop(&mut self) {
        let _nobody_asks = self.abort();
    }
}
