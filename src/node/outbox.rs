//! The one sender of a link: calls leave in the order in which they enter.
//!
//! The outbox begins after the handshake; from then on nothing else sends on the socket. redis-rs
//! has a queue of limited length in front of it. While that has room, a call is handed over to
//! redis-rs by the poll of its own caller. When it is full, calls wait here, unpacked and with their
//! deadlines, and every answer that makes room hands over the next one. They do not wait inside of
//! redis-rs: there the order would be the one in which their tasks happen to be polled.
//!
//! # Invariants
//! - A call gets its position in the order and its caller notes that it may be executed in one step,
//!   under the lock. Whoever sees that note and enters a call on this socket comes after it.
//! - Calls are handed over only while redis-rs's queue has room, so the first poll of a request's
//!   future puts it there. That poll is made without tokio's cooperative budget, which could
//!   otherwise send it away in spite of the room.
//! - No call waits while there is room, and no call overtakes one that waits.
//! - Once the outbox has ended it stays so: nothing waits, and nothing more is sent.
//!
//! # Deadlock safety
//! The mutex of the order is locked first, and then whatever [`Caller::wants`](super::Caller::wants) locks. So nobody may
//! enter, drop or poll a call while holding one of those. Wakers are woken and dropped after the
//! mutex was unlocked: a waker may be the last owner of a task, and that task may own a call.

