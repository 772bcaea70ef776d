//! A clock that is not monotonic, for the bug of that name.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::clock::{Clock, Instant, SharedClock};

/// The clock to measure leases by.
pub(crate) fn measured_by(clock: SharedClock) -> SharedClock {
    if planted!(WallClock) { Arc::new(WallClock(clock)) } else { clock }
}

/// Shows the time of day of another clock.
#[derive(Debug)]
struct WallClock(SharedClock);

impl Clock for WallClock {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn sleep_until(&self, at: Instant) -> BoxFuture<'static, ()> {
        let left = at.saturating_since(self.now());
        self.0.sleep_until(self.0.now() + left)
    }
}
