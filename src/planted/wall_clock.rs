//! A clock that is not monotonic, for the bug of that name.

use std::{sync::Arc, time::Duration};

use futures::future::BoxFuture;

use crate::clock::{Clock, Instant, SharedClock};

/// The clock to measure leases by.
pub(crate) fn measured_by(clock: SharedClock) -> SharedClock {
    if !planted!(WallClock) {
        return clock;
    }
    let (began, unix_began) = (clock.now(), clock.unix_time());
    Arc::new(WallClock { clock, began, unix_began })
}

/// Goes as the time of day does: as any clock, until it is set.
#[derive(Debug)]
struct WallClock {
    clock: SharedClock,
    began: Instant,
    unix_began: Duration,
}

impl Clock for WallClock {
    fn now(&self) -> Instant {
        let unix_now = self.clock.unix_time();
        let back = self.unix_began.saturating_sub(unix_now);
        self.began + unix_now.saturating_sub(self.unix_began) - back
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let left = at.saturating_since(self.now());
        self.clock.sleep_until(self.clock.now() + left)
    }

    fn unix_time(&self) -> Duration {
        self.clock.unix_time()
    }
}
