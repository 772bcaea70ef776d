//! A majority of N, with fencing tokens.

use std::sync::Arc;

use super::parts::{composite, composite_methods};
use crate::{
    acquire::{Handle, Rule, lock_methods},
    error::ConfigError,
    kinds::{FencedGuard, FencedLock, Lock},
};

/// A [`RedLock`](crate::RedLock) with a [fencing token](crate::FencingToken) for each holder.
///
/// It is the `RedLock` over the same masters and name: both exclude each other. Where the masters'
/// counters agree, and they do unless one missed an acquisition, it takes the same single round trip;
/// else a second one, in which a majority writes the greatest.
///
/// # Guarantees
/// - Those of [`RedLock`](crate::RedLock).
/// - Tokens increase strictly in the order in which acquires return and holders follow each other,
///   whatever pauses, early ends of leases, late or lost messages and clients' clocks do, while a
///   majority of the masters keeps its data.
/// - A master that forgot its counter is as good as one that did not: it does not vote for a while
///   ([`Quarantine`](crate::Quarantine)), and then counts on from its time of day. This takes servers'
///   clocks that differ by no more than `clock_skew`; those of clients may show anything.
/// - The counters end a day (or ten leases) after their last use: no key stays for good. A token is
///   never less than the time at which it was made, so this breaks no order.
/// - An owner that holds the plain `RedLock` has no token: to acquire the fenced one as the same
///   owner is an [error](crate::ConfigError::HeldWithoutToken).
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{Masters, embedded::Server};
///
/// let servers = [Server::start()?, Server::start()?, Server::start()?];
/// let clients = [servers[0].client()?, servers[1].client()?, servers[2].client()?];
/// let lock = Masters::new(clients)?.fenced_red_lock("migration");
/// let token = lock.with(async |guard| guard.fencing_token()).await?;
/// assert!(lock.acquire().await?.fencing_token() > token);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone)]
pub struct FencedRedLock {
    handle: Handle<FencedGuard>,
    /// The same locks for those who only look.
    locks: Arc<[Lock]>,
}

lock_methods!(FencedRedLock, FencedGuard);
composite_methods!(FencedRedLock);

impl FencedRedLock {
    /// A lock over `members`. Their tokens have counters of their own: those of a composite are not
    /// comparable with those of its members by themselves.
    ///
    /// # Errors
    /// As [`RedLock::new`](crate::RedLock::new).
    pub fn new(members: impl IntoIterator<Item = FencedLock>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::Majority, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }
}
