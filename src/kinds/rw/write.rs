//! The side of those who write.

use std::{sync::Arc, time::Duration};

use super::{
    guard::WriteGuard,
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

/// The side of a [`RwLock`](crate::RwLock) of those who write: one at a time, and nobody reads.
///
/// # Guarantees
/// Those of [`RwLock`](crate::RwLock). While readers hold the lock, whoever waits for it asks twice a
/// second, so that new readers know of it.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let writing = client.rw_lock("config").write();
/// let guard = writing.acquire().await?;
/// let writer = writing.holder().await?.ok_or("nobody writes")?;
/// assert_eq!(writer.id, guard.holder_id());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct WriteLock {
    pub(crate) handle: Handle<WriteGuard>,
    rw: Arc<Rw>,
}

lock_methods!([] WriteLock, WriteGuard);

impl WriteLock {
    pub(super) fn new(services: Arc<NodeServices>, rw: Arc<Rw>) -> Self {
        let member = Voter::new(services, Arc::new(RwSide::of(&rw, Mode::Write)));
        Self { handle: Handle::new(Target::one(member)), rw }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.voter().name()
    }

    /// Whether anybody writes.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn is_locked(&self) -> Result<bool, InspectError> {
        Ok(self.holder().await?.is_some())
    }

    /// How much longer it is held for writing unless that is renewed. `None` if nobody writes, or
    /// without a ttl.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn remaining_ttl(&self) -> Result<Option<Duration>, InspectError> {
        Ok(self.holder().await?.and_then(|holder| holder.ttl))
    }

    /// Who writes.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holder(&self) -> Result<Option<Holder>, InspectError> {
        Ok(standing(&self.plain()).await?.writer)
    }

    /// Takes the lock from who writes, and wakes those who wait. False if nobody did; readers keep it.
    /// See [`Lock::force_release`] for who learns of it, and when.
    ///
    /// # Errors
    /// As [`Lock::force_release`].
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`].
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_release(&self.plain(), &self.rw, Mode::Write).await
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
