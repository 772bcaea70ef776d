//! What became of a lock that was to be taken away.

use std::{fmt, time::Duration};

use crate::error::Shown;

/// What became of a lock on one server that was to be [taken away](crate::Lock::revoke) from a holder.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::inspect::Revoked;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.lock("orders:42");
/// let guard = lock.acquire().await?;
/// assert_eq!(lock.revoke("another:1").await?, Revoked::NotHeld { is_free: false });
/// assert_eq!(lock.revoke_now(guard.holder_id()).await?, Revoked::Freed);
/// assert!(!lock.is_locked().await?);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Revoked {
    /// Another id stands in place of the holder until its ttl is over, and nothing renews that.
    #[non_exhaustive]
    Replaced {
        /// The id that stands there.
        by: String,
        /// For how long from now: of a reader, by its own lease.
        ttl: Duration,
    },
    /// The same, and it was given back at once.
    Freed,
    /// It was taken away from this holder before, and is free when the ttl is over.
    #[non_exhaustive]
    Before {
        /// What stands in its place.
        by: String,
        /// For how long from now.
        ttl: Duration,
    },
    /// The holder does not hold it.
    NotHeld {
        /// Whether nothing else does.
        is_free: bool,
    },
}

impl Revoked {
    /// Whether the holder does not hold it there any more, since it was taken away, now or before.
    #[must_use]
    pub fn is_taken_away(&self) -> bool {
        !matches!(self, Self::NotHeld { .. })
    }
}

impl fmt::Display for Revoked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { by, ttl } => {
                write!(f, "taken away: {} holds it for {} ms", Shown::new(by), ttl.as_millis())
            }
            Self::Freed => f.write_str("taken away, and given back"),
            Self::Before { by, ttl } => {
                let (by, ms) = (Shown::new(by), ttl.as_millis());
                write!(f, "taken away before: {by} holds it for {ms} ms")
            }
            Self::NotHeld { is_free: true } => f.write_str("free"),
            Self::NotHeld { is_free: false } => f.write_str("held by another"),
        }
    }
}
