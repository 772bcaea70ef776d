//! The proof that permits with a lease are held.

use std::{fmt, sync::Arc};

use super::script::LeasedPermits;
use crate::{
    error::ReleaseError,
    guard::{LockGuard, guard_methods},
    kinds::permits::PermitGuard,
};

/// Permits of an [`ExpirableSemaphore`](crate::ExpirableSemaphore); gives them back when dropped.
///
/// A [`LockGuard`] in all else: what is not here is there. They are held and lost together.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let semaphore = client.expirable_semaphore("workers");
/// semaphore.try_set_permits(5).await?;
/// let guard = semaphore.acquire_many(2).await?;
/// // Stopped, with an error, if the permits are lost.
/// guard.run(async { /* … the work … */ }).await?;
/// assert_eq!(guard.permit_ids().count(), 2);
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[must_use = "the permits are given back when the guard is dropped"]
pub struct ExpirableGuard {
    guard: LockGuard,
    share: Arc<LeasedPermits>,
}

impl ExpirableGuard {
    pub(super) fn new(guard: LockGuard, share: Arc<LeasedPermits>) -> Self {
        Self { guard, share }
    }

    /// What the server and Redisson know the permits by: 32 hexadecimal digits each.
    pub fn permit_ids(&self) -> impl Iterator<Item = String> + use<> {
        self.share.ids(self.guard.holder_id()).map(|id| format!("{id:032x}"))
    }

    /// Gives the permits back.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`]: some were lost before, and maybe others have them; those that were left are
    /// given back. [`ReleaseError::Unconfirmed`]: the server did not answer; it is told in the background,
    /// until their lease is over.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the release to the background.
    pub async fn release(self) -> Result<(), ReleaseError> {
        self.guard.release().await.map(drop)
    }

    /// Ends the renewals and leaves the permits to their lease, or to a
    /// [release](crate::ExpirableSemaphore::release_permit) by their ids, in Java too.
    pub fn orphan(self) {
        self.guard.orphan();
    }
}

guard_methods!(ExpirableGuard.guard);

impl fmt::Debug for ExpirableGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ExpirableGuard").field(&self.guard).finish()
    }
}

impl PermitGuard for ExpirableGuard {
    fn held(&self) -> Option<&LockGuard> {
        Some(&self.guard)
    }

    fn into_held(self) -> Option<LockGuard> {
        Some(self.guard)
    }
}
