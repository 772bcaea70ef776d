//! A majority of N.

use std::sync::Arc;

use super::{
    inspection::Inspection,
    parts::{RedMember, composite},
};
use crate::{
    acquire::{Handle, Rule, into_box_lock, lock_methods},
    error::ConfigError,
    kinds::{FencedLock, Lock},
    periods::period_methods,
};

/// A lock that is held when a *majority* of its members is, within the validity time.
///
/// The members are the same name on independent masters: no replicas of each other. Their number is odd,
/// since an even one tolerates no more failures than the odd one below it. All are asked at once and the
/// answer stands as soon as a majority granted: a slow or dead minority costs nothing.
///
/// # Guarantees
/// - At most one owner holds it, as long as the clocks of servers and clients drift by less than
///   1 % during a lease. A master that was restarted and may have forgotten its keys does not vote
///   until they are over: see [`Quarantine`](crate::Quarantine) and its assumptions.
/// - The deadline is the one that a majority confirms for, counted from before the requests. If no
///   majority is left, [`LockGuard::lost`](crate::LockGuard::lost) fires before others are granted.
/// - A master that restarts, with its data or without, is no loss if it is back before the lease ends. While
///   it does not vote, what it forgot cannot be granted to another, and the hold is written there again. So
///   it survives a rolling restart of all masters.
/// - Losing a minority is not a loss. With a renewed lease members that were down or cut off for longer
///   are won back once they vote: [`LockGuard::votes`](crate::LockGuard::votes) says how many there are. A
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
pub struct RedLock<L: RedMember = Lock> {
    handle: Handle<L::Guard>,
    /// The same locks, only to look at.
    locks: Arc<[Lock]>,
}

// By hand: derived, it would ask for guards that can be cloned.
impl<L: RedMember> Clone for RedLock<L> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), locks: self.locks.clone() }
    }
}

lock_methods!([<L: RedMember>] RedLock<L>, L::Guard);
period_methods!([<L: RedMember>] RedLock<L>, L::Guard);
into_box_lock!([<L: RedMember>] RedLock<L>);

impl<L: RedMember> RedLock<L> {
    /// A lock over `members`.
    ///
    /// # Errors
    /// [`ConfigError`] without members, with two members on one server, or with a member that has a
    /// lease of its own: the composite's lease counts. Nothing is sent. Two addresses of one server
    /// are noticed by the first acquire.
    pub fn new(members: impl IntoIterator<Item = L>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::Majority, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }

    /// The name of the first member.
    #[must_use]
    pub fn name(&self) -> &str {
        self.handle.target.name()
    }

    /// What each server says of the lock.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect: nothing is changed.
    pub async fn inspect(&self) -> Inspection {
        Inspection::of(&self.locks).await
    }
}

/// A [`RedLock`](crate::RedLock) with a [fencing token](crate::FencingToken) for each holder.
///
/// It is the `RedLock` over the same masters and name: both exclude each other. The masters' counters
/// agree unless one missed an acquisition. Where they do, it takes the same single round trip; else a
/// second one, in which a majority writes the greatest.
///
/// # Guarantees
/// - Those of [`RedLock`](crate::RedLock).
/// - Tokens increase strictly in the order in which acquires return and holders follow each other,
///   while a majority of the masters keeps its data. Pauses, early ends of leases, late or lost
///   messages and clients' clocks do not change that.
/// - A master that forgot its counter is as good as one that did not. It does not vote for a while
///   ([`Quarantine`](crate::Quarantine)), and then counts on from its time of day. This takes servers'
///   clocks that differ by no more than `clock_skew`; those of clients may show anything.
/// - The counters end a day (or ten leases) after their last use: no key stays for good. A token is
///   never less than the time at which it was made, so this breaks no order.
/// - An owner that holds the plain `RedLock` has no token: to acquire the fenced one as the same
///   owner is an [error](crate::error::ConfigError::HeldWithoutToken).
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
pub type FencedRedLock = RedLock<FencedLock>;
