//! The watchdog's loop: sleeps until something is due, and sends what is due in batches.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};

use super::{LOOK_AGAIN, Repair, Shared, Tick, Watched, renewals::Renewals, repairs::Repairs};
use crate::{
    clock::{Instant, SharedClock},
    panics::contained,
};

/// So many claims are looked at together: few enough that they are still in a CPU's cache when the answers
/// come, and enough calls to keep a few servers busy that were woken for them.
const AT_ONCE: usize = 512;

/// How long others are to reach the servers before the next claims are looked at.
const PAUSE: Duration = Duration::from_millis(1);

/// What has been due for longer is looked at by the thousand.
const LATE: Duration = Duration::from_secs(1);

/// So many then: what is built for them is still small.
const AT_ONCE_IF_LATE: usize = 4_096;

/// Timers stand still while a machine sleeps, and whoever waits for a loss is to learn of it soon
/// after it has woken.
const GLANCE: Duration = Duration::from_secs(1);

pub(super) async fn watch(shared: &Shared) {
    let (mut under_way, mut repairs) = (FuturesUnordered::new(), Repairs::default());
    let mut not_before = Instant::from_origin(Duration::ZERO);
    loop {
        tokio::select! {
            biased;
            Some(()) = under_way.next(), if !under_way.is_empty() => {}
            () = repairs.next(), if !repairs.is_empty() => {}
            () = shared.nudge.notified() => {}
            due_at = next_due(shared, not_before) => {
                let now = shared.clock.now();
                let claims = shared.table().schedule.take_due(now, at_once(now, due_at));
                not_before = if claims.len() == AT_ONCE { now + PAUSE } else { now };
                let (renewals, new_repairs) = look_at(shared, claims, now);
                under_way.extend(renewals.send());
                repairs.add(new_repairs);
            }
        }
        shared.is_running.store(true, Ordering::Relaxed);
    }
}

/// Sleeps until something is due and may be looked at, at most [`GLANCE`]. Returns when it was due.
async fn next_due(shared: &Shared, not_before: Instant) -> Instant {
    let next = {
        let mut table = shared.table();
        let next = table.schedule.next();
        table.wakes_at = next.map(|next| next.max(not_before));
        next.zip(table.wakes_at)
    };
    let Some((due_at, wakes_at)) = next else { return std::future::pending().await };
    sleep_until(&shared.clock, wakes_at).await;
    due_at
}

async fn sleep_until(clock: &SharedClock, at: Instant) {
    clock.sleep_until(at.min(clock.now() + GLANCE)).await;
}

/// How many may be looked at together, of those that were due at `due_at`.
fn at_once(now: Instant, due_at: Instant) -> usize {
    if now.saturating_since(due_at) > LATE { AT_ONCE_IF_LATE } else { AT_ONCE }
}

fn look_at(
    shared: &Shared,
    claims: Vec<(u64, Arc<dyn Watched>)>,
    now: Instant,
) -> (Renewals<'_>, Vec<Repair>) {
    let (mut renewals, mut repairs) = (Renewals::default(), Vec::new());
    for (id, claim) in claims {
        let tick = contained(|| claim.clone().tick(now));
        let tick = tick.unwrap_or_else(|| Tick::only_look_again(now + LOOK_AGAIN));
        shared.reschedule(id, tick.next);
        repairs.extend(tick.repairs);
        tick.due.into_iter().for_each(|due| renewals.add(shared, id, &claim, due));
    }
    (renewals, repairs)
}
