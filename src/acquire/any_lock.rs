//! What all locks have in common, for functions over any of them.

use std::{fmt, future::Future, time::Duration};

use super::box_lock::BoxLock;
use crate::{
    error::AcquireError,
    guard::{AnyGuard, Owner},
    lease::Lease,
    wait::{OnOutage, WaitStrategy},
};

/// Keeps [`AnyLock`] to the locks of this crate.
pub(crate) trait Sealed {}

/// Any lock of this crate.
///
/// For functions that work with whatever lock they are given; every method is there without this
/// trait, too, and documented with the types: see [`Lock`](crate::Lock). It is sealed: the locks are
/// those of this crate.
///
/// # Examples
/// ```
/// use palisade::{AcquireError, AnyGuard, AnyLock};
///
/// /// Whether the lock was free just now.
/// async fn is_free(lock: &impl AnyLock) -> Result<bool, AcquireError> {
///     let Some(guard) = lock.try_acquire().await? else { return Ok(false) };
///     drop(guard.release().await);
///     Ok(true)
/// }
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// assert!(is_free(&client.lock("x")).await? && is_free(&client.fenced_lock("x")).await?);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[expect(private_bounds, reason = "sealed")]
pub trait AnyLock: Sealed + Into<BoxLock> + Clone + fmt::Debug + Send + Sync + 'static {
    /// What an acquire brings.
    type Guard: AnyGuard;

    /// The lock's name; of several, the first's.
    #[must_use]
    fn name(&self) -> &str;

    /// [`Lock::boxed`](crate::Lock::boxed).
    #[must_use]
    fn boxed(&self) -> BoxLock;

    /// [`Lock::with_lease`](crate::Lock::with_lease).
    #[must_use]
    fn with_lease(self, lease: Lease) -> Self;

    /// [`Lock::on_outage`](crate::Lock::on_outage).
    #[must_use]
    fn on_outage(self, on_outage: OnOutage) -> Self;

    /// [`Lock::wait_strategy`](crate::Lock::wait_strategy).
    #[must_use]
    fn wait_strategy(self, strategy: WaitStrategy) -> Self;

    /// [`Lock::acquire`](crate::Lock::acquire).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn acquire(&self) -> impl Future<Output = Result<Self::Guard, AcquireError>> + Send;

    /// [`Lock::try_acquire`](crate::Lock::try_acquire).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn try_acquire(&self)
    -> impl Future<Output = Result<Option<Self::Guard>, AcquireError>> + Send;

    /// [`Lock::try_acquire_for`](crate::Lock::try_acquire_for).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn try_acquire_for(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<Option<Self::Guard>, AcquireError>> + Send;

    /// [`Lock::acquire_as`](crate::Lock::acquire_as).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn acquire_as(
        &self,
        owner: &Owner,
    ) -> impl Future<Output = Result<Self::Guard, AcquireError>> + Send;

    /// [`Lock::try_acquire_as`](crate::Lock::try_acquire_as).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn try_acquire_as(
        &self,
        owner: &Owner,
    ) -> impl Future<Output = Result<Option<Self::Guard>, AcquireError>> + Send;

    /// [`Lock::try_acquire_for_as`](crate::Lock::try_acquire_for_as).
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn try_acquire_for_as(
        &self,
        owner: &Owner,
        limit: Duration,
    ) -> impl Future<Output = Result<Option<Self::Guard>, AcquireError>> + Send;
}
