//! The one sender of a link: what leaves through it leaves in the order in which it came.
//!
//! The handshake is over before there is an outbox; from then on nothing else touches redis-rs's
//! sender. While there is room in its queue, a call is handed over by its caller's own poll. Beyond
//! that, calls wait here as what they say, with their deadlines, and whoever is answered hands over
//! the next: redis-rs would take them in the order in which their tasks happen to be polled.
//!
//! # Invariants
//! - A call takes its place in the order, and its caller takes note of it, in one step. Whoever sees
//!   the note and enters another call on this socket is behind it.
//! - redis-rs has room for whatever is handed over, so that the first poll of its future hands it
//!   over. No cooperative budget of tokio can be in the way: that poll is made without one.
//! - Nothing waits while there is room, and nothing overtakes what waits.
//! - Once the outbox has ended it stays so, nothing waits, and nothing more is sent.
//!
//! # Deadlock safety
//! The order's mutex is taken first, and then whatever [`Caller::wants`] takes: nobody may enter,
//! drop or poll a call while holding that. Wakers run, and are dropped, after it was let go: a
//! waker may be the last owner of a task with a call in it.

use std::{
    collections::BTreeMap,
    fmt,
    pin::{Pin, pin},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
};

use futures::{FutureExt, future::BoxFuture};
use redis::{RedisResult, Value, aio::MultiplexedConnection};
use tokio::sync::Notify;

use super::{
    request::{Form, Request, packed_len},
    silence::Traffic,
    window::{Place, Window},
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
};

/// Whoever wants a call to be made.
pub(crate) trait Caller: Sync {
    /// Asked when the call takes its place in the order of its socket: whether it is still wanted.
    /// If so, the caller takes note that it may be executed from now on. What is entered later on
    /// the same socket is executed later.
    ///
    /// Asked once more, `again`, before the script's text follows a digest that the server did not
    /// know: it is the same call, and was not executed.
    ///
    /// # Deadlock safety
    /// Called with the outbox locked: it must not make, drop or poll a call.
    fn wants(&self, _again: bool) -> bool {
        true
    }

    /// The call of which note was taken has not left, and never will.
    fn never_left(&self) {}
}

/// Whose calls are always wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Always;

impl Caller for Always {}

/// Why nothing more is sent.
#[derive(Debug, Clone)]
pub(super) enum ConnectionEnd {
    /// The socket broke or its runtime ended: making another may well succeed at once.
    Lost,
    /// The server is there and of no use.
    Unusable(NodeError),
}

pub(super) struct Outbox {
    redis: MultiplexedConnection,
    clock: SharedClock,
    traffic: Arc<Traffic>,
    order: Mutex<Order>,
    over: OnceLock<ConnectionEnd>,
    replace: Notify,
}

struct Order {
    window: Window,
    tickets: u64,
    /// Calls that wait for room, by ticket.
    waiting: BTreeMap<u64, Waiting>,
    /// Calls that were handed over by others, until their callers come for them.
    handed_over: BTreeMap<u64, UnderWay>,
}

/// A call that waits for its turn.
struct Waiting {
    request: Box<dyn Request>,
    form: Form,
    deadline: Instant,
    waker: Waker,
}

/// A call that was handed over by somebody else than its caller.
pub(super) struct UnderWay {
    pub(super) reply: BoxFuture<'static, RedisResult<Value>>,
    pub(super) place: Place,
    pub(super) sent: Instant,
}

/// What becomes of a call that is entered.
pub(super) enum Entered {
    Unwanted,
    /// The outbox has ended; note of the call was taken.
    Over,
    /// It was handed over, and may even be answered.
    HandedOver {
        place: Place,
        sent: Instant,
        reply: Poll<RedisResult<Value>>,
    },
    /// It waits.
    Queued {
        ticket: u64,
    },
}

/// What became of a call that waited.
pub(super) enum Turn {
    HandedOver(UnderWay),
    /// It was taken out: the outbox has ended, or its time was up.
    TakenOut,
}

impl Outbox {
    pub(super) fn new(
        redis: MultiplexedConnection,
        clock: SharedClock,
        traffic: Arc<Traffic>,
    ) -> Self {
        let order = Order {
            window: Window::new(traffic.taken()),
            tickets: 0,
            waiting: BTreeMap::new(),
            handed_over: BTreeMap::new(),
        };
        let (over, replace) = (OnceLock::new(), Notify::new());
        Self { redis, clock, traffic, order: Mutex::new(order), over, replace }
    }

    pub(super) fn redis(&self) -> MultiplexedConnection {
        self.redis.clone()
    }

    pub(super) fn clock(&self) -> &SharedClock {
        &self.clock
    }

    pub(super) fn is_live(&self) -> bool {
        self.over.get().is_none()
    }

