//! The locks that are contended for, whichever type they have.

use std::{fmt, sync::Arc, time::Duration};

use checkers::history::{Key, Kind, Share};
use futures::future::BoxFuture;
use palisade::{
    AcquireError, AnyLock, Client, FencingToken, Lease, LockGuard, Masters, MultiLock, OnOutage,
    Owner, RedLock, election::Leadership, error::ConfigError, rw::WriteGuard,
    semaphore::SemaphoreGuard,
};

/// A lock, and on which servers it is.
#[derive(Debug, Clone)]
pub struct Target {
    /// Targets of one name exclude each other.
    pub name: &'static str,
    pub kind: Kind,
    /// Empty: on all.
    pub on: Vec<usize>,
    /// Whether others that share it too may have it at the same time. They only read.
    pub shared: bool,
    /// Of a semaphore, what is taken of it at once.
    pub share: Option<Share>,
    /// Whether it is granted in the order in which it was asked for.
    pub queued: bool,
    /// All its members, if locks of other names have some of them, too.
    pub keys: Vec<Key>,
    pub lock: Arc<dyn Contended>,
}

/// A lock of whichever type.
pub trait Contended: fmt::Debug + Send + Sync {
    /// On the heap: the future of an acquire is not small.
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer>;
}

/// Which of its methods is called.
#[derive(Debug, Clone, Copy)]
pub enum Call<'a> {
    Acquire,
    AcquireAs(&'a Owner),
    TryAcquire,
    TryAcquireAs(&'a Owner),
    TryAcquireFor(Duration),
}

pub type Answer = Result<Option<Grant>, AcquireError>;

/// What an acquire brings.
#[derive(Debug)]
pub enum Grant {
    Lock(LockGuard),
    Write(WriteGuard),
    /// A lock by which is led.
    Leads(Leadership),
    /// Permits without a lease.
    Permits(SemaphoreGuard),
}

impl Grant {
    /// `None` of permits that have no lease, and so nothing to lose.
    pub(crate) fn guard(&self) -> Option<&LockGuard> {
        match self {
            Self::Lock(guard) => Some(guard),
            Self::Write(guard) => Some(guard),
            Self::Leads(leadership) => Some(leadership.guard()),
            Self::Permits(_) => None,
        }
    }
}

impl<L: AnyLock> Contended for L {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let lock = self.clone().with_lease(lease).on_outage(on_outage);
        Box::pin(async move {
            let guard = ask(&lock, call).await?;
            Ok(guard.map(|guard| Grant::Lock(guard.into())))
        })
    }
}

/// A lock whose guards can be downgraded.
#[derive(Debug)]
struct Downgradable<L>(L);

impl<L: AnyLock<Guard = WriteGuard>> Contended for Downgradable<L> {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let lock = self.0.clone().with_lease(lease).on_outage(on_outage);
        Box::pin(async move { Ok(ask(&lock, call).await?.map(Grant::Write)) })
    }
}

async fn ask<L: AnyLock>(lock: &L, call: Call<'_>) -> Result<Option<L::Guard>, AcquireError> {
    Ok(match call {
        Call::Acquire => Some(lock.acquire().await?),
        Call::AcquireAs(owner) => Some(lock.acquire_as(owner).await?),
        Call::TryAcquire => lock.try_acquire().await?,
        Call::TryAcquireAs(owner) => lock.try_acquire_as(owner).await?,
        Call::TryAcquireFor(limit) => lock.try_acquire_for(limit).await?,
    })
}

/// A composite of this kind on all masters.
///
/// # Panics
/// The kind is that of a lock on one.
#[must_use]
pub fn lock_on_all(masters: &Masters, kind: Kind, fenced: bool, name: &str) -> Arc<dyn Contended> {
    match (kind, fenced) {
        (Kind::RedLock, false) => Arc::new(masters.red_lock(name)),
        (Kind::RedLock, true) => Arc::new(masters.fenced_red_lock(name)),
        (Kind::MultiLock, false) => Arc::new(masters.multi_lock(name)),
        (Kind::MultiLock, true) => Arc::new(masters.fenced_multi_lock(name)),
        (Kind::Lock, _) => panic!("a lock is on one master"),
    }
}

/// A side of the read/write lock `name` on all of `clients`' masters, by one rule; on the first alone if
/// that is [`Kind::Lock`].
///
/// # Errors
/// As the composites have.
pub fn side(
    clients: &[Client],
    kind: Kind,
    is_shared: bool,
    name: &str,
) -> Result<Arc<dyn Contended>, ConfigError> {
    let on_each = || clients.iter().map(|client| client.rw_lock(name));
    let readers = || on_each().map(|lock| lock.read());
    let writers = || on_each().map(|lock| lock.write());
    Ok(match (kind, is_shared) {
        (Kind::RedLock, true) => Arc::new(RedLock::new(readers())?),
        (Kind::RedLock, false) => Arc::new(Downgradable(RedLock::new(writers())?)),
        (Kind::MultiLock, true) => Arc::new(MultiLock::new(readers())?),
        (Kind::MultiLock, false) => Arc::new(Downgradable(MultiLock::new(writers())?)),
        (Kind::Lock, true) => Arc::new(readers().next().ok_or(ConfigError::NoMembers)?),
        (Kind::Lock, false) => {
            Arc::new(Downgradable(writers().next().ok_or(ConfigError::NoMembers)?))
        }
    })
}

#[must_use]
pub fn lock_on_one(client: &Client, fenced: bool, name: &str) -> Arc<dyn Contended> {
    if fenced { Arc::new(client.fenced_lock(name)) } else { Arc::new(client.lock(name)) }
}

/// What the store is shown.
pub(crate) fn token(guard: &LockGuard) -> Option<u64> {
    guard.fencing_token().map(FencingToken::get)
}
