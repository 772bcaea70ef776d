//! The side of those who read.

use std::{sync::Arc, time::Duration};

use super::{
    guard::ReadGuard,
    script::{Mode, Rw, RwSide},
    side::{force_release, standing},
};
use crate::{
    acquire::{Handle, Target, lock_methods},
    error::InspectError,
    kind::Holder,
    kinds::mutex::Lock,
    lease::Lease,
    process::NodeServices,
    voting::Voter,
};

/// The side of a [`RwLock`](crate::RwLock) of those who read: many at once.
///
/// # Guarantees
/// Those of [`RwLock`](crate::RwLock).
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let reading = client.rw_lock("config").read();
/// let (_one, _other) = (reading.acquire().await?, reading.acquire().await?);
/// assert_eq!(reading.holders().await?.len(), 2);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct ReadLock {
    pub(crate) handle: Handle<ReadGuard>,
    rw: Arc<Rw>,
}

lock_methods!([] ReadLock, ReadGuard);

impl ReadLock {
    pub(super) fn new(services: Arc<NodeServices>, rw: Arc<Rw>) -> Self {
        let member = Voter::new(services, Arc::new(RwSide::of(&rw, Mode::Read)));
        Self { handle: Handle::new(Target::one(member)), rw }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.voter().name()
    }

    /// Whether anybody reads.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn is_locked(&self) -> Result<bool, InspectError> {
        Ok(!self.holders().await?.is_empty())
    }

    /// How much longer others may read unless they renew that: the longest lease of all. `None` if
    /// nobody reads, or without a ttl.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn remaining_ttl(&self) -> Result<Option<Duration>, InspectError> {
        Ok(self.holders().await?.first().and_then(|holder| holder.ttl))
    }

    /// Who reads, each with the ttl of all.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        Ok(standing(&self.plain()).await?.holders)
    }

    /// Takes the lock from all who read, and wakes those who wait. False if nobody did; a writer keeps
    /// it. See [`Lock::force_release`] for who learns of it, and when.
    ///
    /// # Errors
    /// As [`Lock::force_release`].
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`].
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_release(&self.plain(), &self.rw, Mode::Read).await
    }

    pub(crate) fn voter(&self) -> &Voter {
        self.handle.target.members.first()
    }

    /// The lock of the same name, to look at.
    pub(crate) fn plain(&self) -> Lock {
        Lock::beside(self.voter())
    }

    /// Whether the lock was given a lease of its own.
    pub(crate) fn has_own_lease(&self) -> bool {
        self.handle.lease != Lease::default()
    }
}
