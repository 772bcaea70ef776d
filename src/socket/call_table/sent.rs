//! What leaves a socket next, and how much of it.

use std::{iter, task::Waker, time::Duration};

use tokio::sync::oneshot;

use super::{
    CallId, CallTable, Priority, QueuedCall,
    call::{CallEnd, CallState, SentCall, SentPart},
    lanes::NextToSend,
};
use crate::{
    clock::Instant,
    socket::{
        clocks::Clocks,
        request::{ASKING, AnswerCount},
    },
};

/// What the driver is to know once all is packed.
#[derive(Debug)]
pub(in crate::socket) struct Packed {
    /// When something of it left, if anything did.
    pub(in crate::socket) left_at: Option<Instant>,
    /// When a caller is to be woken.
    pub(in crate::socket) next_wake: Option<Instant>,
    pub(in crate::socket) only_call: Option<OnlyCall>,
    /// To be dropped once it has read all that has come.
    pub(in crate::socket) lookers: Vec<oneshot::Sender<()>>,
}

/// A call beside which there is no other on its socket.
#[derive(Debug, Clone, Copy)]
pub(in crate::socket) struct OnlyCall {
    pub(in crate::socket) sent: Instant,
    pub(in crate::socket) priority: Priority,
}

impl CallTable {
    /// Packs what waits behind what is in `to`, until that is `full`. A caller that enters a call later
    /// wakes the `sleeper`. The callers of calls that will not be sent are put to the `unsent`.
    pub(in crate::socket) fn pack(
        &mut self,
        clocks: &Clocks,
        to: &mut Vec<u8>,
        full: usize,
        sleeper: Option<&Waker>,
        unsent: &mut Vec<Waker>,
    ) -> Packed {
        self.stands_still = false;
        let mut left_at = None;
        if self.has_waiting() && to.len() < full {
            let (before, now) = (self.taken, clocks.now());
            self.pack_all(now, clocks, to, full, unsent);
            left_at = (self.taken > before).then_some(now);
        }
        match (sleeper, &self.driver) {
            (Some(sleeper), Some(driver)) if driver.will_wake(sleeper) => {}
            (sleeper, _) => self.driver = sleeper.cloned(),
        }
        let lookers = std::mem::take(&mut self.lookers);
        Packed { left_at, next_wake: self.next_wake, only_call: self.only_call(), lookers }
    }

    /// Acquires come last: more of them share a call. Where there is not room for all that waits, they and
    /// the rest go by turns.
    fn pack_all(
        &mut self,
        now: Instant,
        clocks: &Clocks,
        to: &mut Vec<u8>,
        full: usize,
        unsent: &mut Vec<Waker>,
    ) {
        let is_crowded = self.lanes.bytes() >= full - to.len();
        let mut acquires_go = is_crowded && self.lets_acquires_go(clocks);
        while to.len() < full {
            let next = if is_crowded {
                self.lanes.next(acquires_go)
            } else {
                self.lanes.oldest().map(NextToSend::Call)
            };
            match next {
                Some(NextToSend::Call(id)) => unsent.extend(self.send(id, now, to)),
                Some(NextToSend::Acquires) => {
                    acquires_go = self.pack_acquires(now, clocks, to, unsent)
                        && self.lets_acquires_go(clocks);
                }
                None => break,
            }
        }
        let mut acquires_go = self.lets_acquires_go(clocks);
        while to.len() < full && acquires_go {
            acquires_go =
                self.pack_acquires(now, clocks, to, unsent) && self.lets_acquires_go(clocks);
        }
    }

    /// Whether acquires wait, and few enough calls with some are under way.
    fn lets_acquires_go(&mut self, clocks: &Clocks) -> bool {
        if self.acquires.is_empty() {
            return false;
        }
        self.most_acquire_calls = calls_under_way(clocks.round_trip(), self.last_round_trip);
        if self.acquires.len() >= MOST_LOCKS {
            // They gain nothing by waiting. Behind very many others few calls would be few acquires.
            let others = self.sent.len() - self.acquire_calls;
            self.most_acquire_calls = self.most_acquire_calls.max(others / OTHERS);
        }
        self.acquire_calls < self.most_acquire_calls
    }

