//! The side of writers.

use std::sync::Arc;

use super::{
    guard::WriteGuard,
    script::{Mode, Rw, RwSide},
    sides::sides,
};
use crate::{
    acquire::{Handle, Target, into_box_lock, lock_methods},
    error::InspectError,
    kind::Holder,
    kinds::looking::{force_open, single_lock_methods},
    periods::period_methods,
    process::NodeServices,
    voting::Voter,
};

/// The side of a [`RwLock`](crate::RwLock) for writers: one at a time, and no reader.
///
/// # Guarantees
/// Those of [`RwLock`](crate::RwLock). While readers hold the lock, a waiter for it asks twice a
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
period_methods!([] WriteLock, WriteGuard);
into_box_lock!([] WriteLock);
single_lock_methods!(WriteLock, writers, holder);

impl WriteLock {
    pub(super) fn new(services: Arc<NodeServices>, rw: Arc<Rw>) -> Self {
        let member = Voter::new(services, Arc::new(RwSide::of(&rw, Mode::Write)));
        Self { handle: Handle::new(Target::one(member)), rw }
    }

    /// Takes the lock from its writer, and wakes the waiters. False if there was none; readers keep
    /// it. See [`Lock::force_release`](crate::Lock::force_release) for what learns of it, and when.
    ///
    /// # Errors
    /// As [`Lock::force_release`](crate::Lock::force_release).
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`](crate::Lock::force_release).
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_open(self.voter(), &self.rw.force(Mode::Write)).await
    }

    async fn writers(&self) -> Result<Vec<Holder>, InspectError> {
        Ok(sides(self.voter()).await?.writer.into_iter().collect())
    }
}
