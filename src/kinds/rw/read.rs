//! The side of readers.

use std::sync::Arc;

use super::{
    guard::ReadGuard,
    script::{Mode, Rw, RwSide},
    sides::sides,
};
use crate::{
    acquire::{Handle, Target, into_box_lock, lock_methods},
    error::InspectError,
    kind::Holder,
    kinds::looking::{force_open, single_lock_methods},
    process::NodeServices,
    voting::Voter,
};

/// The side of a [`RwLock`](crate::RwLock) for readers: many at once.
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
into_box_lock!([] ReadLock);
single_lock_methods!(ReadLock, holders);

impl ReadLock {
    pub(super) fn new(services: Arc<NodeServices>, rw: Arc<Rw>) -> Self {
        let member = Voter::new(services, Arc::new(RwSide::of(&rw, Mode::Read)));
        Self { handle: Handle::new(Target::one(member)), rw }
    }

    /// The readers, each with the ttl of all.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        Ok(sides(self.voter()).await?.holders)
    }

    /// Takes the lock from all readers, and wakes the waiters. False if there was none; a writer keeps
    /// it. See [`Lock::force_release`](crate::Lock::force_release) for what learns of it, and when.
    ///
    /// # Errors
    /// As [`Lock::force_release`](crate::Lock::force_release).
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`](crate::Lock::force_release).
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_open(self.voter(), &self.rw.force(Mode::Read)).await
    }
}
