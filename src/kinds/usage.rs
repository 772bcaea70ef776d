//! What names are used as.

/// What a name is used as.
///
/// # Examples
/// ```
/// use palisade::acl::{Rights, Use};
///
/// let orders = Rights::new().with_pattern(Use::Lock, "orders:*");
/// assert!(orders.rules().contains(&"+pexpire".to_owned()));
/// assert!(!orders.rules().contains(&"+flushall".to_owned()));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Use {
    /// [`Lock`](crate::Lock), by itself or in [`MultiLock`](crate::MultiLock) and
    /// [`RedLock`](crate::RedLock).
    Lock,
    /// [`FencedLock`](crate::FencedLock), by itself or as a member of several.
    FencedLock,
    /// [`Election`](crate::election::Election), by a [`FencedLock`](crate::FencedLock) or several. Observers need the
    /// same.
    Election,
    /// [`FairLock`](crate::FairLock).
    FairLock,
    /// [`RwLock`](crate::RwLock).
    RwLock,
    /// [`Semaphore`](crate::Semaphore).
    Semaphore,
    /// [`ExpirableSemaphore`](crate::ExpirableSemaphore).
    ExpirableSemaphore,
    /// [`CountDownLatch`](crate::CountDownLatch).
    CountDownLatch,
}