    /// Sends nothing more. What waits is taken out; what was handed over goes on.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        if self.over.set(ending).is_ok() {
            let waiting = std::mem::take(&mut self.order().waiting);
            self.replace.notify_one();
            waiting.into_values().for_each(|call| call.waker.wake());
        }
    }

    /// Completes once somebody has ended it.
    pub(super) async fn ended(&self) -> ConnectionEnd {
        loop {
            if let Some(ending) = self.over.get() {
                return ending.clone();
            }
            self.replace.notified().await;
        }
    }

    /// Gives a call its place in the order: hands over `reply`, a request of so many `bytes`, or
    /// puts what `waiting` makes of it at the end of the queue.
    pub(super) fn enter(
        &self,
        wanted: impl FnOnce() -> bool,
        reply: Pin<&mut impl Future<Output = RedisResult<Value>>>,
        bytes: u64,
        waiting: impl FnOnce() -> (Box<dyn Request>, Form, Instant),
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
            let place = order.window.start(bytes);
            let sent = self.clock.now();
            return Entered::HandedOver { place, sent, reply: hand_over(reply, cx) };
        }
        let (request, form, deadline) = waiting();
        let ticket = order.tickets;
        order.tickets += 1;
        let waker = cx.waker().clone();
        order.waiting.insert(ticket, Waiting { request, form, deadline, waker });
        drop(order);
        self.look_for_clog();
        Entered::Queued { ticket }
    }

    /// What has become of a call that waits.
    pub(super) fn poll_turn(&self, ticket: u64, cx: &mut Context<'_>) -> Poll<Turn> {
        let mut order = self.order();
        if let Some(under_way) = order.handed_over.remove(&ticket) {
            return Poll::Ready(Turn::HandedOver(under_way));
        }
        let Some(call) = order.waiting.get_mut(&ticket) else {
            return Poll::Ready(Turn::TakenOut);
        };
        if !call.waker.will_wake(cx.waker()) {
            let before = std::mem::replace(&mut call.waker, cx.waker().clone());
            drop(order);
            drop(before);
        }
        Poll::Pending
    }

    /// The caller of a call that waits is going. True if the call has not left, and never will.
    pub(super) fn leave(&self, ticket: u64) -> bool {
        let mut order = self.order();
        let waiting = order.waiting.remove(&ticket);
        let handed_over = order.handed_over.remove(&ticket);
        drop(order);
        let Some(under_way) = handed_over else {
            // Its waker goes here, outside of the lock.
            drop(waiting);
            return true;
        };
        self.given_up(under_way.place);
        false
    }

    /// It was answered.
    pub(super) fn answered(&self, place: Place) {
        self.settle(|window, taken| window.answered(place, taken));
    }

    /// Its caller is going; to be told before the future of the request is dropped.
    pub(super) fn given_up(&self, place: Place) {
        self.settle(|window, taken| window.given_up(place, taken));
        self.look_for_clog();
    }

    /// The connection broke under it. True if it has not left, and never will.
    pub(super) fn broken(&self, place: Place) -> bool {
        self.settle(|window, taken| window.broken(place, taken))
    }

    /// Takes note of what became of a request, and hands over what there is room for then.
    fn settle<T>(&self, note: impl FnOnce(&mut Window, u64) -> T) -> T {
        let mut order = self.order();
        let noted = note(&mut order.window, self.traffic.taken());
        let mut next = self.hand_over_next(&mut order);
        drop(order);
        while let Some(waker) = next {
            waker.wake();
            next = self.hand_over_next(&mut self.order());
        }
        noted
    }

    /// Hands over the call that has waited longest, if there is room, and returns whom to wake.
    fn hand_over_next(&self, order: &mut Order) -> Option<Waker> {
        if !order.window.has_room() {
            return None;
        }
        let (ticket, call) = order.waiting.pop_first()?;
        let sent = self.clock.now();
        // Nobody would wait for the answer.
        if sent < call.deadline {
            let cmd = call.request.pack(call.form);
            let place = order.window.start(packed_len(&cmd));
            let mut redis = self.redis.clone();
            let mut reply = async move { redis.send_packed_command(&cmd).await }.boxed();
            // Whoever comes for it polls it again, and is woken for that.
            let at_once = hand_over(reply.as_mut(), &mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(output) = at_once {
                reply = std::future::ready(output).boxed();
            }
            order.handed_over.insert(ticket, UnderWay { reply, place, sent });
        }
        Some(call.waker)
    }

    /// Nobody is left whose answer could make room for those who wait: another socket has it.
    fn look_for_clog(&self) {
        let is_clogged = self.order().window.is_clogged();
        if is_clogged {
            self.end(ConnectionEnd::Lost);
        }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first poll of a request's future. A task that has used up its budget would be told to come
/// back later, although there is room.
fn hand_over<F: Future + ?Sized>(request: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
    pin!(tokio::task::unconstrained(request)).poll(cx)
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order();
        f.debug_struct("Outbox")
            .field("window", &order.window)
            .field("waiting", &order.waiting.len())
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}
