//! Points in time that all processes of a machine agree on.

use std::{
    fmt,
    ops::{Add, Sub},
    time::Duration,
};

use palisade::clock::{BootClock, Clock, Instant};
use serde::{Deserialize, Serialize};

/// Microseconds on CLOCK_BOOTTIME, the clock by which the library measures leases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Time(u64);

impl Time {
    pub(crate) fn now() -> Self {
        BootClock.now().into()
    }

    pub(crate) const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// How long after `earlier` this is; zero if it is not.
    pub(crate) const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl From<Instant> for Time {
    fn from(instant: Instant) -> Self {
        Self(micros(instant.since_origin()))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(micros(by)))
    }
}

impl Sub<Duration> for Time {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(micros(by)))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}us", self.0)
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
