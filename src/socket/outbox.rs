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
//!   step, under the lock, when its bytes are made. A caller that sees that note and enters a call on this
//!   socket comes after it. What was not noted by then, and is not wanted any more, is never sent.
//! - Times are taken before the bytes are made: of the stamp, and of what the answer confirms.
//! - A call that is given up before the driver took it is not written. Of those that the driver took,
//!   it is known which byte they begin with.
//! - Once the outbox has ended it stays so: nothing enters any more, and what the driver has not taken
//!   is not sent.
//!
//! # Deadlock safety
//! The mutex of the driver is locked first, by callers only if it is free. Then comes that of the table, then
//! that of the server's clock, or whatever an [`AcquireSource`] locks. So no call may be entered, dropped or
//! polled under one of those. Wakers are woken and dropped after that of the table was unlocked: a waker may be
//! the last owner of a task, and that task may own a call.

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
    call_table::{
        CallEnd, CallId, CallTable, CallWaiter, GivenUp, Packed, QueuedCall, Woken, lost,
    },
    clocks::Clocks,
    priority::{CallTimeouts, Priority},
    silence::Traffic,
};
use crate::{
    clock::Instant,
    error::NodeError,
    home::Home,
    reach::{NodeSettings, ServerClock, Size},
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
    pub(super) clocks: Clocks,
    pub(super) traffic: Traffic,
    table: Mutex<CallTable>,
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

impl Outbox {
    pub(crate) fn new(settings: &NodeSettings) -> Arc<Self> {
        let traffic = Traffic::default();
        traffic.heard(settings.clock.now());
        Arc::new(Self {
            clocks: Clocks::new(settings.clock.clone()),
            traffic,
            table: Mutex::new(CallTable::new(settings.sharding.publishing())),
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
        self.clocks.introduce(server_clock);
        self.table().set_by_slot(is_in_cluster);
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

    pub(super) fn is_live(&self) -> bool {
        self.ending.get().is_none()
    }

    /// Ends the outbox. What was not taken by the driver is not sent; what was goes on.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        if self.ending.set(ending).is_err() {
            return;
        }
        let wakers = self.table().end_unsent(lost);
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

    /// Whether its driver wakes callers on this runtime when their time is over. Elsewhere they look
    /// after that themselves: the driver's runtime may stand still.
    pub(super) fn wakes_here(&self) -> bool {
        Handle::try_current().is_ok_and(|here| Some(here.id()) == self.runtime)
    }

    /// Whether this is the process that made it.
    pub(super) fn is_here(&self) -> bool {
        self.home.is_here()
    }

    // keeps: one-sender
    /// Puts a call in. `None` if the outbox has ended.
    pub(super) fn enter(&self, call: QueuedCall, waiter: CallWaiter) -> Option<CallId> {
        let mut table = self.table();
        if !self.is_live() {
            return None;
        }
        // The driver's runtime may stand still if that is another: then it is better not sent.
        let (priority, is_here) = (waiter.priority, waiter.wake_at.is_some());
        let is_idle = table.is_idle();
        let (id, driver) = table.enter(call, waiter);
        drop(table);
        if let Some(driver) = driver
            && !(is_idle && is_here && self.write_inline(priority, &driver))
        {
            driver.wake();
        }
        Some(id)
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

    /// Waits for the end of a call; its id is void then.
    pub(super) fn poll_end(&self, id: CallId, cx: &mut Context<'_>) -> Poll<CallEnd> {
        let end = self.table().poll_end(id, cx.waker());
        // What it woke before is dropped here, with nothing locked.
        end.map_or_else(|_before| Poll::Pending, Poll::Ready)
    }

    /// Has the caller of a call woken later.
    pub(super) fn wake_later(&self, id: CallId, at: Instant) {
        let driver = self.table().wake_later(id, at);
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// For the driver: wakes the callers whose time is over. When the next one is.
    pub(super) fn wake_overdue(&self) -> Option<Instant> {
        let (overdue, next) = self.table().overdue(self.clocks.now());
        overdue.into_iter().for_each(Waker::wake);
        next
    }

    /// Completes once the driver has read all that has come. However long it was kept from that: a busy
    /// runtime is not to be taken for a silent server.
    pub(super) async fn look(&self) {
        // The runtime asks the system meanwhile what there is to read.
        yield_now().await;
        let (looker, looked) = oneshot::channel();
        let driver = self.table().look(looker);
        if let Some(driver) = driver {
            driver.wake();
        }
        let _dropped = looked.await;
    }

    /// Notes that a call was given up that had waited all its time to be sent.
    pub(super) fn note_unsent(&self) {
        self.table().note_unsent();
    }

    /// Whether the driver has not come since: its runtime stands still, or the server takes nothing.
    pub(super) fn stands_still(&self) -> bool {
        self.table().stands_still()
    }

    /// Whether an answer is due, and nothing was heard, for so `long`.
    pub(super) fn is_owed_for(&self, long: Duration) -> bool {
        let (now, heard) = (self.clocks.now(), self.traffic.last_heard());
        let since = self.table().owed_since().map(|first| first.max(heard));
        since.is_some_and(|since| now.saturating_since(since) >= long)
    }

    /// Until when an acquire is to be waited for, by what has become of it by now.
    pub(super) fn waits_until(&self, id: CallId, timeouts: &CallTimeouts) -> Instant {
        self.table().waits_until(id, timeouts, self.traffic.last_heard(), &self.clocks)
    }

    /// Gives up a call; its id is void then.
    pub(super) fn give_up(&self, id: CallId) -> GivenUp {
        let (given_up, _dropped_with_nothing_locked) = self.table().give_up(id);
        given_up
    }

    /// For the driver: packs what waits behind what is in `to`, until that is `full`. Before any of it
    /// is written, as the answers' times need it. A caller that enters a call later wakes the
    /// `sleeper`.
    pub(super) fn pack(&self, to: &mut Vec<u8>, full: usize, sleeper: Option<&Waker>) -> Packed {
        let mut unsent = Vec::new();
        let packed = self.table().pack(&self.clocks, to, full, sleeper, &mut unsent);
        if packed.left_at.is_some_and(|now| self.traffic.breaks_quiet(now, self.quiet_after)) {
            self.quiet.notify_one();
        }
        unsent.into_iter().for_each(Waker::wake);
        packed
    }

    /// For the driver: something came.
    pub(super) fn heard(&self) {
        self.traffic.read(self.clocks.now());
    }

    /// For the driver: the answers that came, in their order. It stops when so many callers are
    /// woken that go on, or rather more of all. False if the server said more than it was asked.
    pub(super) fn answered(
        &self,
        values: &mut VecDeque<Value>,
        most: usize,
        woken: &mut Woken,
    ) -> bool {
        let (wakers, is_asked) =
            self.table().answered(&self.clocks, self.is_live(), values, most, woken);
        wakers.into_iter().for_each(Waker::wake);
        is_asked
    }

    /// For the driver: what the answer behind so many may be at most.
    pub(super) fn largest_answer(&self, behind: usize) -> Size {
        if self.table().awaits_a_list(behind) { Size::LIST } else { Size::FEW }
    }

    // keeps: three-answers
    /// For the driver, when it ends: the stream took so many bytes and not one more. The first of those
    /// that are not answered is told `first` of it, if there is something to tell.
    pub(super) fn broken(&self, taken: u64, first: Option<NodeError>, cause: &NodeError) {
        self.end(ConnectionEnd::Lost);
        let wakers = self.table().broken(taken, first, cause);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether the calls are being decided on just now.
    #[cfg(test)]
    pub(super) fn is_locked(&self) -> bool {
        self.table.try_lock().is_err()
    }

    pub(super) fn table(&self) -> MutexGuard<'_, CallTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (waiting, sent) = self.table().lengths();
        f.debug_struct("Outbox")
            .field("waiting", &waiting)
            .field("sent", &sent)
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}
