//! All of N.

use std::sync::Arc;

use super::parts::{composite, composite_methods};
use crate::{
    acquire::{Handle, Rule, lock_methods},
    error::ConfigError,
    kinds::Lock,
};

/// A lock that is held when *all* of its members are.
///
/// Members may be on different servers, or be different names on one server: a transfer between two
/// accounts takes both. All are asked at once; what a lost round was granted is taken back. Under
/// contention the members are taken in one order for all processes, so that two `MultiLock`s that
/// overlap neither deadlock nor starve each other.
///
/// # Guarantees
/// - It is held while every member is: the deadline is the earliest of theirs. If one member is
///   gone, [`LockGuard::lost`](crate::LockGuard::lost) fires at once: nothing is healed.
/// - Over N independent masters it excludes others while at least one of them keeps its data.
/// - One member that cannot be reached keeps everybody out.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{Client, MultiLock};
///
/// let client = Client::connect("redis://127.0.0.1:6379").await?;
/// let both = MultiLock::new(vec![client.lock("account:1"), client.lock("account:2")])?;
/// let guard = both.acquire().await?;
/// // … the transfer …
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MultiLock {
    handle: Handle,
    /// The same locks for those who only look.
    locks: Arc<[Lock]>,
}

lock_methods!(MultiLock, LockGuard);
composite_methods!(MultiLock);

impl MultiLock {
    /// A lock over `members`.
    ///
    /// # Errors
    /// [`ConfigError`] without members, with the same lock twice, or with a member that has a lease
    /// of its own: the composite's lease counts. Nothing is sent.
    pub fn new(members: impl IntoIterator<Item = Lock>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::All, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }

    /// The caller's word that whoever contends for any of these locks does so by a `MultiLock` over
    /// all of them. Then a master that forgets is harmless while one of them remembers, and this
    /// lock does not wait until masters that were started lately count: see
    /// [`Quarantine`](crate::Quarantine).
    #[must_use]
    pub fn assume_same_members(mut self) -> Self {
        self.handle.target = self.handle.target.unvetted();
        self
    }
}
