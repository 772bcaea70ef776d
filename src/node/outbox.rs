//! The order of one socket: calls leave in the order in which they enter it, and answers come back
//! in the same.
//!
//! The outbox begins after the handshake; from then on nothing else is sent on the socket. Callers
//! put their calls in and wait here; the [driver](super::driver), a task of the socket's own
//! runtime, takes them out, writes them, and puts the answers in their place.
//!
//! # Invariants
//! - A call gets its position in the order and its caller notes that it may be executed in one step,
//!   under the lock. Whoever sees that note and enters a call on this socket comes after it.
//! - A call that is given up before the driver took it is not written. Of those that the driver took,
//!   it is known which byte they begin with.
//! - Once the outbox has ended it stays so: nothing enters any more, and what the driver has not taken
//!   is not sent.
//!
//! # Deadlock safety
//! The mutex of the order is locked first, and then whatever [`Caller::wants`](super::Caller::wants) locks. So nobody may
//! enter, drop or poll a call while holding one of those. Wakers are woken and dropped after the
//! mutex was unlocked: a waker may be the last owner of a task, and that task may own a call.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::{Context, Poll, Waker},
    time::Duration,
};

use redis::{Cmd, Value};
use slab::Slab;
use tokio::sync::Notify;

use super::{NodeSettings, cause, silence::Traffic};
use crate::{
    clock::{Instant, SharedClock},
    error::{NodeError, Phase},
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
    clock: SharedClock,
    traffic: Traffic,
    order: Mutex<Order>,
    ending: OnceLock<ConnectionEnd>,
    /// Notified when it has ended.
    ended: Notify,
    /// Notified when a call goes out where nothing was heard for `quiet_after`.
    quiet: Notify,
    quiet_after: Duration,
}

#[derive(Default)]
struct Order {
    calls: Slab<Entry>,
    /// What the driver has not taken yet.
    waiting: VecDeque<Ticket>,
    /// What it has taken, until the answer comes.
    departed: VecDeque<Departed>,
    /// Bytes of all that it has taken.
    bytes: u64,
    /// To be woken when something enters; there while the driver sleeps.
    driver: Option<Waker>,
}

/// Stands for a call until its caller has learnt its fate.
pub(super) type Ticket = usize;

enum Entry {
    Waiting {
        cmd: Cmd,
        deadline: Instant,
        waker: Waker,
    },
    /// Given up before the driver took it.
    Withdrawn,
    Departed {
        sent: Instant,
        waker: Waker,
    },
    /// Given up after that.
    Forsaken,
    Decided(Fate),
}

/// Has not been answered yet.
struct Departed {
    ticket: Ticket,
    /// So many bytes were taken before its first.
    start: u64,
}

/// What has become of a call.
#[derive(Debug)]
pub(super) enum Fate {
    /// The server answered. An error of the server is an answer, too.
    Answered { value: Value, sent: Instant },
    /// It was not answered, and nobody knows whether it was executed.
    Unknown(NodeError),
    /// None of it has left this machine, and none ever will.
    NeverLeft(NodeError),
}

/// How a call entered.
pub(super) enum Entered {
    Unwanted,
    /// The outbox has ended; the caller has noted the call all the same.
    Over,
    Waits(Ticket),
}

