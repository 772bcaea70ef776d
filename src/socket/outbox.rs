//! The order of one socket: calls leave in the order in which they enter it, and answers come back
//! in the same.
//!
//! The outbox begins after the handshake; from then on nothing else is sent on the socket. Callers
//! put their calls in and wait here; the [driver](super::driver), a task of the socket's own
//! runtime, takes them out, writes them, and puts the answers in their place. To an idle socket a caller
//! that asks several servers [writes in its own turn](super::driver_task), with the driver locked.
//!
//! Acquires wait in a lane of their own, as what they say and not as bytes: which lane is next matters where
//! there is not room for all. Few calls with acquires are under way at a time; what waits for one of them to be
//! answered leaves in one call, and each gets its own outcome. All that is in the [table](super::call_table).
//!
//! # Invariants
//! - An acquire gets its position in the order and its caller notes that it may be executed in one
//!   step, under the lock, when its bytes are made. Whoever sees that note and enters a call on this
//!   socket comes after it; what was not noted by then, and is not wanted any more, is never sent.
//! - Times are taken before the bytes are made: of the stamp, and of what the answer confirms.
//! - A call that is given up before the driver took it is not written. Of those that the driver took,
//!   it is known which byte they begin with.
//! - Once the outbox has ended it stays so: nothing enters any more, and what the driver has not taken
//!   is not sent.
//!
//! # Deadlock safety
//! The mutex of the driver is locked first, by callers only if it is free; then that of the order; then
//! that of the server's clock, or whatever an [`AcquireSource`] locks. So nobody may enter, drop or poll a call
//! while holding one of those. Wakers are woken and dropped after that of the order was unlocked: a waker
//! may be the last owner of a task, and that task may own a call.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use redis::Value;
use tokio::{
    runtime::{Handle, Id},
    sync::{Notify, oneshot},
    task::yield_now,
};

use super::{
    acquire_source::{AcquireSource, SendReason},
    call_table::{
        AcquireReply, CallEnd, CallId, CallState, CallTable, CallWaiter, GivenUp, QueuedAcquire,
        SentPart, lost,
    },
    priority::{CallTimeouts, Priority},
    request::Request,
    silence::Traffic,
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
    home::Home,
    reach::{NodeSettings, Sample, ServerClock, Size, cause},
};

/// Why a connection has ended.
#[derive(Debug, Clone)]
pub(crate) enum ConnectionEnd {
    /// The socket broke or its runtime ended: making another may well succeed at once.
    Lost,
    /// The server is there, but cannot be used now.
    Unusable(NodeError),
}

pub(crate) struct Outbox {
    clock: SharedClock,
    /// Of the server; known before the first call is entered.
    server_clock: OnceLock<Mutex<ServerClock>>,
    traffic: Traffic,
    order: Mutex<CallTable>,
    ending: OnceLock<ConnectionEnd>,
    /// Notified when it has ended.
    ended: Notify,
    /// Notified when a call goes out where nothing was heard for `quiet_after`.
    quiet: Notify,
    quiet_after: Duration,
    /// Where it was made, and is driven.
    runtime: Option<Id>,
    home: Home,
    inline_writer: OnceLock<Weak<dyn InlineWriter>>,
}

/// Writes in the turn of a caller.
pub(super) trait InlineWriter: Send + Sync {
    /// Writes all that waits. `task` is the driver's, which goes on with what there is no room for. False if it is to
    /// be woken now: it is at work, the stream has ended, or an answer that is so awaited is to be looked for.
    fn write(&self, priority: Priority, task: &Waker) -> bool;
}

/// How many callers were woken.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Woken {
    pub(super) all: usize,
    /// Of these, who goes on now: whoever does not wait for other servers, too.
    pub(super) who_go_on: usize,
}

/// What enters.
pub(super) enum NewCall {
    /// After its deadline nobody waits for the answer, and it is not sent.
    Call { request: Request, deadline: Instant },
    Acquire {
        source: Arc<dyn AcquireSource>,
        unsent_until: Option<Instant>,
        /// Whether ASKING is said before it.
        is_asking: bool,
    },
}

