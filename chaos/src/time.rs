//! Points in time that all processes of a machine agree on.

pub(crate) use checkers::time::Time;
use palisade::clock::{BootClock, Clock, Instant};

/// Now on CLOCK_BOOTTIME, the clock by which the library measures leases.
pub(crate) fn now() -> Time {
    of(BootClock.now())
}

pub(crate) fn of(instant: Instant) -> Time {
    instant.since_origin().into()
}
