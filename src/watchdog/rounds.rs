//! The watchdog's loop: sleeps until something is due, and sends what is due in batches.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};

use super::{LOOK_AGAIN, Repair, Shared, Tick, Watched, renewals::Renewals, repairs::Repairs};
use crate::{
    clock::{Instant, SharedClock},
    panics::contained,
    telling,
};

/// So many claims are looked at together, and of one of them so many members: few enough that they are still in a
/// CPU's cache when the answers come, and enough calls to keep a few servers busy that were woken for them.
const AT_ONCE: usize = 512;

/// How many members of each are looked at then, on average.
const USUAL: usize = 5;

/// How long others are to reach the servers before the next claims are looked at.
const PAUSE: Duration = Duration::from_millis(1);

/// What has been due for longer is looked at by the thousand.
const LATE: Duration = Duration::from_secs(1);

/// So many then: what is built for them is still small.
const AT_ONCE_IF_LATE: usize = 4_096;

/// Timers stand still while a machine sleeps, and a task that waits for a loss is to learn of it
/// soon after the machine has woken.
const GLANCE: Duration = Duration::from_secs(1);

pub(super) async fn watch(shared: &Shared) {
    let (mut under_way, mut repairs) = (FuturesUnordered::new(), Repairs::default());
    let mut queue = Queue::default();
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            () = repairs.next(), if !repairs.is_empty() => {}
            () = shared.nudge.notified() => {}
            due_at = next_due(shared, queue.next()) => {
                let now = shared.clock.now();
                queue.add(end_in_time(shared, now), now, due_at);
                let (renewals, new_repairs) = look_at(shared, &mut queue, now);
                under_way.extend(renewals.send());
                repairs.add(new_repairs);
            }
        }
        shared.is_running.store(true, Ordering::Relaxed);
    }
}

type Claims = Vec<(u64, Arc<dyn Watched>)>;

/// What is due at `now`. What ends by then is told so, however many there are, before anything else is done:
/// others may be granted the locks a moment later.
fn end_in_time(shared: &Shared, now: Instant) -> Claims {
    let due = shared.table().schedule.take_due(now, usize::MAX);
    for (id, claim) in &due {
        // It may not be looked at before that.
        if let Some(until) = contained(|| claim.end_in_time(now)).flatten() {
            shared.reschedule(*id, Some(until));
        }
    }
    // All is noted that was lost: what waits for that is woken now.
    telling::hand_over();
    due
}

/// What is due, and is looked at by and by.
#[derive(Default)]
struct Queue {
    claims: VecDeque<(u64, Arc<dyn Watched>)>,
    not_before: Option<Instant>,
    is_late: bool,
}

impl Queue {
    /// When to look at the next of them.
    fn next(&self) -> Option<Instant> {
        self.not_before.filter(|_| !self.claims.is_empty())
    }

    fn add(&mut self, due: Claims, now: Instant, due_at: Instant) {
        self.is_late |= !due.is_empty() && now.saturating_since(due_at) > LATE;
        self.claims.extend(due);
    }

    /// How many may be looked at now.
    fn room(&self, now: Instant) -> usize {
        match self.not_before {
            Some(at) if now < at => 0,
            _ if self.is_late => AT_ONCE_IF_LATE,
            _ => AT_ONCE,
        }
    }

    /// After a look, behind which others are to have their turn if it `was_full`, or a claim `was_cut` that is
    /// due again at once.
    fn has_looked(&mut self, was_full: bool, was_cut: bool, now: Instant) {
        let pauses = was_cut || was_full && !self.is_late;
        self.not_before = Some(if pauses { now + PAUSE } else { now });
        self.is_late &= !self.claims.is_empty();
    }
}

/// Sleeps until something is due, or `look_at` has come, at most [`GLANCE`]. Returns when it was due.
async fn next_due(shared: &Shared, look_at: Option<Instant>) -> Instant {
    let due_at = {
        let mut table = shared.table();
        table.wakes_at = [table.schedule.next(), look_at].into_iter().flatten().min();
        table.wakes_at
    };
    let Some(due_at) = due_at else { return std::future::pending().await };
    sleep_until(&shared.clock, due_at).await;
    due_at
}

async fn sleep_until(clock: &SharedClock, at: Instant) {
    clock.sleep_until(at.min(clock.now() + GLANCE)).await;
}

fn look_at<'a>(shared: &'a Shared, queue: &mut Queue, now: Instant) -> (Renewals<'a>, Vec<Repair>) {
    let (mut renewals, mut repairs) = (Renewals::default(), Vec::new());
    let room = queue.room(now);
    if room == 0 {
        return (renewals, repairs);
    }
    let (mut claims, mut requests, mut was_cut) = (0, 0, false);
    while claims < room
        && requests < room * USUAL
        && let Some((id, claim)) = queue.claims.pop_front()
    {
        let tick = contained(|| claim.clone().tick(now, AT_ONCE));
        let tick = tick.unwrap_or_else(|| Tick::only_look_again(now + LOOK_AGAIN));
        shared.reschedule(id, tick.next);
        claims += 1;
        requests += tick.due.len() + tick.repairs.len();
        was_cut |= tick.next.is_some_and(|next| next <= now);
        repairs.extend(tick.repairs);
        tick.due.into_iter().for_each(|due| renewals.add(shared, id, &claim, due));
    }
    queue.has_looked(claims == room || requests >= room * USUAL, was_cut, now);
    (renewals, repairs)
}
