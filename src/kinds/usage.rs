//! What names are used as, and which keys and channels that takes.

use std::sync::Arc;

use crate::wire::key;

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

impl Use {
    /// All that its scripts may be given.
    pub(super) fn keys(self, name: &str) -> Vec<String> {
        let beside: Vec<Arc<str>> = match self {
            Self::Lock => vec![
                key::turn(name),
                key::turn_line(name),
                key::last_run(name),
                key::period(name, "*"),
            ],
            Self::FencedLock => vec![
                key::turn(name),
                key::turn_line(name),
                key::lock_counter(name),
                key::member_counter(name),
                key::last_run(name),
                key::period(name, "*"),
            ],
            Self::Election => {
                let lock = Self::FencedLock.keys(name).into_iter();
                return lock.chain([key::leader(name).to_string()]).collect();
            }
            Self::FairLock => vec![
                key::fair_queue(name),
                key::fair_deadlines(name),
                key::fair_note(name),
                key::last_run(name),
                key::period(name, "*"),
            ],
            Self::RwLock => vec![
                key::rw_timer(name, "*"),
                key::rw_wish(name),
                key::last_run(name),
                key::period(name, "*"),
            ],
            Self::Semaphore => {
                vec![key::permit_holders(name), key::permits_wish(name), key::once(name, "*")]
            }
            Self::ExpirableSemaphore => {
                vec![key::permit_leases(name), key::permits_wish(name), key::once(name, "*")]
            }
            Self::CountDownLatch => vec![key::latch_generation(name), key::once(name, "*")],
        };
        beside.iter().map(ToString::to_string).chain([name.to_owned()]).collect()
    }

    /// Whether it is a lock, which can be taken away from its holder.
    pub(super) fn has_holders(self) -> bool {
        !matches!(self, Self::Semaphore | Self::ExpirableSemaphore | Self::CountDownLatch)
    }

    /// Whether it is held for a lease, and may be lost before that is over.
    pub(super) fn has_leases(self) -> bool {
        self.has_holders() || self == Self::ExpirableSemaphore
    }

    pub(super) fn channels(self, name: &str) -> Vec<String> {
        let lock = key::lock_channel(name);
        match self {
            Self::Lock | Self::FencedLock => {
                vec![lock.to_string(), key::turn_channel(name, "*").to_string()]
            }
            Self::Election => {
                let lock = Self::FencedLock.channels(name).into_iter();
                lock.chain([key::leader_channel(name).to_string()]).collect()
            }
            Self::FairLock => vec![format!("{lock}:*")],
            Self::RwLock => vec![key::rw_channel(name).to_string()],
            Self::Semaphore | Self::ExpirableSemaphore => {
                vec![key::permits_channel(name).to_string()]
            }
            Self::CountDownLatch => vec![key::latch_channel(name).to_string()],
        }
    }
}