impl NewCall {
    /// Puts it in, and says whether it leaves before the next answer.
    fn enter(self, order: &mut CallTable, caller: CallWaiter) -> (CallId, bool) {
        match self {
            Self::Call { request, deadline } => {
                let (bytes, priority) = (request.bytes.len(), caller.priority);
                let ticket = order.calls.insert(CallState::Queued { request, deadline, caller });
                order.lanes.push(ticket, bytes, priority);
                (ticket, true)
            }
            Self::Acquire { source, unsent_until, is_asking } => {
                let behind = if source.keeps_order() { order.lanes.end() } else { 0 };
                let queued = QueuedAcquire {
                    source,
                    unsent_until,
                    reason: SendReason::First,
                    stamp: None,
                    flight: None,
                    is_asking,
                    behind,
                    part: 0,
                    caller,
                };
                let ticket = order.calls.insert(CallState::Acquire(queued));
                order.acquires.push_back(ticket);
                // Else an answer makes room for it, and the driver reads that.
                (ticket, order.acquire_calls < order.most_acquire_calls.max(1))
            }
        }
    }
}

impl Outbox {
    pub(crate) fn new(settings: &NodeSettings) -> Arc<Self> {
        let traffic = Traffic::default();
        traffic.heard(settings.clock.now());
        let mut order = CallTable::default();
        order.rules.publishing = settings.sharding.publishing();
        Arc::new(Self {
            clock: settings.clock.clone(),
            server_clock: OnceLock::new(),
            traffic,
            order: Mutex::new(order),
            ending: OnceLock::new(),
            ended: Notify::new(),
            quiet: Notify::new(),
            quiet_after: settings.quiet_after,
            runtime: Handle::try_current().ok().map(|here| here.id()),
            home: Home::here(),
            inline_writer: OnceLock::new(),
        })
    }

    /// What the handshake told of the server: its time, and whether it is one of a cluster.
    pub(super) fn introduce(&self, server_clock: ServerClock, is_in_cluster: bool) {
        let _the_first_stays = self.server_clock.set(Mutex::new(server_clock));
        self.order().rules.by_slot = is_in_cluster;
    }

    /// As if this were the child of a fork.
    #[cfg(test)]
    pub(super) fn made_elsewhere(settings: &NodeSettings) -> Arc<Self> {
        let mut outbox = Self::new(settings);
        Arc::get_mut(&mut outbox).expect("it is new").home = Home::ELSEWHERE;
        outbox
    }

    pub(super) fn set_inline_writer(&self, writer: Weak<dyn InlineWriter>) {
        let _the_first_stays = self.inline_writer.set(writer);
    }

    pub(super) fn server_clock(&self) -> Option<MutexGuard<'_, ServerClock>> {
        let server_clock = self.server_clock.get()?;
        Some(server_clock.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn clock(&self) -> &SharedClock {
        &self.clock
    }

    pub(super) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(super) fn is_live(&self) -> bool {
        self.ending.get().is_none()
    }

    /// Ends the outbox. What was not taken by the driver is not sent; what was goes on.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        if self.ending.set(ending).is_err() {
            return;
        }
        let mut order = self.order();
        let wakers = order.drop_unsent(lost);
        drop(order);
        self.ended.notify_one();
        wakers.into_iter().for_each(Waker::wake);
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

    /// Whether its driver wakes those who call from here when their time is over. Elsewhere they look
    /// after that themselves: the driver's runtime may stand still.
    pub(super) fn wakes_here(&self) -> bool {
        Handle::try_current().is_ok_and(|here| Some(here.id()) == self.runtime)
    }

    /// Whether this is the process that made it.
    pub(super) fn is_here(&self) -> bool {
        self.home.is_here()
    }

    /// Whether something waits to be packed.
    pub(super) fn has_waiting(&self) -> bool {
        self.order().has_waiting()
    }

    // keeps: one-sender
    /// Puts a call in. `None` if the outbox has ended.
    pub(super) fn enter(&self, departure: NewCall, caller: CallWaiter) -> Option<CallId> {
        let mut order = self.order();
        if !self.is_live() {
            return None;
        }
        let is_next = order.plan_wake(caller.wake_at);
        // The driver's runtime may stand still if that is another: then it is better not sent.
        let (priority, is_here) = (caller.priority, caller.wake_at.is_some());
        let is_idle = order.sent.is_empty() && !order.has_waiting();
        let (ticket, leaves) = departure.enter(&mut order, caller);
        let driver = if leaves || is_next { order.driver.take() } else { None };
        drop(order);
        if let Some(driver) = driver
            && !(is_idle && is_here && self.write_inline(priority, &driver))
        {
            driver.wake();
        }
        Some(ticket)
    }

