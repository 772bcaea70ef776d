//! The locks that are contended for, whichever type they have.

use std::{fmt, sync::Arc, time::Duration};

use checkers::history::Kind;
use futures::future::BoxFuture;
use palisade::{
    AcquireError, AnyLock, Client, FencingToken, Lease, LockGuard, Masters, OnOutage, Owner,
};

/// A lock, and on which servers it is.
#[derive(Debug, Clone)]
pub struct Target {
    /// Targets of one name exclude each other.
    pub name: &'static str,
    pub kind: Kind,
    /// Empty: on all.
    pub on: Vec<usize>,
    /// Whether others may have it at the same time, who share it too. They only read.
    pub shared: bool,
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

pub type Answer = Result<Option<LockGuard>, AcquireError>;

impl<L: AnyLock> Contended for L {
    fn ask<'a>(&self, lease: Lease, on_outage: OnOutage, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let lock = self.clone().with_lease(lease).on_outage(on_outage);
        Box::pin(async move {
            let guard = match call {
                Call::Acquire => Some(lock.acquire().await?),
                Call::AcquireAs(owner) => Some(lock.acquire_as(owner).await?),
                Call::TryAcquire => lock.try_acquire().await?,
                Call::TryAcquireAs(owner) => lock.try_acquire_as(owner).await?,
                Call::TryAcquireFor(limit) => lock.try_acquire_for(limit).await?,
            };
            Ok(guard.map(Into::into))
        })
    }
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

#[must_use]
pub fn lock_on_one(client: &Client, fenced: bool, name: &str) -> Arc<dyn Contended> {
    if fenced { Arc::new(client.fenced_lock(name)) } else { Arc::new(client.lock(name)) }
}

/// What the store is shown.
pub(crate) fn token(guard: &LockGuard) -> Option<u64> {
    guard.fencing_token().map(FencingToken::get)
}
