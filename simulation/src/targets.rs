//! The locks that are contended for, as one process sees them.

use std::{fmt, sync::Arc, time::Duration};

use checkers::history::Kind;
use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use palisade::{
    AcquireError, AnyLock, Client, Lease, LockGuard, Masters, MultiLock, OnOutage, Owner,
    error::ConfigError,
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
    pub(crate) lock: Arc<dyn Contended>,
}

/// What an acquire brings. On the heap: it is not small.
type Answer<'a, T> = BoxFuture<'a, Result<T, AcquireError>>;

/// A lock of whichever type.
pub(crate) trait Contended: fmt::Debug + Send + Sync {
    fn with(&self, lease: Lease, on_outage: OnOutage) -> Arc<dyn Contended>;

    fn acquire(&self) -> Answer<'_, LockGuard>;

    fn acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, LockGuard>;

    fn try_acquire(&self) -> Answer<'_, Option<LockGuard>>;

    fn try_acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, Option<LockGuard>>;

    fn try_acquire_for(&self, limit: Duration) -> Answer<'_, Option<LockGuard>>;
}

impl<L: AnyLock> Contended for L {
    fn with(&self, lease: Lease, on_outage: OnOutage) -> Arc<dyn Contended> {
        Arc::new(self.clone().with_lease(lease).on_outage(on_outage))
    }

    fn acquire(&self) -> Answer<'_, LockGuard> {
        AnyLock::acquire(self).map_ok(Into::into).boxed()
    }

    fn acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, LockGuard> {
        AnyLock::acquire_as(self, owner).map_ok(Into::into).boxed()
    }

    fn try_acquire(&self) -> Answer<'_, Option<LockGuard>> {
        AnyLock::try_acquire(self).map_ok(|guard| guard.map(Into::into)).boxed()
    }

    fn try_acquire_as<'a>(&'a self, owner: &'a Owner) -> Answer<'a, Option<LockGuard>> {
        AnyLock::try_acquire_as(self, owner).map_ok(|guard| guard.map(Into::into)).boxed()
    }

    fn try_acquire_for(&self, limit: Duration) -> Answer<'_, Option<LockGuard>> {
        AnyLock::try_acquire_for(self, limit).map_ok(|guard| guard.map(Into::into)).boxed()
    }
}

/// A re-entry; `None` if the hold was lost meanwhile, and somebody else's now.
pub(crate) async fn try_acquire_again(
    lock: &dyn Contended,
    owner: &Owner,
    first: &LockGuard,
) -> Option<LockGuard> {
    let again = lock.try_acquire_as(owner).await.ok()??;
    (again.holder_id() == first.holder_id()).then_some(again)
}

/// What the store is shown.
pub(crate) fn token(guard: &LockGuard) -> Option<u64> {
    guard.fencing_token().map(palisade::FencingToken::get)
}

/// All targets. Clients are in the order of the servers.
pub(crate) fn all(clients: &[Client], plan: &Plan) -> Result<Vec<Target>, ConfigError> {
    let masters = Masters::new(clients.iter().cloned())?;
    let red = Arc::new(masters.red_lock("red"));
    let multi = Arc::new(masters.multi_lock("multi"));
    let mut targets = vec![
        Target { name: "red", kind: Kind::RedLock, on: Vec::new(), lock: red },
        Target { name: "multi", kind: Kind::MultiLock, on: Vec::new(), lock: multi },
    ];
    let node = usize::try_from(plan.seed % plan.nodes.len() as u64).unwrap_or(0);
    let Some(client) = clients.get(node) else { return Ok(targets) };
    let single = Arc::new(client.lock("single"));
    targets.push(Target { name: "single", kind: Kind::Lock, on: vec![node], lock: single });
    let fenced = [
        (Kind::RedLock, "fenced-red", Vec::new()),
        (Kind::MultiLock, "fenced-multi", Vec::new()),
        (Kind::Lock, "fenced-single", vec![node]),
    ];
    for (kind, name, on) in fenced {
        let lock: Arc<dyn Contended> = match kind {
            Kind::RedLock => Arc::new(masters.fenced_red_lock(name)),
            Kind::MultiLock => Arc::new(masters.fenced_multi_lock(name)),
            Kind::Lock => Arc::new(client.fenced_lock(name)),
        };
        targets.push(Target { name, kind, on, lock });
    }
    // Any two of these have `b` in common.
    for names in [["a", "b"], ["c", "b"]] {
        let members = names.iter().map(|name| client.lock(name));
        let lock = Arc::new(MultiLock::new(members)?);
        targets.push(Target { name: "pair", kind: Kind::MultiLock, on: vec![node], lock });
    }
    if plan.is_storm {
        targets.retain(|target| target.name == "fenced-red");
    }
    Ok(targets)
}
