//! Points in time that all processes of a machine agree on.

use std::time::Duration;

pub(crate) use checkers::time::Time;
use palisade::clock::{BootClock, Clock, Instant};
use tokio::sync::watch;
use workload::{BoxFuture, Timekeeper};

/// Now on CLOCK_BOOTTIME, the clock by which the library measures leases.
pub(crate) fn now() -> Time {
    of(BootClock.now())
}

fn of(instant: Instant) -> Time {
    instant.since_origin().into()
}

/// Real time, until it is said to be up.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) finish: watch::Receiver<bool>,
}

impl Timekeeper for Machine {
    fn now(&self) -> Time {
        now()
    }

    fn time_of(&self, at: Instant) -> Time {
        of(at)
    }

    fn sleep(&self, length: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(length))
    }

    fn is_time_up(&self) -> bool {
        *self.finish.borrow()
    }
}
