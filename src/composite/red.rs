//! A majority of N.

use std::sync::Arc;

use super::parts::{composite, composite_methods};
use crate::{
    acquire::{Handle, Rule, lock_methods},
    error::ConfigError,
    kinds::Lock,
};

/// A lock that is held when a *majority* of its members is, within the validity time.
///
/// The members are the same name on independent masters: no replicas of each other, and an odd
/// number, since an even one tolerates no more failures than the odd one below it. All are asked at
/// once and the answer stands as soon as a majority granted: a slow or dead minority costs nothing.
///
/// # Guarantees
/// - At most one owner holds it, as long as the clocks of servers and clients drift by less than
///   1 % during a lease. A master that was restarted and may have forgotten its keys does not vote
///   until they are over: see [`Quarantine`](crate::Quarantine) and its assumptions.
/// - The deadline is the one that a majority confirms for, counted from before the requests. If no
///   majority is left, [`LockGuard::lost`](crate::LockGuard::lost) fires before others are granted.
/// - Losing a minority is not a loss. With a renewed lease members that were down, cut off or
///   restarted are won back, so that a hold survives the restart of all masters one at a time:
///   [`LockGuard::votes`](crate::LockGuard::votes) says when the next may go. A
///   [fixed lease](crate::Lease::Fixed) is never prolonged, nor healed.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::Masters;
///
/// let masters = Masters::connect(["redis://a", "redis://b", "redis://c"]).await?;
/// let guard = masters.red_lock("migration").acquire().await?;
/// guard.run(async { /* … the migration … */ }).await?;
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RedLock {
    handle: Handle,
    /// The same locks for those who only look.
    locks: Arc<[Lock]>,
}

lock_methods!(RedLock, LockGuard);
composite_methods!(RedLock);

impl RedLock {
    /// A lock over `members`.
    ///
    /// # Errors
    /// [`ConfigError`] without members, with two members on one server, or with a member that has a
    /// lease of its own: the composite's lease counts. Nothing is sent. Two addresses of one server
    /// are noticed by the first acquire.
    pub fn new(members: impl IntoIterator<Item = Lock>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::Majority, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }
}
