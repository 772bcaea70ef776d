//! The server's wall clock: that of its tokio runtime, plus an offset one can set.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::runtime::Handle;
use tokio::time::Instant;

/// Follows tokio's clock from the machine's time at the start, so that under a paused runtime
/// `TIME` and every time to live stand still with it.
#[derive(Debug)]
pub(crate) struct Clock {
    runtime: Handle,
    origin: Instant,
    origin_unix: Duration,
    offset_ms: i64,
}

impl Clock {
    pub(crate) fn new(runtime: Handle) -> Self {
        // Before 1970 there is nothing to count from: zero does as well.
        let origin_unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let origin = now_in(&runtime);
        Self { runtime, origin, origin_unix, offset_ms: 0 }
    }

    /// The runtime's own time, which no offset moves.
    pub(crate) fn instant(&self) -> Instant {
        now_in(&self.runtime)
    }

    pub(crate) fn unix_us(&self) -> i64 {
        let unix = self.origin_unix + self.instant().duration_since(self.origin);
        let unix_us = i64::try_from(unix.as_micros()).unwrap_or(i64::MAX);
        unix_us.saturating_add(self.offset_ms.saturating_mul(1000))
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
}

/// The time in that runtime, wherever we are called from.
fn now_in(runtime: &Handle) -> Instant {
    let _inside = runtime.enter();
    Instant::now()
}
