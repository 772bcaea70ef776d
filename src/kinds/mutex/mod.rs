//! The reentrant lock on one node.

pub(crate) mod script;

use std::sync::Arc;

pub(crate) use script::Mutex;

use crate::{
    acquire::{Handle, Target, into_box_lock, lock_methods},
    error::InspectError,
    guard::LockGuard,
    kind::Holder,
    kinds::looking::{force_open, holders, single_lock_methods},
    periods::period_methods,
    process::NodeServices,
    voting::Voter,
};

/// A reentrant lock held on one Redis master.
///
/// Made by [`Client::lock`](crate::Client::lock); cheap to clone and to share. It is held until
/// its last guard is released or dropped, or until its lease ends; others are woken by pub/sub.
/// Keys, channel and replies are those of Redisson's `RLock`: a Java service can share it.
///
/// # Guarantees
/// - At most one owner holds it while the server keeps its key. *Not* across a failover or restart
///   that loses the key: use [`RedLock`](crate::RedLock) or [`MultiLock`](crate::MultiLock).
/// - With a [watchdog lease](crate::Lease::Watchdog) it is renewed until the guard is gone. If renewals do
///   not get through, [`LockGuard::lost`](crate::LockGuard::lost) fires before others are granted.
/// - A holder that was stopped does not know that its lease is over until it looks; what it writes
///   then only a check at the store can refuse.
/// - The waiters of one process are granted it in the order in which they asked. Between processes it is not
///   fair: the request that comes first after a release gets it. So a process far from the server rarely does
///   while others are near and busy. Where many wait, the slower ones are told one by one when
///   to ask, so that a release does not cost a request of each.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::Client::connect("redis://127.0.0.1:6379").await?;
/// let guard = client.lock("orders:42").acquire().await?;
/// // … the section …
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Lock {
    pub(crate) handle: Handle,
}

lock_methods!([] Lock, LockGuard);
period_methods!([] Lock, LockGuard);
into_box_lock!([] Lock);
single_lock_methods!(Lock, holders, holder);

impl Lock {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let mutex = Arc::new(Mutex::new(&services.key_of(name)));
        Self::of(services, mutex)
    }

    /// The locks of one name at many services share what is said of it.
    pub(crate) fn of(services: Arc<NodeServices>, mutex: Arc<Mutex>) -> Self {
        Self { handle: Handle::new(Target::one(Voter::new(services, mutex))) }
    }

    /// The plain lock of the same name, to look at what stands there.
    pub(crate) fn beside(other: &Voter) -> Self {
        Self::of(other.services.clone(), Arc::new(Mutex::new(other.kind.name())))
    }

    /// The holders of the lock: none, one, or many [readers](crate::inspect::Access).
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        holders(self.voter()).await
    }

    /// Deletes the lock, even if it is held, and wakes the waiters. False if it was not held. A key
    /// that is no lock is [not touched](crate::error::NodeError::ForeignKey), nor is a lock of
    /// [another kind](crate::error::NodeError::OtherKind).
    ///
    /// Its holder learns of it at once by [tracking](crate::ClientBuilder::tracking), or if the lock has a waiter in the
    /// same process; else with its next renewal, and with a fixed lease only at the end. Until then two may believe
    /// that they hold the lock: [`revoke`](Self::revoke) lets nothing in beside it.
    ///
    /// # Errors
    /// [`InspectError`]; whether the lock was deleted is unknown if the cause
    /// [is](crate::error::NodeError::is_unknown).
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open whether the lock was deleted.
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_open(self.voter(), &Mutex::new(self.voter().kind.name()).force()).await
    }
}
