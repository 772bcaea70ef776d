//! Elections, as users have them.

use std::{fmt, time::Duration};

use super::{
    announced::Leader,
    leadership::Leadership,
    looking::{Sighting, look},
    observer::Observer,
};
use crate::{
    acquire::{AnyLock, Handle, WaitLimit},
    error::{AcquireError, InspectError},
    guard::{AnyGuard, LockGuard},
};

/// A guard that has a [fencing token](crate::FencingToken) for sure: what elections stand on.
///
/// # Examples
/// ```
/// use palisade::{AnyLock, election::{Election, HasToken}};
///
/// fn election(lock: impl AnyLock<Guard: HasToken>) -> Election {
///     Election::new(lock)
/// }
/// ```
pub trait HasToken: AnyGuard {}

/// An election: of all that campaign one leads, until it resigns, drops its [`Leadership`] or loses it.
///
/// Made by [`Client::election`](crate::Client::election), [`Masters::election`](crate::Masters::election), or of any lock
/// with fencing tokens. The module's page says [what is promised](crate::election).
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let election = client.election("scheduler");
/// let leadership = election.campaign().await?;
/// leadership.proclaim("http://10.0.0.7:8080").await?;
/// // … leads, as long as `leadership.lost()` does not say otherwise …
/// leadership.resign().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct Election {
    handle: Handle<LockGuard>,
}

impl Election {
    /// The election whose leader holds `lock`, with its lease and its other settings. Sends nothing.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    ///
    /// use palisade::{Lease, Masters, election::Election};
    ///
    /// let masters = Masters::connect(["redis://a", "redis://b", "redis://c"]).await?;
    /// // A leader that dies is followed after five seconds.
    /// let lease = Lease::WatchdogOf(Duration::from_secs(5));
    /// let election = Election::new(masters.fenced_red_lock("scheduler").with_lease(lease));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn new<L: AnyLock<Guard: HasToken>>(lock: L) -> Self {
        Self { handle: lock.boxed().handle }
    }

    /// The name of its lock.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.target.name()
    }

    /// Waits until it leads. It then announces that, which takes one more round trip.
    ///
    /// # Errors
    /// [`AcquireError`]: as of the lock; it does not lead. That it could not announce itself is no error: it leads all
    /// the same, and observers see a leader without a token until it [proclaims](Leadership::proclaim) something.
    ///
    /// # Cancel safety
    /// Dropping the future takes the candidate back; what it was granted meanwhile is released in the background.
    pub async fn campaign(&self) -> Result<Leadership, AcquireError> {
        // Only a limit in time ends the wait without a guard.
        self.campaign_within(WaitLimit::Forever).await?.ok_or(AcquireError::Shutdown)
    }

    /// The same, for so long at most: `None` if others led all the time. With a limit of zero it asks once.
    ///
    /// # Errors
    /// As [`campaign`](Self::campaign).
    ///
    /// # Cancel safety
    /// As [`campaign`](Self::campaign).
    pub async fn try_campaign_for(
        &self,
        limit: Duration,
    ) -> Result<Option<Leadership>, AcquireError> {
        self.campaign_within(WaitLimit::of(limit)).await
    }

    async fn campaign_within(
        &self,
        patience: WaitLimit,
    ) -> Result<Option<Leadership>, AcquireError> {
        let Some(guard) = self.handle.acquire_anew(patience).await? else { return Ok(None) };
        let leadership = Leadership::of(guard)?;
        leadership.announce().await;
        Ok(Some(leadership))
    }

    /// Which candidate leads now, as far as the servers tell. A hint: it may be over by the time it is read.
    ///
    /// # Errors
    /// [`InspectError`]: so many servers did not answer that it is open whether any leads.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn leader(&self) -> Result<Option<Leader>, InspectError> {
        look(&self.handle.target.members).await.map(|Sighting { leader, .. }| leader)
    }

    /// Follows which candidate leads. Sends nothing before it is asked.
    #[must_use]
    pub fn observe(&self) -> Observer {
        Observer::new(self.handle.target.clone())
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.show("Election", f)
    }
}