impl Outbox {
    pub(super) fn new(settings: &NodeSettings) -> Arc<Self> {
        let traffic = Traffic::default();
        traffic.heard(settings.clock.now());
        Arc::new(Self {
            clock: settings.clock.clone(),
            traffic,
            order: Mutex::default(),
            ending: OnceLock::new(),
            ended: Notify::new(),
            quiet: Notify::new(),
            quiet_after: settings.quiet_after,
        })
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
        let waiting = std::mem::take(&mut order.waiting);
        let wakers: Vec<_> =
            waiting.into_iter().filter_map(|ticket| order.drop_unsent(ticket, lost())).collect();
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

    /// Whether no more than one call waits or is under way.
    pub(super) fn has_one_call(&self) -> bool {
        let order = self.order();
        order.waiting.len() + order.departed.len() <= 1
    }

    /// Gives a call its position in the order. After its `deadline` nobody waits for the answer, and
    /// it is not sent.
    pub(super) fn enter(
        &self,
        wanted: impl FnOnce() -> bool,
        cmd: Cmd,
        deadline: Instant,
        waker: &Waker,
    ) -> Entered {
        let mut order = self.order();
        if !wanted() {
            return Entered::Unwanted;
        }
        if !self.is_live() {
            return Entered::Over;
        }
        let ticket = order.calls.insert(Entry::Waiting { cmd, deadline, waker: waker.clone() });
        order.waiting.push_back(ticket);
        let driver = order.driver.take();
        drop(order);
        if let Some(driver) = driver {
            driver.wake();
        }
        Entered::Waits(ticket)
    }

    /// Waits for the fate of a call; the ticket is void then.
    pub(super) fn poll_fate(&self, ticket: Ticket, cx: &mut Context<'_>) -> Poll<Fate> {
        let mut order = self.order();
        let known = match order.calls.get_mut(ticket) {
            Some(Entry::Waiting { waker, .. } | Entry::Departed { waker, .. }) => waker,
            _ => return order.take_fate(ticket).map_or(Poll::Pending, Poll::Ready),
        };
        if !known.will_wake(cx.waker()) {
            let before = std::mem::replace(known, cx.waker().clone());
            drop(order);
            drop(before);
        }
        Poll::Pending
    }

    /// Gives up a call; the ticket is void then. True if it has not left this machine, and never will.
    pub(super) fn leave(&self, ticket: Ticket) -> bool {
        let mut order = self.order();
        let before = match order.calls.get_mut(ticket) {
            Some(entry @ Entry::Waiting { .. }) => std::mem::replace(entry, Entry::Withdrawn),
            Some(entry @ Entry::Departed { .. }) => std::mem::replace(entry, Entry::Forsaken),
            _ => return matches!(order.take_fate(ticket), Some(Fate::NeverLeft(_))),
        };
        drop(order);
        // `before` has a waker.
        matches!(before, Entry::Waiting { .. })
    }

    /// For the driver: packs what waits behind what is in `to`, until that is `full`. Before any of it
    /// is written, as the answers' times need it.
    pub(super) fn pack(&self, to: &mut Vec<u8>, full: usize, cx: &Context<'_>) {
        let mut late = Vec::new();
        let mut order = self.order();
        if !order.waiting.is_empty() && to.len() < full {
            let now = self.clock.now();
            if self.traffic.breaks_quiet(now, self.quiet_after) {
                self.quiet.notify_one();
            }
            while to.len() < full
                && let Some(ticket) = order.waiting.pop_front()
            {
                late.extend(order.depart(ticket, now, to));
            }
        }
        if order.driver.as_ref().is_none_or(|driver| !driver.will_wake(cx.waker())) {
            order.driver = Some(cx.waker().clone());
        }
        drop(order);
        late.into_iter().for_each(Waker::wake);
    }

    /// For the driver: something came.
    pub(super) fn heard(&self) {
        self.traffic.read(self.clock.now());
    }

    /// For the driver: the answers that came, in their order. False if the server said more than it was
    /// asked.
    pub(super) fn answered(&self, values: impl Iterator<Item = Value>) -> bool {
        let mut wakers = Vec::new();
        let mut order = self.order();
        let mut is_asked = true;
        for value in values {
            let Some(Departed { ticket, .. }) = order.departed.pop_front() else {
                is_asked = false;
                break;
            };
            wakers.extend(order.answer(ticket, value));
        }
        drop(order);
        wakers.into_iter().for_each(Waker::wake);
        is_asked
    }

    /// For the driver, when it ends: the stream took so many bytes and not one more. The first of those
    /// who are not answered is told `first` of it, if there is something to tell.
    pub(super) fn broken(&self, taken: u64, mut first: Option<NodeError>, cause: &NodeError) {
        self.end(ConnectionEnd::Lost);
        let mut order = self.order();
        let departed = std::mem::take(&mut order.departed);
        let fate = |start| {
            if start >= taken {
                return Fate::NeverLeft(unsent());
            }
            Fate::Unknown(first.take().unwrap_or_else(|| cause.clone()))
        };
        let fates: Vec<_> = departed.iter().map(|one| one.start).map(fate).collect();
        let wakers: Vec<_> = departed
            .into_iter()
            .zip(fates)
            .filter_map(|(one, fate)| order.decide(one.ticket, fate))
            .collect();
        drop(order);
        wakers.into_iter().for_each(Waker::wake);
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Order {
    /// Packs a call that waits, unless it was given up or nobody waits for its answer any more: then
    /// its waker is returned.
    fn depart(&mut self, ticket: Ticket, now: Instant, to: &mut Vec<u8>) -> Option<Waker> {
        match self.calls.get_mut(ticket) {
            Some(Entry::Waiting { deadline, .. }) if now >= *deadline => {
                self.drop_unsent(ticket, NodeError::TimedOut { phase: Phase::Sending })
            }
            Some(entry @ Entry::Waiting { .. }) => {
                if let Entry::Waiting { cmd, waker, .. } =
                    std::mem::replace(entry, Entry::Withdrawn)
                {
                    let before = to.len();
                    cmd.write_packed_command(to);
                    *entry = Entry::Departed { sent: now, waker };
                    self.departed.push_back(Departed { ticket, start: self.bytes });
                    self.bytes += (to.len() - before) as u64;
                }
                None
            }
            _ => {
                self.calls.try_remove(ticket);
                None
            }
        }
    }

    fn answer(&mut self, ticket: Ticket, value: Value) -> Option<Waker> {
        let Some(Entry::Departed { sent, .. }) = self.calls.get(ticket) else {
            self.calls.try_remove(ticket);
            return None;
        };
        let sent = *sent;
        self.decide(ticket, Fate::Answered { value, sent })
    }

    /// Tells a call that waits that it will not be sent.
    fn drop_unsent(&mut self, ticket: Ticket, error: NodeError) -> Option<Waker> {
        self.decide(ticket, Fate::NeverLeft(error))
    }

    /// Notes the fate of a call for its caller, who is to be woken; forgets one that was given up.
    fn decide(&mut self, ticket: Ticket, fate: Fate) -> Option<Waker> {
        match self.calls.get_mut(ticket) {
            Some(entry @ (Entry::Waiting { .. } | Entry::Departed { .. })) => {
                match std::mem::replace(entry, Entry::Decided(fate)) {
                    Entry::Waiting { waker, .. } | Entry::Departed { waker, .. } => Some(waker),
                    _ => None,
                }
            }
            _ => {
                self.calls.try_remove(ticket);
                None
            }
        }
    }

    fn take_fate(&mut self, ticket: Ticket) -> Option<Fate> {
        match self.calls.try_remove(ticket) {
            Some(Entry::Decided(fate)) => Some(fate),
            _ => None,
        }
    }
}

/// What is told of a call that came too late.
pub(super) fn lost() -> NodeError {
    cause::unreachable(&"the connection has just been lost")
}

fn unsent() -> NodeError {
    cause::unreachable(&"the connection broke before it was sent")
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = self.order();
        f.debug_struct("Outbox")
            .field("waiting", &order.waiting.len())
            .field("departed", &order.departed.len())
            .field("ending", &self.ending)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::test_server::{later, settings};

    /// Whoever saw the note and entered a call between the two would not come behind it.
    #[test]
    fn nobody_enters_while_a_caller_notes_that_it_has() {
        let outbox = Outbox::new(&settings());
        let mut is_alone = false;
        let notes = || {
            is_alone = outbox.order.try_lock().is_err();
            false
        };
        let entered = outbox.enter(notes, Cmd::new(), later(), Waker::noop());
        assert!(matches!(entered, Entered::Unwanted) && is_alone);
    }
}