    /// Packs a call that waits, unless it was given up or its answer is not waited for any more:
    /// then its waker is returned.
    fn send(&mut self, id: CallId, now: Instant, to: &mut Vec<u8>) -> Option<Waker> {
        let state = self.calls.get_mut(id)?;
        match std::mem::replace(state, CallState::GivenUp) {
            CallState::Queued { call: QueuedCall::Command { request, deadline }, waiter } => {
                if now >= deadline {
                    *state = CallState::Ended(CallEnd::late(true));
                    return Some(waiter.waker);
                }
                *state = CallState::Sent { sent: now, first: None, waiter };
                let what = match request.answers {
                    AnswerCount::One => SentPart::Call(id),
                    AnswerCount::Two => SentPart::Pair(id),
                };
                if request.is_asking {
                    self.take_asking(now, to);
                }
                let write = |to: &mut Vec<u8>| to.extend_from_slice(&request.bytes);
                self.take(what, request.is_list, now, to, write);
            }
            _ => drop(self.calls.try_remove(id)),
        }
        None
    }

    /// Packs a call behind all that were packed.
    pub(super) fn take(
        &mut self,
        what: SentPart,
        is_list: bool,
        now: Instant,
        to: &mut Vec<u8>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        let before = to.len();
        write(to);
        let start = self.bytes;
        self.sent.push_back(SentCall { sent: now, start, what, is_list, is_late: false });
        self.bytes += (to.len() - before) as u64;
        self.taken += 1;
    }

    /// Packs the word that lets the call behind it pass.
    pub(super) fn take_asking(&mut self, now: Instant, to: &mut Vec<u8>) {
        self.take(SentPart::Asking, false, now, to, |to| to.extend_from_slice(ASKING));
    }

    /// The only call, if it is under way.
    fn only_call(&mut self) -> Option<OnlyCall> {
        let is_alone = self.sent.len() == 1 && !self.has_waiting();
        let only = self.sent.front().filter(|_| is_alone)?;
        let sent = only.sent;
        let id = match only.what {
            SentPart::Call(id) | SentPart::Pair(id) => id,
            SentPart::Acquires(_) => *self.sent_acquires.front()?,
            SentPart::Asking => return None,
        };
        self.waiter(id).map(|waiter| OnlyCall { sent, priority: waiter.priority })
    }

    /// Whether the answer behind so many may tell of many.
    pub(in crate::socket) fn awaits_a_list(&self, behind: usize) -> bool {
        let mut answers = self.sent.iter().flat_map(|sent| {
            let so_many = if let SentPart::Pair(_) = sent.what { 2 } else { 1 };
            iter::repeat_n(sent.is_list, so_many)
        });
        answers.nth(behind).is_some_and(|is_list| is_list)
    }
}

/// Locks in one script call: in calls of 64 a server is no faster.
pub(super) const MOST_LOCKS: usize = 32;

/// How many calls with acquires may be unanswered at the same time: enough to keep a server busy over a
/// round trip. Fewer than two would lock it and us in step.
fn calls_under_way(shortest: Duration, last: Duration) -> usize {
    let round_trip = shortest.max(last.min(SLOW));
    usize::try_from(round_trip.as_micros() / A_CALL.as_micros()).unwrap_or(usize::MAX).max(2)
}

/// What a busy server takes beyond that gets it no more calls: what waits for it can still be withdrawn.
const SLOW: Duration = Duration::from_millis(10);

/// What a server takes for a call of many locks, roughly.
const A_CALL: Duration = Duration::from_micros(200);

/// How many other calls take a server as long as a call of many locks, roughly.
const OTHERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_and_busy_servers_have_more_calls_under_way_and_slow_ones_do_not() {
        for (shortest, last, calls) in [
            (0, 0, 2),
            (400, 500, 2),
            (400, 600, 3),
            (600, 600, 3),
            (2_000, 4_000, 20),
            (30, 10_000, 50),
            (30, 60_000_000, 50),
            (40_000, 60_000_000, 200),
        ] {
            let [shortest, last] = [shortest, last].map(Duration::from_micros);
            assert_eq!(calls_under_way(shortest, last), calls, "{shortest:?}, {last:?}");
        }
    }
}
