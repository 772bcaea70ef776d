//! How an acquire that was refused learns when to ask again.

use std::time::Duration;

use crate::error::ConfigError;

/// How a waiter learns that a lock may be free.
///
/// Releases are announced in either case. In one process all waiters for the same lock stand in one line,
/// and the first waits in its own way.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use palisade::waiting::{Backoff, WaitStrategy};
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let backoff = Backoff::new(Duration::from_millis(5), Duration::from_millis(500))?;
/// let lock = client.lock("orders:42").wait_strategy(WaitStrategy::Poll(backoff));
/// lock.acquire().await?.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WaitStrategy {
    /// Subscribes to the lock's channel, and asks when a release is announced or the holder's lease ends.
    #[default]
    Listen,
    /// Asks again and again, with pauses, and subscribes to nothing. It is for servers whose pub/sub
    /// cannot be used, and beside locks that announce nothing, such as Redisson's `RedissonSpinLock`. A
    /// waiter in a queue of the server, as for a [`FairLock`](crate::FairLock), asks once a second at
    /// least.
    Poll(Backoff),
    /// Both: listens, and asks with pauses as well, of five seconds at most. For names that are shared with
    /// locks that announce their releases elsewhere, as a [`FairLock`](crate::FairLock) does for waiters that
    /// want a plain [`Lock`](crate::Lock).
    ListenAndPoll(Backoff),
}

impl WaitStrategy {
    pub(crate) const fn listens(self) -> bool {
        !matches!(self, Self::Poll(_))
    }

    /// Whether it does not matter that others are told first. Polling beside listening is for releases that are not
    /// announced: one that looks often is not to stop.
    pub(crate) fn relies_on_messages(self) -> bool {
        match self {
            Self::Listen => true,
            Self::Poll(_) => false,
            Self::ListenAndPoll(backoff) => backoff.longest >= SELDOM,
        }
    }

    /// The same with no pause longer than this.
    pub(crate) fn with_pauses_of_at_most(self, most: Duration) -> Self {
        match self {
            Self::Listen => Self::Listen,
            Self::Poll(backoff) => Self::Poll(backoff.of_at_most(most)),
            Self::ListenAndPoll(backoff) => Self::ListenAndPoll(backoff.of_at_most(most)),
        }
    }
}

/// Pauses that double from one to the next. Each is cut at random, so that many do not ask in step,
/// and ends with the holder's lease at the latest.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::waiting::Backoff;
///
/// assert!(Backoff::new(Duration::ZERO, Duration::from_millis(100)).is_err());
/// assert_eq!(Backoff::new(Duration::from_millis(1), Duration::from_millis(128)), Ok(Backoff::default()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub(super) first: Duration,
    pub(super) longest: Duration,
}

impl Backoff {
    /// Pauses from `first` to `longest`: at least 1 ms and at most a minute.
    ///
    /// # Errors
    /// [`ConfigError::InvalidSetting`].
    pub fn new(first: Duration, longest: Duration) -> Result<Self, ConfigError> {
        if SHORTEST <= first && first <= longest && longest <= LONGEST {
            return Ok(Self { first, longest });
        }
        let reason =
            format!("from {first:?} to {longest:?}: must be within {SHORTEST:?} … {LONGEST:?}");
        Err(ConfigError::InvalidSetting { setting: "backoff", reason: reason.into() })
    }

    fn of_at_most(self, most: Duration) -> Self {
        Self { first: self.first.min(most), longest: self.longest.min(most) }
    }
}

/// From 1 ms to 128 ms, as Redisson's `RedissonSpinLock`.
impl Default for Backoff {
    fn default() -> Self {
        Self { first: SHORTEST, longest: Duration::from_millis(128) }
    }
}

const SHORTEST: Duration = Duration::from_millis(1);
/// As often as a waiter looks that has the turn.
const SELDOM: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_that_end_at_once_or_hardly_ever_are_refused() {
        let ms = Duration::from_millis;
        for (first, longest) in [(0, 10), (20, 10), (1, 60_001)] {
            assert!(Backoff::new(ms(first), ms(longest)).is_err(), "{first} {longest}");
        }
        for (first, longest) in [(1, 1), (10, 60_000)] {
            assert!(Backoff::new(ms(first), ms(longest)).is_ok(), "{first} {longest}");
        }
    }
}
