//! Which sorts of locks there are, as those are told that look from outside.

use super::Kind;

/// What a lock is, as far as its keys tell: one that can do more and has not yet looks like a plain one.
///
/// # Examples
/// ```
/// use palisade::inspect::SortOfLock;
///
/// assert_eq!(SortOfLock::ReadWrite.to_string(), "read/write");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum SortOfLock {
    /// [`Lock`](crate::Lock), Redisson's too; or a [`FairLock`](crate::FairLock) for which nothing waits.
    Lock,
    /// It has a counter of fencing tokens: [`FencedLock`](crate::FencedLock), alone or in several.
    Fenced,
    /// It has a queue: [`FairLock`](crate::FairLock).
    Fair,
    /// [`RwLock`](crate::RwLock).
    ReadWrite,
    /// [`ExpirableSemaphore`](crate::ExpirableSemaphore), of which permits are held. Only where it is named.
    Permits,
    /// [`Semaphore`](crate::Semaphore), of which permits are held. Only where it is named.
    Semaphore,
    /// A number: a semaphore of which nothing is held, a [`CountDownLatch`](crate::CountDownLatch), or another program's.
    /// Only where it is named.
    Counter,
}

impl std::fmt::Display for SortOfLock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Lock => "lock",
            Self::Fenced => "fenced",
            Self::Fair => "fair",
            Self::ReadWrite => "read/write",
            Self::Permits => "permits",
            Self::Semaphore => "semaphore",
            Self::Counter => "counter",
        })
    }
}

impl SortOfLock {
    /// What is held by this kind: an election's lock is a fenced one.
    pub(crate) fn of(kind: &dyn Kind) -> Self {
        if kind.is_counted() {
            // Of permits without leases nothing ends by itself.
            return if kind.watched_key().is_some() { Self::Permits } else { Self::Semaphore };
        }
        if kind.queues_on_server() {
            Self::Fair
        } else if !kind.mode().is_empty() {
            Self::ReadWrite
        } else if kind.fencing().is_some() {
            Self::Fenced
        } else {
            Self::Lock
        }
    }
}
