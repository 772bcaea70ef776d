//! The server's wall clock: that of its tokio runtime, or of a simulation, with a rate and an
//! offset one can set.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tokio::time::Instant;

/// Follows tokio's clock from the machine's time at the start, so that under a paused runtime
/// `TIME` and every time to live stand still with it.
#[derive(Debug)]
pub(crate) struct EngineClock {
    runtime: Handle,
    source: Source,
    /// What the source said when the rate was set last, and what the clock showed then.
    origin: Duration,
    origin_us: i64,
    /// By how many parts in a million it is fast.
    rate_ppm: i64,
    offset_ms: i64,
}

/// What the clock follows: a time that never goes back.
#[derive(Clone)]
pub(crate) enum Source {
    /// tokio's, since an instant of it.
    Runtime(Instant),
    Given(Arc<dyn Fn() -> Duration + Send + Sync>),
}

impl EngineClock {
    /// `starts` is what it shows now, since the beginning of 1970; the machine's time if `None`.
    pub(crate) fn new(runtime: Handle, source: Option<Source>, starts: Option<Duration>) -> Self {
        // Before 1970 there is nothing to count from: zero does as well.
        let machine = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin_us = micros(starts.unwrap_or_else(machine));
        let source = source.unwrap_or_else(|| Source::Runtime(now_in(&runtime)));
        let mut clock =
            Self { runtime, source, origin: Duration::ZERO, origin_us, rate_ppm: 0, offset_ms: 0 };
        clock.origin = clock.elapsed();
        clock
    }

    /// The runtime's own time, which no offset moves.
    pub(crate) fn instant(&self) -> Instant {
        now_in(&self.runtime)
    }

    pub(crate) fn unix_us(&self) -> i64 {
        self.steady_us().saturating_add(self.offset_ms.saturating_mul(1000))
    }

    pub(crate) fn unix_ms(&self) -> i64 {
        self.unix_us().div_euclid(1000)
    }

    pub(crate) fn set_offset(&mut self, offset_ms: i64) {
        self.offset_ms = offset_ms;
    }

    pub(crate) fn jump(&mut self, by_ms: i64) {
        self.offset_ms = self.offset_ms.saturating_add(by_ms);
    }

    pub(crate) fn set_rate(&mut self, ppm: i64) {
        self.origin_us = self.steady_us();
        self.origin = self.elapsed();
        self.rate_ppm = ppm;
    }

    fn steady_us(&self) -> i64 {
        let elapsed = micros(self.elapsed().saturating_sub(self.origin));
        let gained = i128::from(elapsed) * i128::from(self.rate_ppm) / 1_000_000;
        let gained = i64::try_from(gained).unwrap_or(i64::MAX);
        self.origin_us.saturating_add(elapsed).saturating_add(gained)
    }

    fn elapsed(&self) -> Duration {
        match &self.source {
            Source::Runtime(since) => self.instant().duration_since(*since),
            Source::Given(elapsed) => elapsed(),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Runtime(_) => "Runtime",
            Self::Given(_) => "Given",
        })
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// The time in that runtime, wherever we are called from.
fn now_in(runtime: &Handle) -> Instant {
    let _inside = runtime.enter();
    Instant::now()
}

/// Whether we are called in a runtime whose time is paused.
///
/// tokio does not tell, but a clock of its that runs reads the machine's: whenever that has moved
/// between two looks at tokio's, so must tokio's have.
pub(crate) fn is_paused_here() -> bool {
    if Handle::try_current().is_err() {
        return false;
    }
    let (before, machine) = (Instant::now(), std::time::Instant::now());
    while std::time::Instant::now() == machine {
        std::hint::spin_loop();
    }
    Instant::now() == before
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_fast_clock_gains_from_the_moment_it_is_fast() {
        let ms = Arc::new(AtomicU64::new(5));
        let time = ms.clone();
        let given = move || Duration::from_millis(time.load(Ordering::Relaxed));
        let start = Some(Duration::from_secs(1_000));
        let source = Some(Source::Given(Arc::new(given)));
        let mut clock = EngineClock::new(Handle::current(), source, start);
        assert_eq!(clock.unix_ms(), 1_000_000);
        ms.store(105, Ordering::Relaxed);
        assert_eq!(clock.unix_ms(), 1_000_100);
        clock.set_rate(10_000);
        clock.jump(-3);
        ms.store(1_105, Ordering::Relaxed);
        assert_eq!(clock.unix_ms(), 1_001_107);
        clock.set_rate(-5_000);
        ms.store(2_105, Ordering::Relaxed);
        assert_eq!(clock.unix_us(), 1_002_102_000);
    }

    #[tokio::test]
    async fn a_clock_that_runs_is_never_taken_for_a_paused_one() {
        assert!((0..10_000).all(|_| !is_paused_here()));
        tokio::time::pause();
        assert!((0..100).all(|_| is_paused_here()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(is_paused_here());
        tokio::time::resume();
        assert!((0..10_000).all(|_| !is_paused_here()));
    }

    #[test]
    fn outside_of_a_runtime_nothing_is_paused() {
        assert!(!is_paused_here());
    }
}
