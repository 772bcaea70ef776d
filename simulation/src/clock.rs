//! The clock of a simulated process: it drifts, it stands still for a process that does, and its
//! timers may be late.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use checkers::time::Time;
use futures::future::BoxFuture;
use palisade::clock::{Clock, Instant};
use workload::Timekeeper;

use crate::{
    event::ProcessId,
    plan::ProcessPlan,
    world::{Running, World},
};

#[derive(Debug, Clone)]
pub(crate) struct SimClock {
    world: Arc<World>,
    process: ProcessId,
    /// What it showed at the beginning, in microseconds.
    origin_us: u64,
    /// What its wall clock showed then, since 1970.
    unix_us: u64,
    /// When it is set, and by how much.
    set: Option<(u64, i64)>,
    /// By how many parts in a million it is fast.
    ppm: i64,
    /// By how much its timers are late.
    late_us: u64,
}

impl SimClock {
    pub(crate) fn new(world: &Arc<World>, process: ProcessId, plan: &ProcessPlan) -> Self {
        let ProcessPlan { clock_us: origin_us, wall_clock_us: unix_us, set, ppm, .. } = *plan;
        Self { world: world.clone(), process, origin_us, unix_us, set, ppm, late_us: 0 }
    }

    /// The same clock with timers that are late.
    pub(crate) fn late(&self, late_us: u64) -> Self {
        Self { late_us, ..self.clone() }
    }

    /// Until a true time, but not while the process stands still.
    fn sleep_until_us(&self, at: u64) -> Sleep {
        Sleep { world: self.world.clone(), process: self.process, at, running: None }
    }

    fn shown_us(&self, true_us: u64) -> u64 {
        let gained = i128::from(true_us) * i128::from(self.ppm) / 1_000_000;
        let shown = i128::from(self.origin_us) + i128::from(true_us) + gained;
        u64::try_from(shown).unwrap_or(0)
    }

    /// The last microsecond at which it does not show more than this.
    fn true_us(&self, shown_us: u64) -> u64 {
        let elapsed = u128::from(shown_us.saturating_sub(self.origin_us));
        let rate = u128::try_from(1_000_000 + self.ppm).unwrap_or(1_000_000);
        let mut guess = u64::try_from(elapsed * 1_000_000 / rate).unwrap_or(u64::MAX / 2);
        while guess > 0 && self.shown_us(guess) > shown_us {
            guess -= 1;
        }
        while self.shown_us(guess + 1) <= shown_us {
            guess += 1;
        }
        guess
    }
}

impl Clock for SimClock {
    fn unix_time(&self) -> Duration {
        // What the process believes: as wrong as its clock has drifted by now, and was set.
        let now = self.world.now_us();
        let shown = self.shown_us(now).saturating_sub(self.origin_us);
        let by_us = self.set.filter(|(at, _)| *at <= now).map_or(0, |(_, by_us)| by_us);
        Duration::from_micros((self.unix_us + shown).saturating_add_signed(by_us))
    }

    fn now(&self) -> Instant {
        Instant::from_origin(Duration::from_micros(self.shown_us(self.world.now_us())))
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let nanos = at.since_origin().as_nanos();
        let shown = u64::try_from(nanos.div_ceil(1_000)).unwrap_or(u64::MAX / 4).min(u64::MAX / 4);
        let due = self.true_us(shown);
        let due = if self.shown_us(due) < shown { due + 1 } else { due };
        Box::pin(self.sleep_until_us(due + self.late_us))
    }
}

/// By the true time.
impl Timekeeper for SimClock {
    fn now(&self) -> Time {
        self.world.now()
    }

    /// The last moment at which the clock does not show more than `at`.
    fn time_of(&self, at: Instant) -> Time {
        let shown = u64::try_from(at.since_origin().as_micros()).unwrap_or(u64::MAX);
        Time::from_micros(self.true_us(shown))
    }

    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()> {
        Box::pin(self.sleep_until_us((self.world.now() + length).as_micros()))
    }
}

/// Until a true time, and until the process runs.
#[derive(Debug)]
pub(crate) struct Sleep {
    world: Arc<World>,
    process: ProcessId,
    at: u64,
    running: Option<Running>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.world.now_us() >= self.at && !self.world.is_paused(self.process) {
            return Poll::Ready(());
        }
        match &self.running {
            Some(running) => self.world.rearm_timer(running, cx.waker()),
            None => {
                let waker = cx.waker().clone();
                self.running = Some(self.world.start_timer(self.process, self.at, waker));
            }
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            self.world.stop_timer(&running);
        }
    }
}

#[cfg(test)]
mod tests {
    use checkers::random::Random;

    use super::*;

    #[test]
    fn a_drifting_clock_is_read_back_to_the_microsecond() {
        let world = Arc::new(World::new(Random::new(1), 1));
        for ppm in [-10_000, -3, 0, 7, 10_000] {
            let plan = ProcessPlan {
                lanes: 1,
                beat_us: 0,
                clock_us: 12_345,
                wall_clock_us: 0,
                set: None,
                ppm,
                max_lease_ms: None,
                examines: false,
                begins_us: 0,
                late_us: 0,
                watchdog_late_us: 0,
            };
            let clock = SimClock::new(&world, 0, &plan);
            for true_us in [0, 1, 99, 100, 101, 5_000_000, 5_000_001] {
                let shown = clock.shown_us(true_us);
                let back = clock.true_us(shown);
                assert_eq!(clock.shown_us(back), shown, "{ppm} {true_us}");
                assert!(clock.shown_us(back + 1) > shown, "{ppm} {true_us}");
            }
        }
    }
}
