//! All of N.

use std::sync::Arc;

use super::{
    inspection::Inspection,
    parts::{MultiMember, composite},
};
use crate::{
    acquire::{Handle, Rule, into_box_lock, lock_methods},
    error::ConfigError,
    kinds::{FencedLock, Lock},
    periods::period_methods,
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
///   gone, [`LockGuard::lost`](crate::LockGuard::lost) fires at once: nothing is healed. A server that restarts
///   and is back before the lease ends is no loss, as for a [`RedLock`](crate::RedLock).
/// - Over N independent masters it excludes others while at least one of them keeps its data.
/// - Where all members have one address, of whatever databases, it is as safe as a [`Lock`](crate::Lock) there. By
///   default it does not wait until a server that was started lately [counts](crate::Quarantine).
/// - One member that cannot be reached keeps the lock from all.
/// - Of [fair](crate::FairLock) members it stands in one queue at a time. Once it is granted that member it keeps it
///   for two seconds and a half at most. Meanwhile it asks the others, and does not pass the waiters in their queues.
///   It keeps it for an eighth of that if one of them refuses that comes before it in the common order. If one still
///   refuses, it lets go and waits there: at the end of its queue, if it has one. So it gets in once the queues of
///   all are short, and not in the order of asking. A member that does not answer in time may cost it its place at
///   another.
///
///   For instance, over `a` and `b`, with two waiters in the queue of `b`: it is granted `a`, and `b` refuses. It
///   stands third in the queue of `b`, and keeps `a` for a little more than two seconds, in case its turn comes. Then
///   it gives `a` back, so that others can have it, and keeps its place. Once it is granted `b` it asks `a`. If that
///   refuses, it lets `b` go after about a quarter of a second, and waits in the queue of `a`.
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
pub struct MultiLock<L: MultiMember = Lock> {
    handle: Handle<L::Guard>,
    /// The same locks, only to look at.
    locks: Arc<[Lock]>,
}

// By hand: derived, it would ask for guards that can be cloned.
impl<L: MultiMember> Clone for MultiLock<L> {
    fn clone(&self) -> Self {
        Self { handle: self.handle.clone(), locks: self.locks.clone() }
    }
}

lock_methods!([<L: MultiMember>] MultiLock<L>, L::Guard);
period_methods!([<L: MultiMember>] MultiLock<L>, L::Guard);
into_box_lock!([<L: MultiMember>] MultiLock<L>);

impl<L: MultiMember> MultiLock<L> {
    /// A lock over `members`.
    ///
    /// # Errors
    /// [`ConfigError`] without members, with the same lock twice, or with a member that has a lease
    /// of its own: the composite's lease counts. Nothing is sent.
    pub fn new(members: impl IntoIterator<Item = L>) -> Result<Self, ConfigError> {
        let (target, locks) = composite(Rule::All, members)?;
        Ok(Self { handle: Handle::new(target), locks })
    }

    /// The caller's word that every contender for any of these locks asks by a `MultiLock` over all
    /// of them. Then a master that forgets is harmless while one of them remembers, and this lock
    /// does not wait until masters that were started lately count: see
    /// [`Quarantine`](crate::Quarantine).
    #[must_use]
    pub fn assume_same_members(mut self) -> Self {
        self.handle.target = self.handle.target.unvetted();
        self
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
///   the servers that they share keeps its data. So a store may keep the greatest token with each
///   thing that a member stands for, such as each account of a transfer between two.
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
/// let account = |name: &str| client.fenced_lock(name);
/// let ab = FencedMultiLock::new([account("a"), account("b")])?;
/// let bc = FencedMultiLock::new([account("b"), account("c")])?;
/// let token = ab.with(async |guard| guard.fencing_token()).await?;
/// assert!(bc.acquire().await?.fencing_token() > token);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
pub type FencedMultiLock = MultiLock<FencedLock>;
