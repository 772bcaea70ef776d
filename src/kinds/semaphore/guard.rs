//! The proof that permits are held.

use crate::{
    error::ReleaseError,
    guard::{GuardedInvocation, LockGuard},
    guarded_scripts::GuardedScript,
    kinds::permits::PermitGuard,
};

/// Permits of a [`Semaphore`](crate::Semaphore); gives them back when dropped.
///
/// Dropping a guard never blocks: the permits are given back in the background, until that is answered. A
/// guard dropped at the very end of `main` may die with the process, and its permits are missing then:
/// prefer [`release`](Self::release), or [`Client::shutdown`](crate::Client::shutdown) before the end.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let semaphore = client.semaphore("uploads");
/// semaphore.try_set_permits(5).await?;
/// let guard = semaphore.acquire_many(3).await?;
/// assert_eq!((guard.permits(), semaphore.permits().await?), (3, 2));
/// guard.release().await?;
/// assert_eq!(semaphore.permits().await?, 5);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "the permits are given back when the guard is dropped"]
pub struct SemaphoreGuard {
    /// `None` of none, of which no server knows.
    guard: Option<LockGuard>,
    permits: u32,
}

impl SemaphoreGuard {
    pub(super) const NONE: Self = Self { guard: None, permits: 0 };

    pub(super) fn new(guard: LockGuard, permits: u32) -> Self {
        Self { guard: Some(guard), permits }
    }

    /// How many.
    #[must_use]
    pub fn permits(&self) -> u32 {
        self.permits
    }

    /// What the server knows the holder by: `<uuid of this process>:<number>`. `None` of 0 permits.
    #[must_use]
    pub fn holder_id(&self) -> Option<&str> {
        self.guard.as_ref().map(LockGuard::holder_id)
    }

    /// Gives the permits back.
    ///
    /// # Errors
    /// [`ReleaseError::Lost`]: nothing was given back, since the server does not know of these permits: the
    /// semaphore was deleted or set anew, or they were [reclaimed](crate::Semaphore::reclaim).
    /// [`ReleaseError::Unconfirmed`]: the server did not answer; it is told in the background until it
    /// does.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the release to the background.
    pub async fn release(self) -> Result<(), ReleaseError> {
        match self.guard {
            Some(guard) => guard.release().await.map(drop),
            None => Ok(()),
        }
    }

    /// Has the semaphore's server execute a script only if the permits are held there at that moment:
    /// [`LockGuard::script`]. `None` of no permits.
    pub fn script<'a>(&'a self, script: &'a GuardedScript) -> Option<GuardedInvocation<'a>> {
        self.guard.as_ref().map(|guard| guard.script(script))
    }

    /// Forgets that they are held here, and gives nothing back. That is done elsewhere, by a bare
    /// [`release`](crate::Semaphore::release) or one of Redisson's.
    ///
    /// # Errors
    /// As [`release`](Self::release); nothing is given back.
    ///
    /// # Cancel safety
    /// Dropping the future after its first poll leaves the rest to the background.
    pub async fn forget(self) -> Result<(), ReleaseError> {
        let Some(mut guard) = self.guard else { return Ok(()) };
        // Never refused: no guard of it keeps others out.
        let _reduced = guard.reduce().await;
        guard.release().await.map(drop)
    }
}

impl PermitGuard for SemaphoreGuard {
    fn held(&self) -> Option<&LockGuard> {
        self.guard.as_ref()
    }

    fn into_held(self) -> Option<LockGuard> {
        self.guard
    }
}
