//! The locks that are contended for, as one process sees them.

use std::{ops::Deref, time::Duration};

use checkers::history::Kind;
use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use palisade::{
    AcquireError, Client, ConfigError, FencedGuard, FencedLock, FencedMultiLock, FencedRedLock,
    Lease, Lock, LockGuard, Masters, MultiLock, OnOutage, Owner, RedLock, ReleaseError, Released,
};

use crate::plan::Plan;

/// A lock, and on which servers it is.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Targets of one name exclude each other.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// Empty: on all.
    pub(crate) on: Vec<usize>,
    pub(crate) lock: AnyLock,
}

/// What an acquire brings. On the heap: it is not small.
type Answer<'a, T> = BoxFuture<'a, Result<T, AcquireError>>;

/// The three types have the same methods and no trait in common.
#[derive(Debug, Clone)]
pub(crate) enum AnyLock {
    Lock(Lock),
    Multi(MultiLock),
    Red(RedLock),
    FencedLock(FencedLock),
    FencedMulti(FencedMultiLock),
    FencedRed(FencedRedLock),
}

/// Of a plain lock or a fenced one.
#[derive(Debug)]
pub(crate) enum AnyGuard {
    Plain(LockGuard),
    Fenced(FencedGuard),
}

macro_rules! each {
    ($any:expr, $lock:ident, $make:ident => $do:expr) => {
        match $any {
            AnyLock::Lock($lock) => {
                let $make = AnyGuard::Plain;
                $do
            }
            AnyLock::Multi($lock) => {
                let $make = AnyGuard::Plain;
                $do
            }
            AnyLock::Red($lock) => {
                let $make = AnyGuard::Plain;
                $do
            }
            AnyLock::FencedLock($lock) => {
                let $make = AnyGuard::Fenced;
                $do
            }
            AnyLock::FencedMulti($lock) => {
                let $make = AnyGuard::Fenced;
                $do
            }
            AnyLock::FencedRed($lock) => {
                let $make = AnyGuard::Fenced;
                $do
            }
        }
    };
}

macro_rules! with {
    ($any:expr, $lease:expr, $on_outage:expr, $($Kind:ident),+) => {
        match $any {
            $(Self::$Kind(lock) => {
                Self::$Kind(lock.clone().with_lease($lease).on_outage($on_outage))
            })+
        }
    };
}

impl AnyGuard {
    pub(crate) fn token(&self) -> Option<u64> {
        match self {
            Self::Plain(_) => None,
            Self::Fenced(guard) => Some(guard.fencing_token().get()),
        }
    }

    pub(crate) fn reenter(&self) -> Option<Self> {
        match self {
            Self::Plain(guard) => guard.reenter().ok().map(Self::Plain),
            Self::Fenced(guard) => guard.reenter().ok().map(Self::Fenced),
        }
    }

    pub(crate) async fn release(self) -> Result<Released, ReleaseError> {
        match self {
            Self::Plain(guard) => guard.release().await,
            Self::Fenced(guard) => guard.release().await,
        }
    }

    pub(crate) fn orphan(self) {
        match self {
            Self::Plain(guard) => guard.orphan(),
            Self::Fenced(guard) => guard.orphan(),
        }
    }
}

impl Deref for AnyGuard {
    type Target = LockGuard;

    fn deref(&self) -> &LockGuard {
        match self {
            Self::Plain(guard) => guard,
            Self::Fenced(guard) => guard,
        }
    }
}

impl AnyLock {
    pub(crate) fn with(&self, lease: Lease, on_outage: OnOutage) -> Self {
        with!(self, lease, on_outage, Lock, Multi, Red, FencedLock, FencedMulti, FencedRed)
    }

    pub(crate) fn acquire(&self) -> Answer<'_, AnyGuard> {
        each!(self, lock, make => lock.acquire().map_ok(make).boxed())
    }

    pub(crate) fn acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, AnyGuard> {
        each!(self, lock, make => lock.acquire_as(owner).map_ok(make).boxed())
    }

    /// A re-entry; `None` if the hold was lost meanwhile, and somebody else's now.
    pub(crate) async fn try_acquire_again(
        &self,
        owner: &Owner,
        first: &AnyGuard,
    ) -> Option<AnyGuard> {
        let again = each!(self, lock, make => {
            lock.try_acquire_as(owner).map_ok(move |guard| guard.map(make)).boxed()
        });
        let again = again.await.ok()??;
        (again.holder_id() == first.holder_id()).then_some(again)
    }

    pub(crate) fn try_acquire(&self) -> Answer<'_, Option<AnyGuard>> {
        each!(self, lock, make => {
            lock.try_acquire().map_ok(move |guard| guard.map(make)).boxed()
        })
    }

    pub(crate) fn try_acquire_for(&self, limit: Duration) -> Answer<'_, Option<AnyGuard>> {
        each!(self, lock, make => {
            lock.try_acquire_for(limit).map_ok(move |guard| guard.map(make)).boxed()
        })
    }
}

/// All targets. Clients are in the order of the servers.
pub(crate) fn all(clients: &[Client], plan: &Plan) -> Result<Vec<Target>, ConfigError> {
    let masters = Masters::new(clients.iter().cloned())?;
    let red = AnyLock::Red(masters.red_lock("red"));
    let multi = AnyLock::Multi(masters.multi_lock("multi"));
    let mut targets = vec![
        Target { name: "red", kind: Kind::RedLock, on: Vec::new(), lock: red },
        Target { name: "multi", kind: Kind::MultiLock, on: Vec::new(), lock: multi },
    ];
    let node = usize::try_from(plan.seed % plan.nodes.len() as u64).unwrap_or(0);
    let Some(client) = clients.get(node) else { return Ok(targets) };
    let single = AnyLock::Lock(client.lock("single"));
    targets.push(Target { name: "single", kind: Kind::Lock, on: vec![node], lock: single });
    let fenced = [
        (Kind::RedLock, "fenced-red", Vec::new()),
        (Kind::MultiLock, "fenced-multi", Vec::new()),
        (Kind::Lock, "fenced-single", vec![node]),
    ];
    for (kind, name, on) in fenced {
        let lock = match kind {
            Kind::RedLock => AnyLock::FencedRed(masters.fenced_red_lock(name)),
            Kind::MultiLock => AnyLock::FencedMulti(masters.fenced_multi_lock(name)),
            Kind::Lock => AnyLock::FencedLock(client.fenced_lock(name)),
        };
        targets.push(Target { name, kind, on, lock });
    }
    // Any two of these have `b` in common.
    for names in [["a", "b"], ["c", "b"]] {
        let members = names.iter().map(|name| client.lock(name));
        let lock = AnyLock::Multi(MultiLock::new(members)?);
        targets.push(Target { name: "pair", kind: Kind::MultiLock, on: vec![node], lock });
    }
    if plan.is_storm {
        targets.retain(|target| target.name == "fenced-red");
    }
    Ok(targets)
}