    /// Whether all is written that waits, so that the driver need not come.
    fn write_inline(&self, priority: Priority, driver: &Waker) -> bool {
        // The child of a fork shares the socket with its parent.
        if !self.is_here() {
            return false;
        }
        let writer = self.inline_writer.get().and_then(Weak::upgrade);
        writer.is_some_and(|writer| writer.write(priority, driver))
    }

    /// Waits for the end of a call; the ticket is void then.
    pub(super) fn poll_fate(&self, ticket: CallId, cx: &mut Context<'_>) -> Poll<CallEnd> {
        let mut order = self.order();
        let Some(caller) = order.caller(ticket) else {
            return order.take_fate(ticket).map_or(Poll::Pending, Poll::Ready);
        };
        if !caller.waker.will_wake(cx.waker()) {
            let before = std::mem::replace(&mut caller.waker, cx.waker().clone());
            drop(order);
            drop(before);
        }
        Poll::Pending
    }

    /// Has the caller of a call woken later.
    pub(super) fn wake_later(&self, ticket: CallId, at: Instant) {
        let mut order = self.order();
        if let Some(caller) = order.caller(ticket) {
            caller.wake_at = Some(at);
        }
        let driver = if order.plan_wake(Some(at)) { order.driver.take() } else { None };
        drop(order);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// For the driver: wakes those whose time is over. When the next one is.
    pub(super) fn wake_overdue(&self) -> Option<Instant> {
        let mut order = self.order();
        let overdue = order.overdue(self.clock.now());
        let next = order.next_wake;
        drop(order);
        overdue.into_iter().for_each(Waker::wake);
        next
    }

    /// Completes once the driver has read all that has come. However long it was kept from that: a busy
    /// runtime is not to be taken for a silent server.
    pub(super) async fn look(&self) {
        // The runtime asks the system meanwhile what there is to read.
        yield_now().await;
        let (looker, looked) = oneshot::channel();
        let driver = {
            let mut order = self.order();
            order.lookers.push(looker);
            order.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
        let _dropped = looked.await;
    }

    /// Notes that a call was given up that had waited all its time to be sent.
    pub(super) fn note_unsent(&self) {
        self.order().stands_still = true;
    }

    /// Whether the driver has not come since: its runtime stands still, or the server takes nothing.
    pub(super) fn stands_still(&self) -> bool {
        self.order().stands_still
    }

    /// Whether an answer is due, and nothing was heard, for so `long`.
    pub(super) fn is_owed_for(&self, long: Duration) -> bool {
        let (now, heard) = (self.clock.now(), self.traffic.last_heard());
        let since = self.order().sent.front().map(|first| first.sent.max(heard));
        since.is_some_and(|since| now.saturating_since(since) >= long)
    }

    /// Until when an acquire is to be waited for, by what has become of it by now.
    pub(super) fn waits_until(&self, ticket: CallId, patience: &CallTimeouts) -> Instant {
        let order = self.order();
        let for_the_server = patience.for_the_server;
        let since = match order.calls.get(ticket) {
            Some(CallState::Acquire(QueuedAcquire { flight: Some((sent, _)), .. })) => *sent,
            Some(CallState::Acquire(QueuedAcquire { unsent_until: Some(until), .. })) => {
                return *until;
            }
            Some(CallState::Acquire(_)) => match order.sent.front() {
                // However many are before it: the server is there.
                Some(first) => first.sent.max(self.traffic.last_heard()),
                // It has not been looked for anything to send.
                None => self.clock.now(),
            },
            // Its end is there.
            _ => self.clock.now(),
        };
        since + for_the_server
    }

    /// Gives up a call; the ticket is void then.
    pub(super) fn leave(&self, ticket: CallId) -> GivenUp {
        let mut order = self.order();
        let (left, entry) = order.leave(ticket);
        drop(order);
        // It may have a waker.
        drop(entry);
        left
    }

    /// What an answer usually takes.
    pub(super) fn round_trip(&self) -> Duration {
        self.server_clock().map_or(Duration::ZERO, |clock| clock.round_trip())
    }

    /// For the driver: something goes out at `now`.
    pub(super) fn note_departure(&self, now: Instant) {
        if self.traffic.breaks_quiet(now, self.quiet_after) {
            self.quiet.notify_one();
        }
    }

    /// For the driver: something came.
    pub(super) fn heard(&self) {
        self.traffic.read(self.clock.now());
    }

    /// For the driver: the answers that came, in their order, until so many callers are woken who
    /// go on, or a quarter of all, but no more than [`MOST_AT_ONCE`]. False if the server said more than it was asked.
    pub(super) fn answered(
        &self,
        values: &mut VecDeque<Value>,
        most: usize,
        woken: &mut Woken,
    ) -> bool {
        let mut wakers = Vec::new();
        let mut order = self.order();
        let most = most.max((order.calls.len() / 4).min(MOST_AT_ONCE));
        let mut is_asked = true;
        while woken.who_go_on < most
            && woken.all + wakers.len() < most.max(MOST_AT_ONCE)
            && let Some(value) = values.pop_front()
        {
            let Some((what, sent)) = order.answer_next() else {
                is_asked = false;
                break;
            };
            match what {
                SentPart::Pair(ticket) => order.answer_first(ticket, value),
                SentPart::Call(ticket) => {
                    woken.who_go_on += usize::from(order.goes_on(ticket));
                    wakers.extend(order.answer(ticket, value));
                }
                SentPart::Asking => {}
                SentPart::Acquires(locks) => {
                    woken.who_go_on += order.how_many_go_on(locks);
                    self.land(&mut order, locks, value, sent, &mut wakers);
                }
            }
        }
        drop(order);
        woken.all += wakers.len();
        wakers.into_iter().for_each(Waker::wake);
        is_asked
    }

    /// For the driver: what the answer behind so many may be at most.
    pub(super) fn largest_answer(&self, behind: usize) -> Size {
        if self.order().awaits_a_list(behind) { Size::LIST } else { Size::FEW }
    }

    /// The answer to a call of so many acquires that was sent then.
    fn land(
        &self,
        order: &mut CallTable,
        locks: usize,
        value: Value,
        sent: Instant,
        wakers: &mut Vec<Waker>,
    ) {
        let (received, is_live) = (self.clock.now(), self.is_live());
        order.last_round_trip = received.saturating_since(sent);
        let reply = AcquireReply { value, sent, received, is_live };
        if let Some(server_us) = order.answer_acquires(locks, reply, wakers)
            && let Some(mut server_clock) = self.server_clock()
        {
            server_clock.observe(Sample { sent, received, server_us });
        }
    }

    // keeps: three-answers
    /// For the driver, when it ends: the stream took so many bytes and not one more. The first of those
    /// who are not answered is told `first` of it, if there is something to tell.
    pub(super) fn broken(&self, taken: u64, mut first: Option<NodeError>, cause: &NodeError) {
        self.end(ConnectionEnd::Lost);
        let mut wakers = Vec::new();
        let mut order = self.order();
        while let Some((what, start)) = order.break_next() {
            if let SentPart::Asking = what {
                continue;
            }
            let error = if start >= taken {
                None
            } else {
                Some(first.take().unwrap_or_else(|| cause.clone()))
            };
            let end = || error.clone().map_or_else(|| CallEnd::NotSent(unsent()), CallEnd::Unknown);
            let tickets: Vec<CallId> = match what {
                SentPart::Call(ticket) | SentPart::Pair(ticket) => vec![ticket],
                SentPart::Acquires(locks) => order.sent_acquires.drain(..locks).collect(),
                SentPart::Asking => Vec::new(),
            };
            wakers.extend(tickets.into_iter().filter_map(|ticket| order.decide(ticket, end())));
        }
        drop(order);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether somebody decides about the order just now.
    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        self.order.try_lock().is_err()
    }

    pub(super) fn order(&self) -> MutexGuard<'_, CallTable> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No more callers are woken at a time, however many there are: other tasks of their runtime run behind them.
const MOST_AT_ONCE: usize = 256;

fn unsent() -> NodeError {
    cause::unreachable(&"the connection broke before it was sent")
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order();
        f.debug_struct("Outbox")
            .field("waiting", &(order.lanes.len() + order.acquires.len()))
            .field("departed", &order.sent.len())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
