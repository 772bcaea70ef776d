//! The locks that are contended for, as one process sees them.

use std::time::Duration;

use checkers::history::Kind;
use futures::{FutureExt, future::BoxFuture};
use palisade::{
    AcquireError, Client, ConfigError, Lease, Lock, LockGuard, Masters, MultiLock, OnOutage, Owner,
    RedLock,
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
}

macro_rules! each {
    ($any:expr, $lock:ident => $do:expr) => {
        match $any {
            AnyLock::Lock($lock) => $do,
            AnyLock::Multi($lock) => $do,
            AnyLock::Red($lock) => $do,
        }
    };
}

impl AnyLock {
    pub(crate) fn with(&self, lease: Lease, on_outage: OnOutage) -> Self {
        match self {
            Self::Lock(lock) => Self::Lock(lock.clone().with_lease(lease).on_outage(on_outage)),
            Self::Multi(lock) => Self::Multi(lock.clone().with_lease(lease).on_outage(on_outage)),
            Self::Red(lock) => Self::Red(lock.clone().with_lease(lease).on_outage(on_outage)),
        }
    }

    pub(crate) fn acquire(&self) -> Answer<'_, LockGuard> {
        each!(self, lock => lock.acquire().boxed())
    }

    pub(crate) fn acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, LockGuard> {
        each!(self, lock => lock.acquire_as(owner).boxed())
    }

    /// A re-entry; `None` if the hold was lost meanwhile, and somebody else's now.
    pub(crate) async fn try_acquire_again(
        &self,
        owner: &Owner,
        first: &LockGuard,
    ) -> Option<LockGuard> {
        let again = each!(self, lock => lock.try_acquire_as(owner).boxed()).await.ok()??;
        (again.holder_id() == first.holder_id()).then_some(again)
    }

    pub(crate) fn try_acquire(&self) -> Answer<'_, Option<LockGuard>> {
        each!(self, lock => lock.try_acquire().boxed())
    }

    pub(crate) fn try_acquire_for(&self, limit: Duration) -> Answer<'_, Option<LockGuard>> {
        each!(self, lock => lock.try_acquire_for(limit).boxed())
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
    // Any two of these have `b` in common.
    for names in [["a", "b"].as_slice(), &["c", "b"], &["b"]] {
        let members = names.iter().map(|name| client.lock(name));
        let lock = AnyLock::Multi(MultiLock::new(members)?);
        targets.push(Target { name: "pair", kind: Kind::MultiLock, on: vec![node], lock });
    }
    Ok(targets)
}
