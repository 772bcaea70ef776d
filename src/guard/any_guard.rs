//! What all guards have in common, for functions over any of them.

use std::{fmt, future::Future, time::Duration};

use tokio_util::sync::CancellationToken;

use super::{
    lock_guard::{LockGuard, Released},
    proof::Proof,
};
use crate::{
    clock::Instant,
    error::{ExtendError, LockLost, LostCause, NotRenewed, ReleaseError},
    kind::FencingToken,
    lease::Lease,
};

/// Any guard of this crate: what an acquire of [`AnyLock`](crate::AnyLock) brings.
///
/// Every method is there without this trait, too, and documented with [`LockGuard`]. It is sealed.
///
/// # Examples
/// ```
/// use palisade::{AnyGuard, LockLost};
///
/// /// Work that is stopped when the lock is lost, whichever it is.
/// async fn guarded(guard: &impl AnyGuard) -> Result<u32, LockLost> {
///     guard.run(async { 42 }).await
/// }
/// ```
#[expect(private_bounds, reason = "sealed: what a guard is made of is ours")]
pub trait AnyGuard: Proof + Into<LockGuard> + fmt::Debug + Send + Sync + 'static {
    /// [`LockGuard::release`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn release(self) -> impl Future<Output = Result<Released, ReleaseError>> + Send {
        self.into().release()
    }

    /// [`LockGuard::lost`].
    ///
    /// # Cancel safety
    /// As there.
    fn lost(&self) -> impl Future<Output = LostCause> + Send {
        self.guard().lost()
    }

    /// [`LockGuard::expiring`].
    ///
    /// # Cancel safety
    /// As there.
    fn expiring(&self, margin: Duration) -> impl Future<Output = ()> + Send {
        self.guard().expiring(margin)
    }

    /// [`LockGuard::run`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn run<F>(&self, work: F) -> impl Future<Output = Result<F::Output, LockLost>> + Send
    where
        F: Future<Output: Send> + Send,
    {
        self.guard().run(work)
    }

    /// [`run`](Self::run) for work that stays on its thread.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn run_local<F: Future>(&self, work: F) -> impl Future<Output = Result<F::Output, LockLost>> {
        self.guard().run(work)
    }

    /// [`LockGuard::sleep_until_deadline`].
    ///
    /// # Cancel safety
    /// As there.
    fn sleep_until_deadline(&self) -> impl Future<Output = ()> + Send {
        self.guard().sleep_until_deadline()
    }

    /// [`LockGuard::held_for`].
    #[must_use]
    fn held_for(&self) -> Duration {
        self.guard().held_for()
    }

    /// [`LockGuard::waited`].
    #[must_use]
    fn waited(&self) -> Duration {
        self.guard().waited()
    }

    /// [`LockGuard::extend`].
    ///
    /// # Errors
    /// As there.
    ///
    /// # Cancel safety
    /// As there.
    fn extend(&self, lease: Lease) -> impl Future<Output = Result<(), ExtendError>> + Send {
        self.guard().extend(lease)
    }

    /// [`LockGuard::loss_token`].
    #[must_use]
    fn loss_token(&self) -> CancellationToken {
        self.guard().loss_token()
    }

    /// [`LockGuard::cancellation_token`].
    #[must_use]
    fn cancellation_token(&self) -> CancellationToken {
        self.guard().cancellation_token()
    }

    /// [`LockGuard::fencing_token`].
    #[must_use]
    fn fencing_token(&self) -> Option<FencingToken> {
        self.guard().fencing_token()
    }

    /// [`LockGuard::remaining`].
    #[must_use]
    fn remaining(&self) -> Duration {
        self.guard().remaining()
    }

    /// [`LockGuard::deadline`].
    #[must_use]
    fn deadline(&self) -> Instant {
        self.guard().deadline()
    }

    /// [`LockGuard::is_held`].
    #[must_use]
    fn is_held(&self) -> bool {
        self.guard().is_held()
    }

    /// [`LockGuard::ensure_valid`].
    ///
    /// # Errors
    /// As there.
    fn ensure_valid(&self) -> Result<(), LockLost> {
        self.guard().ensure_valid()
    }

    /// [`LockGuard::not_renewed`].
    #[must_use]
    fn not_renewed(&self) -> Option<NotRenewed> {
        self.guard().not_renewed()
    }

    /// [`LockGuard::votes`].
    #[must_use]
    fn votes(&self) -> usize {
        self.guard().votes()
    }

    /// [`LockGuard::margin`].
    #[must_use]
    fn margin(&self) -> usize {
        self.guard().margin()
    }

    /// [`LockGuard::reenter`].
    ///
    /// # Errors
    /// As there.
    fn reenter(&self) -> Result<Self, LockLost> {
        self.guard().reenter().map(Self::of)
    }

    /// [`LockGuard::holder_id`].
    #[must_use]
    fn holder_id(&self) -> &str {
        self.guard().holder_id()
    }

    /// [`LockGuard::name`].
    #[must_use]
    fn name(&self) -> &str {
        self.guard().name()
    }

    /// [`LockGuard::orphan`].
    fn orphan(self) {
        self.into().orphan();
    }
}

impl<P> AnyGuard for P where P: Proof + Into<LockGuard> + fmt::Debug + Send + Sync + 'static {}
