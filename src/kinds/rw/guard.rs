//! The proofs of holds that are read or written under.

use crate::{
    error::DowngradeError,
    guard::{LockGuard, guard_methods},
};

/// Proof that a lock is held for reading; gives it back when dropped.
///
/// A [`LockGuard`] in all else: what is not here is there.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.rw_lock("config");
/// let (mine, yours) = (lock.read().acquire().await?, lock.read().acquire().await?);
/// assert!(mine.is_held() && yours.is_held());
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct ReadGuard(LockGuard);

/// Proof that a lock is held for writing; gives it back when dropped.
///
/// A [`LockGuard`] in all else: what is not here is there.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.rw_lock("config");
/// let guard = lock.write().acquire().await?;
/// // … what nobody may see half done …
/// let guard = guard.downgrade().await?;
/// assert!(lock.read().try_acquire().await?.is_some());
/// assert!(lock.write().try_acquire().await?.is_none());
/// # drop(guard);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug)]
#[must_use = "the lock is released when the guard is dropped"]
pub struct WriteGuard(LockGuard);

impl WriteGuard {
    /// The same hold, for reading from now on. There is no other writer in between.
    ///
    /// A server that does not answer in time is told in the background; until then readers wait there
    /// in vain. With a [fixed lease](crate::Lease::Fixed) the end of it stays.
    ///
    /// # Errors
    /// [`DowngradeError::Lost`]: nothing is held. [`DowngradeError::WriteGuards`]: other guards of the
    /// hold write; nothing was changed, and the guard is handed back.
    ///
    /// # Cancel safety
    /// Dropping the future drops the guard.
    pub async fn downgrade(mut self) -> Result<ReadGuard, DowngradeError<Self>> {
        self.0.ensure_valid()?;
        if let Err(others) = self.0.reduce().await {
            return Err(DowngradeError::WriteGuards { guard: self, others });
        }
        self.0.ensure_valid()?;
        Ok(ReadGuard(self.0))
    }
}

guard_methods!(ReadGuard.0, of: Self);
guard_methods!(WriteGuard.0, of: Self);
