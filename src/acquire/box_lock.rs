//! Any lock behind one type.

use super::{handle::Handle, lock_methods};
use crate::guard::LockGuard;

/// Any lock, by one type that can be kept in a field, a list or a map: [`boxed`](crate::Lock::boxed) makes one of
/// each.
///
/// It is that lock: it has its settings, and excludes what that excludes. Its guards are [`LockGuard`]s, which
/// have the [token](LockGuard::fencing_token) of a fenced lock, too.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::any::BoxLock;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let locks: Vec<BoxLock> = vec![client.lock("a").boxed(), client.rw_lock("b").read().boxed()];
/// for lock in &locks {
///     lock.acquire().await?.release().await?;
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct BoxLock {
    pub(crate) handle: Handle<LockGuard>,
}

impl BoxLock {
    pub(crate) fn new(handle: Handle<LockGuard>) -> Self {
        Self { handle }
    }

    /// The lock's name; of several, the first's.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.target.name()
    }
}

lock_methods!([] BoxLock, LockGuard);
