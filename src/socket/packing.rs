//! What leaves a socket next, and how much of it.

use std::{task::Waker, time::Duration};

use tokio::sync::oneshot;

use super::{
    call_table::{CallTable, MOST_LOCKS, NextToSend, OnlyCall},
    outbox::Outbox,
};
use crate::clock::Instant;

/// What the driver is to know once all is packed.
#[derive(Debug)]
pub(super) struct Packed {
    /// When somebody is to be woken.
    pub(super) next_wake: Option<Instant>,
    pub(super) only_call: Option<OnlyCall>,
    /// To be dropped once it has read all that has come.
    pub(super) lookers: Vec<oneshot::Sender<()>>,
}

impl Outbox {
    /// For the driver: packs what waits behind what is in `to`, until that is `full`. Before any of it
    /// is written, as the answers' times need it. Whoever enters a call later wakes the `sleeper`.
    pub(super) fn pack(&self, to: &mut Vec<u8>, full: usize, sleeper: Option<&Waker>) -> Packed {
        let (mut unsent, mut something_leaves) = (Vec::new(), None);
        let mut order = self.order();
        order.stands_still = false;
        if order.has_waiting() && to.len() < full {
            let before = order.taken;
            let now = self.clock().now();
            self.pack_calls(&mut order, now, to, full, &mut unsent);
            let mut acquires_go = self.lets_acquires_go(&mut order);
            while to.len() < full && acquires_go {
                acquires_go = self.pack_acquires(&mut order, now, to, &mut unsent);
            }
            something_leaves = (order.taken > before).then_some(now);
        }
        match (sleeper, &order.driver) {
            (Some(sleeper), Some(driver)) if driver.will_wake(sleeper) => {}
            (sleeper, _) => order.driver = sleeper.cloned(),
        }
        let lookers = std::mem::take(&mut order.lookers);
        let packed = Packed { next_wake: order.next_wake, only_call: order.only_call(), lookers };
        drop(order);
        if let Some(now) = something_leaves {
            self.note_departure(now);
        }
        unsent.into_iter().for_each(Waker::wake);
        packed
    }

    /// Packs all that waits but acquires, or by turns with these what there is room for.
    fn pack_calls(
        &self,
        order: &mut CallTable,
        now: Instant,
        to: &mut Vec<u8>,
        full: usize,
        unsent: &mut Vec<Waker>,
    ) {
        let is_crowded = order.lanes.bytes() >= full - to.len();
        let mut acquires_go = is_crowded && self.lets_acquires_go(order);
        while to.len() < full {
            let next = if is_crowded {
                order.lanes.next(acquires_go)
            } else {
                order.lanes.oldest().map(NextToSend::Call)
            };
            match next {
                Some(NextToSend::Call(ticket)) => unsent.extend(order.send(ticket, now, to)),
                Some(NextToSend::Acquires) => {
                    acquires_go = self.pack_acquires(order, now, to, unsent);
                }
                None => return,
            }
        }
    }

    /// Whether acquires wait, and few enough calls with some are under way.
    fn lets_acquires_go(&self, order: &mut CallTable) -> bool {
        if order.acquires.is_empty() {
            return false;
        }
        order.most_acquire_calls = calls_under_way(self.round_trip(), order.last_round_trip);
        if order.acquires.len() >= MOST_LOCKS {
            // They gain nothing by waiting. Behind very many others few calls would be few acquires.
            let others = order.sent.len() - order.acquire_calls;
            order.most_acquire_calls = order.most_acquire_calls.max(others / OTHERS);
        }
        order.acquire_calls < order.most_acquire_calls
    }

    // keeps: no-blind-resend, one-sender
    /// Packs one call of them. True if another may follow at once.
    fn pack_acquires(
        &self,
        order: &mut CallTable,
        now: Instant,
        to: &mut Vec<u8>,
        unsent: &mut Vec<Waker>,
    ) -> bool {
        let stamp = |valid: Duration| {
            if planted!(GhostStampOff) {
                return i64::MAX;
            }
            let valid = i64::try_from(valid.as_micros()).unwrap_or(i64::MAX);
            self.server_clock().map_or(i64::MIN, |clock| clock.at(now).saturating_add(valid))
        };
        order.pack_acquires(now, stamp, to, unsent) && self.lets_acquires_go(order)
    }
}

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
