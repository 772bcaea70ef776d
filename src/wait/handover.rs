// keeps: deciders-pure
//! For how long a lock stays with one process while others may want it. Pure.

use std::time::Duration;

use crate::error::ConfigError;

/// Whether a lock passes from one user to the next waiter of the same process without a word to the
/// servers.
///
/// A lock that is wanted by many tasks of a process changes hands in microseconds like that. So that
/// other processes get their turns, it does so for a fiftieth of the limit at a time. While none of them
/// is known to wait, it goes on up to the limit. Then it is released, and left to others for another
/// fiftieth before this process asks for it again.
///
/// A lock that was forced open, or whose key was deleted, may pass on until that is noticed: for the
/// limit at most.
///
/// Only between users that acquired with [renewed leases](crate::Lease::Watchdog) of the same length and
/// without an [`Owner`](crate::Owner): every other hold is released and acquired.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use std::time::Duration;
/// use palisade::{Client, settings::LocalHandover};
///
/// // Half a millisecond at a time, 25 ms at most.
/// let brief = LocalHandover::UpTo(Duration::from_millis(25));
/// let client = Client::builder().url("redis://127.0.0.1").local_handover(brief).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LocalHandover {
    /// Each user acquires from the servers.
    Off,
    /// For so long in a row at most, from 1 ms to 10 s. Defaults to 50 ms.
    UpTo(Duration),
}

impl Default for LocalHandover {
    fn default() -> Self {
        Self::UpTo(Duration::from_millis(50))
    }
}

/// What becomes of a lock whose user is done with it while others of its process wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parting {
    /// It stays: passed on where that may be.
    Stay {
        /// Whether the next may ask for it right behind its release, where it is not passed on.
        or_ask_at_once: bool,
    },
    /// It is released, and left to other processes for so long.
    Leave(Duration),
}

impl LocalHandover {
    /// # Errors
    /// It is out of bounds.
    pub(crate) fn check(self) -> Result<(), ConfigError> {
        let Self::UpTo(limit) = self else { return Ok(()) };
        let reason = match limit {
            limit if limit < LEAST => "must be at least 1 ms; `Off` turns it off",
            limit if limit > MOST => "must be at most 10 s",
            _ => return Ok(()),
        };
        Err(ConfigError::InvalidSetting { setting: "local_handover", reason: reason.into() })
    }

    /// What suits both.
    pub(crate) fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::UpTo(one), Self::UpTo(other)) => Self::UpTo(one.min(other)),
            _ => Self::Off,
        }
    }

    /// How long in a row at most; `None` if not at all.
    pub(crate) const fn limit(self) -> Option<Duration> {
        match self {
            Self::Off => None,
            Self::UpTo(limit) => Some(limit),
        }
    }
}

impl Parting {
    /// Of a lock that stays for up to `limit` and has been this process' for so `long`. `round_trip` is
    /// that of the farthest server.
    pub(crate) fn after(
        long: Duration,
        limit: Duration,
        nobody_else_waits: bool,
        round_trip: Duration,
    ) -> Self {
        let slice = limit / 50;
        let is_within = planted!(HandoverBeyondLimit) || long < limit;
        if nobody_else_waits && is_within {
            Self::Stay { or_ask_at_once: true }
        } else if long < slice || planted!(HandoverBeyondLimit) {
            Self::Stay { or_ask_at_once: false }
        } else {
            Self::Leave(slice.max(round_trip * 2))
        }
    }
}

const LEAST: Duration = Duration::from_millis(1);
const MOST: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn lock_stays_for_a_slice_and_up_to_the_limit_where_nobody_else_waits() {
        let stay = |or_ask_at_once| Parting::Stay { or_ask_at_once };
        let leave = Parting::Leave;
        for (long, nobody, round_trip, expected) in [
            (ms(0), false, ms(0), stay(false)),
            (ms(0), true, ms(0), stay(true)),
            (ms(1), false, ms(0), leave(ms(1))),
            (ms(1), true, ms(0), stay(true)),
            (ms(49), true, ms(0), stay(true)),
            (ms(50), true, ms(0), leave(ms(1))),
            (ms(50), true, ms(10), leave(ms(20))),
        ] {
            let parting = Parting::after(long, ms(50), nobody, round_trip);
            assert_eq!(parting, expected, "{long:?} {nobody} {round_trip:?}");
        }
        assert_eq!(LocalHandover::default().limit(), Some(ms(50)));
        assert_eq!(LocalHandover::Off.limit(), None);
    }

    #[test]
    fn limits_out_of_bounds_are_refused_and_the_stricter_of_two_counts() {
        for (limit, is_allowed) in [(0, false), (1, true), (10_000, true), (10_001, false)] {
            assert_eq!(LocalHandover::UpTo(ms(limit)).check().is_ok(), is_allowed, "{limit}");
        }
        let (brief, long) = (LocalHandover::UpTo(ms(5)), LocalHandover::default());
        assert_eq!((brief.stricter(long), long.stricter(brief)), (brief, brief));
        assert_eq!(brief.stricter(LocalHandover::Off), LocalHandover::Off);
        assert_eq!(LocalHandover::Off.check(), Ok(()));
    }
}
