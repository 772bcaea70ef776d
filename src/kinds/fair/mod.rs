//! The lock that is granted in the order in which it was asked for, on one node.

pub(crate) mod script;

use std::sync::Arc;

use script::Fair;

use crate::{
    acquire::{Handle, Target, into_box_lock, lock_methods},
    error::InspectError,
    guard::LockGuard,
    kind::Holder,
    kinds::looking::{ask, force_open, holders, single_lock_methods},
    periods::period_methods,
    process::NodeServices,
    voting::Voter,
};

/// A reentrant lock held on one Redis master, granted in the order in which it was asked for, over all
/// processes.
///
/// Made by [`Client::fair_lock`](crate::Client::fair_lock); cheap to clone and to share. The waiters stand in a queue
/// on the server, each by itself, and only the next one is woken. Keys, channels and messages are those of Redisson's
/// `RFairLock`: a Java service can share it.
///
/// # Guarantees
/// - Those of [`Lock`](crate::Lock), but for the order. Without [tracking](crate::ClientBuilder::tracking) its holder
///   does not notice before its next renewal that it was forced open.
/// - A waiter is granted it in the order in which the server took the requests. A place is kept for a minute and a half
///   at least while the server cannot be reached, or the waiter's runtime stands still. It is kept for ten seconds only
///   once it is the first and some of Redisson's wait behind it. It is given up when the wait ends, wherever that is.
/// - [`try_acquire`](Self::try_acquire) passes no waiter, and does not stand in the queue.
/// - A free lock is left to the next one for three seconds if its channel has no listener, as that of a process that
///   died. In any case it is left for ten. Then it is the turn of the one behind it. The shorter time counts only on a
///   server by itself without replicas: others do not know all listeners. With one that is passed over go those of
///   palisade behind it that have not looked in the same time, as each does every two seconds. After three seconds that
///   is those without a listener, after ten all. So many that died, are stopped or are not polled keep others for no
///   longer than one of them. That holds for up to 256 in a row. Redisson's are passed over one by one. A waiter that
///   was passed over although it lives stands at the end of the queue from then on, and says so at `warn`.
/// - What a hand-over or a place costs the server hardly grows with how many wait.
/// - Redisson's waiters go by the clocks of their machines: one that is minutes ahead sends those off
///   whose turn has not come. They stand at the end of the queue then.
/// - Do not ask for one name as a [`Lock`](crate::Lock) and as a fair one: both exclude each other, but the plain one
///   passes all waiters, and wakes none of them.
///
/// It may be a member of a [`MultiLock`](crate::MultiLock), but of no [`RedLock`](crate::RedLock): each server has
/// a queue of its own. It never passes from one user to the next inside a process
/// ([`local_handover`](crate::ClientBuilder::local_handover)): others may have come first.
///
/// Besides what a plain lock needs, a user must have the rights `+lindex +llen +lrange +lpop +rpush
/// +lrem +zcard +zscore +zadd +zrem +zremrangebyscore +get +set +exists`, for the keys `redisson_lock_*:{name}` and `{name}:*` too. With
/// `+info` dead waiters are told sooner, and with `+lpos` a long queue costs the server less.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.fair_lock("orders:42");
/// let guard = lock.acquire().await?;
/// assert!(lock.try_acquire().await?.is_none());
/// assert!(lock.waiting().await?.is_empty());
/// guard.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct FairLock {
    pub(crate) handle: Handle,
    fair: Arc<Fair>,
}

lock_methods!([] FairLock, LockGuard);
period_methods!([] FairLock, LockGuard);
into_box_lock!([] FairLock);
single_lock_methods!(FairLock, holders, holder);

impl FairLock {
    pub(crate) fn new(services: Arc<NodeServices>, name: &str) -> Self {
        let key = services.key_of(name);
        let fair = Arc::new(Fair::new(&key));
        let member = Voter::new(services, fair.clone());
        Self { handle: Handle::new(Target::one(member)), fair }
    }

    /// The waiters, by their holder ids, the next one first.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn waiting(&self) -> Result<Vec<String>, InspectError> {
        let voter = self.voter();
        ask(&voter.services, voter.kind.name(), &self.fair.waiting()).await
    }

    /// Deletes the lock, even if it is held, and wakes the next waiter. False if it was not held. The queue
    /// stays. A key that is no lock is [not touched](crate::error::NodeError::ForeignKey), nor is a lock of
    /// [another kind](crate::error::NodeError::OtherKind).
    ///
    /// Its holder learns of it at once by [tracking](crate::ClientBuilder::tracking); else with its next renewal, and
    /// with a fixed lease only at the end. Until then two may believe that they hold the lock.
    ///
    /// # Errors
    /// As [`Lock::force_release`](crate::Lock::force_release).
    ///
    /// # Cancel safety
    /// As [`Lock::force_release`](crate::Lock::force_release).
    pub async fn force_release(&self) -> Result<bool, InspectError> {
        force_open(self.voter(), &self.fair.force()).await
    }

    async fn holders(&self) -> Result<Vec<Holder>, InspectError> {
        holders(self.voter()).await
    }
}
