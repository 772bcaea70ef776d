//! All of N, with fencing tokens.

use std::sync::Arc;

use super::parts::{composite, composite_methods};
use crate::{
    acquire::{Handle, Rule, lock_methods},
    error::ConfigError,
    kinds::{FencedGuard, FencedLock, Lock},
};

/// A [`MultiLock`](crate::MultiLock) with a [fencing token](crate::FencingToken) for each holder:
/// one for all members.
///
/// It is the `MultiLock` over the same members: both exclude each other, and it excludes the locks of
/// its members. Where the members' counters agree it takes the same single round trip; members that
/// others lock too are often behind, which takes a second.
///
/// # Guarantees
/// - Those of [`MultiLock`](crate::MultiLock).
/// - Tokens increase strictly over all composites' holders of *any one* of the members, while one of
///   the servers that they share keeps its data: a store may keep the greatest token with each thing
///   that a member stands for, an account of a transfer between two.
/// - The rest as with [`FencedRedLock`](crate::FencedRedLock).
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{FencedMultiLock, embedded::Server};
///
/// let client = Server::start()?.client()?;
/// let account = |name| client.fenced_lock(name);
/// let ab = FencedMultiLock::new([account("a"), account("b")])?;
/// let bc = FencedMultiLock::new([account("b"), account("c")])?;
/// let token = ab.with(async |guard| guard.fencing_token()).await?;
/// assert!(bc.acquire().await?.fencing_token() > token);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone)]
pub struct FencedMultiLock {
    handle: Handle<FencedGuard>,
    /// The same locks for those who only look.
    locks: Arc<[Lock]>,
}

lock_methods!(FencedMultiLock, FencedGuard);
composite_methods!(FencedMultiLock);

impl FencedMultiLock {
    /// A lock over `members`. Their tokens have counters of their own: those of a composite are not
    /// comparable with those of its members by themselves.
    ///
    /// # Errors
    /// As [`MultiLock::new`](crate::MultiLock::new).
    pub fn new(members: impl IntoIterator<Item = FencedLock>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::All, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }

    /// As [`MultiLock::assume_same_members`](crate::MultiLock::assume_same_members). Tokens too are
    /// in order then while one of the masters remembers.
    #[must_use]
    pub fn assume_same_members(mut self) -> Self {
        self.handle.target = self.handle.target.unvetted();
        self
    }
}