use std::{
    collections::BTreeMap,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::sync::Notify;

use super::{
    NodeSettings,
    request::{AnyCall, Form, packed_len},
    silence::Traffic,
    window::{Position, Window},
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
};

/// Why a connection has ended.
#[derive(Debug, Clone)]
pub(super) enum ConnectionEnd {
    /// The socket broke or its runtime ended: making another may well succeed at once.
    Lost,
    /// The server is there, but cannot be used now.
    Unusable(NodeError),
}

pub(super) struct Outbox {
    redis: MultiplexedConnection,
    clock: SharedClock,
    traffic: Arc<Traffic>,
    order: Mutex<Order>,
    ending: OnceLock<ConnectionEnd>,
    /// Notified when it has ended.
    ended: Notify,
    /// Notified when a call goes out where nothing was heard for `quiet_after`.
    quiet: Notify,
    quiet_after: Duration,
}

struct Order {
    window: Window,
    tickets: u64,
    /// Calls that wait for room, by ticket.
    waiting: BTreeMap<u64, WaitingCall>,
    /// Calls that were handed over by the poll of another call, until their callers fetch them.
    handed_over: BTreeMap<u64, UnderWay>,
}

/// A call that waits for room.
struct WaitingCall {
    call: Box<dyn AnyCall>,
    form: Form,
    deadline: Instant,
    waker: Waker,
}

/// A call that was handed over to redis-rs by the poll of another call.
pub(super) struct UnderWay {
    pub(super) reply: BoxFuture<'static, RedisResult<Value>>,
    pub(super) position: Position,
    pub(super) sent: Instant,
}

/// What has become of a call that entered.
pub(super) enum Entered {
    Unwanted,
    /// The outbox has ended, or the call's deadline was over; the caller has noted it all the same.
    Over,
    /// It was handed over to redis-rs, and may already have its reply.
    HandedOver {
        position: Position,
        sent: Instant,
        reply: Poll<RedisResult<Value>>,
    },
    /// It waits for room.
    Queued {
        ticket: u64,
    },
}

/// Why a call waits no longer.
pub(super) enum Dequeued {
    HandedOver(UnderWay),
    /// It will not be sent: the outbox has ended, or the call's deadline was over.
    TakenOut,
}

impl Outbox {
    pub(super) fn new(
        redis: MultiplexedConnection,
        traffic: Arc<Traffic>,
        settings: &NodeSettings,
    ) -> Self {
        let order = Order {
            window: Window::new(traffic.taken()),
            tickets: 0,
            waiting: BTreeMap::new(),
            handed_over: BTreeMap::new(),
        };
        Self {
            redis,
            clock: settings.clock.clone(),
            traffic,
            order: Mutex::new(order),
            ending: OnceLock::new(),
            ended: Notify::new(),
            quiet: Notify::new(),
            quiet_after: settings.quiet_after,
        }
    }

    pub(super) fn redis(&self) -> MultiplexedConnection {
        self.redis.clone()
    }

    pub(super) fn clock(&self) -> &SharedClock {
        &self.clock
    }

    pub(super) fn is_live(&self) -> bool {
        self.ending.get().is_none()
    }

    /// Ends the outbox. Calls that wait are taken out; those that were handed over go on.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        if self.ending.set(ending).is_ok() {
            let waiting = std::mem::take(&mut self.order().waiting);
            self.ended.notify_one();
            waiting.into_values().for_each(|call| call.waker.wake());
        }
    }

    /// Completes once the outbox has ended.
    pub(super) async fn ended(&self) -> ConnectionEnd {
        loop {
            if let Some(ending) = self.ending.get() {
                return ending.clone();
            }
            self.ended.notified().await;
        }
    }

    /// Completes once a call goes out on a socket on which nothing was heard for long.
    pub(super) async fn breaks_quiet(&self) {
        self.quiet.notified().await;
    }

    /// Gives a call its position in the order. If there is room, `request`, which has so many
    /// `bytes`, is handed over; otherwise the call waits behind all others, as `waiting` makes it.
    /// After its `deadline` nobody waits for the answer, and it is not sent.
    pub(super) fn enter(
        &self,
        wanted: impl FnOnce() -> bool,
        request: Pin<&mut impl Future<Output = RedisResult<Value>>>,
        bytes: u64,
        deadline: Instant,
        waiting: impl FnOnce() -> (Box<dyn AnyCall>, Form),
        cx: &mut Context<'_>,
    ) -> Entered {
        let mut order = self.order();
        if !wanted() {
            return Entered::Unwanted;
        }
        if !self.is_live() {
            return Entered::Over;
        }
        if order.waiting.is_empty() && order.window.has_room() {
            let sent = self.clock.now();
            if sent >= deadline {
                return Entered::Over;
            }
            if self.traffic.breaks_quiet(sent, self.quiet_after) {
                self.quiet.notify_one();
            }
            let position = order.window.start(bytes);
            return Entered::HandedOver { position, sent, reply: hand_over(request, cx) };
        }
        let (call, form) = waiting();
        let ticket = order.tickets;
        order.tickets += 1;
        let waker = cx.waker().clone();
        order.waiting.insert(ticket, WaitingCall { call, form, deadline, waker });
        drop(order);
        self.end_if_clogged();
        Entered::Queued { ticket }
    }

    /// Waits until a call waits no longer.
    pub(super) fn poll_dequeued(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Dequeued> {
        let mut order = self.order();
        if let Some(under_way) = order.handed_over.remove(&ticket) {
            return Poll::Ready(Dequeued::HandedOver(under_way));
        }
        let Some(call) = order.waiting.get_mut(&ticket) else {
            return Poll::Ready(Dequeued::TakenOut);
        };
        if !call.waker.will_wake(cx.waker()) {
            let before = std::mem::replace(&mut call.waker, cx.waker().clone());
            drop(order);
            drop(before);
        }
        Poll::Pending
    }

    /// Gives up a call that may still wait. True if it has not left this machine, and never will.
    pub(super) fn leave(&self, ticket: u64) -> bool {
        let mut order = self.order();
        let waiting = order.waiting.remove(&ticket);
        let handed_over = order.handed_over.remove(&ticket);
        drop(order);
        let Some(under_way) = handed_over else {
            // Its waker is dropped here, after the lock.
            drop(waiting);
            return true;
        };
        self.given_up(under_way.position);
        false
    }

    /// The caller of the request at `position` no longer waits. To be called before the future of
    /// the request is dropped.
    pub(super) fn given_up(&self, position: Position) {
        self.settle(|window, taken| window.given_up(position, taken));
        self.end_if_clogged();
    }

    /// Notes what became of a request, by the count of bytes that the socket took, and hands over the
    /// calls that have waited longest, as many as there is room for then.
    pub(super) fn settle<T>(&self, note: impl FnOnce(&mut Window, u64) -> T) -> T {
        let mut order = self.order();
        let noted = note(&mut order.window, self.traffic.taken());
        while order.window.has_room()
            && let Some((ticket, first)) = order.waiting.pop_first()
        {
            let sent = self.clock.now();
            // After its deadline nobody waits for the answer.
            if sent < first.deadline {
                let cmd = first.call.pack(first.form);
                let position = order.window.start(packed_len(&cmd));
                let mut redis = self.redis.clone();
                let mut reply = async move { redis.send_packed_command(&cmd).await }.boxed();
                // Its caller, who is woken below, polls it again.
                let at_once = hand_over(reply.as_mut(), &mut Context::from_waker(Waker::noop()));
                if let Poll::Ready(output) = at_once {
                    reply = std::future::ready(output).boxed();
                }
                order.handed_over.insert(ticket, UnderWay { reply, position, sent });
            }
            drop(order);
            first.waker.wake();
            order = self.order();
        }
        noted
    }

    /// Ends the outbox if no answer can make room any more: the link then makes another socket.
    fn end_if_clogged(&self) {
        let is_clogged = self.order().window.is_clogged();
        if is_clogged {
            self.end(ConnectionEnd::Lost);
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first poll of a request's future, which puts the request into redis-rs's queue. Without
/// `unconstrained`, a task that has used up its budget would get `Pending` although there is room.
fn hand_over<F: Future + ?Sized>(request: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    pin!(tokio::task::unconstrained(request)).poll(cx)
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order();
        f.debug_struct("Outbox")
            .field("window", &order.window)
            .field("waiting", &order.waiting.len())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use redis::{AsyncConnectionConfig, RedisConnectionInfo};

    use super::*;
    use crate::node::{
        silence::CountedStream,
        test_server::{later, settings},
    };

    /// Whoever saw the note and entered a call between the two would not come behind it.
    #[tokio::test]
    async fn nobody_enters_while_a_caller_notes_that_it_has() {
        let (near, _far) = tokio::io::duplex(64);
        let (stream, traffic) = CountedStream::new(Box::new(near));
        let (login, config) =
            (RedisConnectionInfo::default().set_skip_set_lib_name(), AsyncConnectionConfig::new());
        let (redis, _driver) =
            MultiplexedConnection::new_with_config(&login, stream, config).await.unwrap();
        let outbox = Outbox::new(redis, traffic, &settings());
        let mut is_alone = false;
        let notes = || {
            is_alone = outbox.order.try_lock().is_err();
            false
        };
        let (request, cx) = (pin!(std::future::pending()), Context::from_waker(Waker::noop()));
        let entered = outbox.enter(notes, request, 10, later(), || unreachable!(), &mut { cx });
        assert!(matches!(entered, Entered::Unwanted) && is_alone);
    }
}
