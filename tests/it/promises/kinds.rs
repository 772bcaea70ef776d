//! Every kind of lock behind one interface, so that a promise is written once.

use std::{sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use palisade::{
    AcquireError, AnyLock, Client, CountDownLatch, ExpirableSemaphore, Lease, LockGuard, Masters,
    MultiLock, Owner, RedLock, Semaphore, error::InspectError, inspect::Holder,
    semaphore::SemaphoreGuard,
};

/// A kind of lock: a column of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Lock,
    Namespaced,
    Striped,
    Fenced,
    Fair,
    Write,
    Read,
    Semaphore,
    Expirable,
    Latch,
    Multi,
    Stripes,
    FencedMulti,
    FairMulti,
    WriteMulti,
    ReadMulti,
    Red,
    FencedRed,
    WriteRed,
    ReadRed,
}

impl Kind {
    pub(super) const ALL: [Self; 20] = [
        Self::Lock,
        Self::Namespaced,
        Self::Striped,
        Self::Fenced,
        Self::Fair,
        Self::Write,
        Self::Read,
        Self::Semaphore,
        Self::Expirable,
        Self::Latch,
        Self::Multi,
        Self::Stripes,
        Self::FencedMulti,
        Self::FairMulti,
        Self::WriteMulti,
        Self::ReadMulti,
        Self::Red,
        Self::FencedRed,
        Self::WriteRed,
        Self::ReadRed,
    ];

    /// Whether its grants come with a token.
    pub(super) const fn is_fenced(self) -> bool {
        matches!(self, Self::Fenced | Self::FencedMulti | Self::FencedRed)
    }

    /// What all processes call it. Each kind has a name of its own, since several may stand on one server.
    pub(super) fn name(self) -> String {
        format!("{self:?}")
    }

    /// What has to be there before it can be acquired.
    pub(super) async fn prepare(self, client: &Client) {
        let name = self.name();
        let is_set = match self {
            Self::Semaphore => client.semaphore(&name).try_set_permits(1).await,
            Self::Expirable => client.expirable_semaphore(&name).try_set_permits(1).await,
            _ => Ok(true),
        };
        assert!(is_set.unwrap());
    }

    /// The lock of that kind, as a process knows it.
    pub(super) fn of(self, masters: &Masters) -> Box<dyn Subject> {
        let (client, name) = (&masters.clients()[0], self.name());
        match self {
            Self::Lock | Self::Namespaced => single(client.lock(&name)),
            Self::Striped => single(client.striped_lock(&name, 8).unwrap().stripe_for("key")),
            Self::Fenced => single(client.fenced_lock(&name)),
            Self::Fair => single(client.fair_lock(&name)),
            Self::Write => single(client.rw_lock(&name).write()),
            Self::Read => single(client.rw_lock(&name).read()),
            Self::Semaphore => Box::new(client.semaphore(&name)),
            Self::Expirable => Box::new(client.expirable_semaphore(&name)),
            Self::Latch => Box::new(client.count_down_latch(&name)),
            Self::Multi => all_of(masters, |client| client.lock(&name)),
            Self::Stripes => {
                let striped = client.striped_lock(&name, 8).unwrap();
                let keys = ["a", "b", "c", "d"];
                let members = keys.map(|key| striped.stripe_for(key));
                composite(striped.stripes_for(keys).unwrap(), members.into())
            }
            Self::FencedMulti => all_of(masters, |client| client.fenced_lock(&name)),
            Self::FairMulti => all_of(masters, |client| client.fair_lock(&name)),
            Self::WriteMulti => all_of(masters, |client| client.rw_lock(&name).write()),
            Self::ReadMulti => all_of(masters, |client| client.rw_lock(&name).read()),
            Self::Red => most_of(masters, |client| client.lock(&name)),
            Self::FencedRed => most_of(masters, |client| client.fenced_lock(&name)),
            Self::WriteRed => most_of(masters, |client| client.rw_lock(&name).write()),
            Self::ReadRed => most_of(masters, |client| client.rw_lock(&name).read()),
        }
    }
}

type Granted = BoxFuture<'static, Result<Held, AcquireError>>;
type Tried = BoxFuture<'static, Result<Option<Held>, AcquireError>>;

/// A lock of some kind.
pub(super) trait Subject: Send + Sync {
    fn acquire(&self) -> Granted;
    fn try_acquire(&self) -> Tried;
    fn try_acquire_for(&self, limit: Duration) -> Tried;
    fn acquire_as(&self, owner: &Owner) -> Granted;
    fn try_acquire_as(&self, owner: &Owner) -> Tried;
    fn with_lease(&self, lease: Lease) -> Box<dyn Subject>;

    /// Whether it is held, as seen from outside.
    fn is_held(&self) -> BoxFuture<'static, bool>;

    /// Opens it, whatever holds it.
    fn force(&self) -> BoxFuture<'static, bool>;
}

/// What a holder has.
pub(super) enum Held {
    Guard(LockGuard),
    Permit(SemaphoreGuard),
    Count(CountDownLatch),
}

impl Held {
    /// The guard; what has none is not in the table for what needs it.
    pub(super) fn guard(&self) -> &LockGuard {
        match self {
            Self::Guard(guard) => guard,
            Self::Permit(_) | Self::Count(_) => panic!("there is no guard here"),
        }
    }

    pub(super) fn into_guard(self) -> LockGuard {
        match self {
            Self::Guard(guard) => guard,
            Self::Permit(_) | Self::Count(_) => panic!("there is no guard here"),
        }
    }

    pub(super) async fn release(self) {
        match self {
            Self::Guard(guard) => drop(guard.release().await.unwrap()),
            Self::Permit(permit) => permit.release().await.unwrap(),
            Self::Count(latch) => assert!(latch.count_down().await.unwrap()),
        }
    }
}

/// What can be seen of a lock on one node, and done to it.
trait Single: AnyLock {
    fn seen(&self) -> impl Future<Output = Result<Vec<Holder>, InspectError>> + Send;
    fn opened(&self) -> impl Future<Output = Result<bool, InspectError>> + Send;
}

macro_rules! singles {
    ($($lock:ty: $holders:ident;)*) => { $(
        impl Single for $lock {
            async fn seen(&self) -> Result<Vec<Holder>, InspectError> {
                Ok(self.$holders().await?.into_iter().collect())
            }

            async fn opened(&self) -> Result<bool, InspectError> {
                self.force_release().await
            }
        }
    )* };
}

singles! {
    palisade::Lock: holder;
    palisade::FencedLock: holder;
    palisade::FairLock: holder;
    palisade::rw::WriteLock: holder;
    palisade::rw::ReadLock: holders;
}

/// A lock, and the single ones of which it is made.
struct Lockable<L, M> {
    lock: L,
    members: Arc<[M]>,
}

fn single<L: Single>(lock: L) -> Box<dyn Subject> {
    composite(lock.clone(), [lock].into())
}

fn composite<L: AnyLock, M: Single>(lock: L, members: Arc<[M]>) -> Box<dyn Subject> {
    Box::new(Lockable { lock, members })
}

fn all_of<M>(masters: &Masters, of: impl Fn(&Client) -> M) -> Box<dyn Subject>
where
    M: Single + palisade::members::MultiMember,
    MultiLock<M>: AnyLock,
{
    let members: Arc<[M]> = masters.clients().iter().map(of).collect();
    composite(MultiLock::new(members.iter().cloned()).unwrap(), members)
}

fn most_of<M>(masters: &Masters, of: impl Fn(&Client) -> M) -> Box<dyn Subject>
where
    M: Single + palisade::members::RedMember,
    RedLock<M>: AnyLock,
{
    let members: Arc<[M]> = masters.clients().iter().map(of).collect();
    composite(RedLock::new(members.iter().cloned()).unwrap(), members)
}

impl<L: AnyLock, M: Single> Subject for Lockable<L, M> {
    fn acquire(&self) -> Granted {
        let lock = self.lock.clone();
        async move { Ok(Held::Guard(lock.acquire().await?.into())) }.boxed()
    }

    fn try_acquire(&self) -> Tried {
        let lock = self.lock.clone();
        async move { Ok(lock.try_acquire().await?.map(|guard| Held::Guard(guard.into()))) }.boxed()
    }

    fn try_acquire_for(&self, limit: Duration) -> Tried {
        let lock = self.lock.clone();
        let tried = async move { lock.try_acquire_for(limit).await };
        tried.map(|tried| Ok(tried?.map(|guard| Held::Guard(guard.into())))).boxed()
    }

    fn acquire_as(&self, owner: &Owner) -> Granted {
        let (lock, owner) = (self.lock.clone(), owner.clone());
        async move { Ok(Held::Guard(lock.acquire_as(&owner).await?.into())) }.boxed()
    }

    fn try_acquire_as(&self, owner: &Owner) -> Tried {
        let (lock, owner) = (self.lock.clone(), owner.clone());
        let tried = async move { lock.try_acquire_as(&owner).await };
        tried.map(|tried| Ok(tried?.map(|guard| Held::Guard(guard.into())))).boxed()
    }

    fn with_lease(&self, lease: Lease) -> Box<dyn Subject> {
        composite(self.lock.clone().with_lease(lease), self.members.clone())
    }

    fn is_held(&self) -> BoxFuture<'static, bool> {
        let members = self.members.clone();
        async move {
            let mut held = 0;
            for member in members.iter() {
                held += usize::from(!member.seen().await.unwrap().is_empty());
            }
            2 * held > members.len()
        }
        .boxed()
    }

    fn force(&self) -> BoxFuture<'static, bool> {
        let members = self.members.clone();
        async move {
            let mut opened = true;
            for member in members.iter() {
                opened &= member.opened().await.unwrap();
            }
            opened
        }
        .boxed()
    }
}

/// For what a kind does not have: a cell that asks for it has a reason in the table, and is not tried.
fn has_none<T>(what: &str) -> T {
    panic!("there is no {what} here: the cell needs a reason")
}

impl Subject for Semaphore {
    fn acquire(&self) -> Granted {
        let semaphore = self.clone();
        async move { Ok(Held::Permit(semaphore.acquire().boxed().await?)) }.boxed()
    }

    fn try_acquire(&self) -> Tried {
        let semaphore = self.clone();
        async move { Ok(semaphore.try_acquire().boxed().await?.map(Held::Permit)) }.boxed()
    }

    fn try_acquire_for(&self, limit: Duration) -> Tried {
        let semaphore = self.clone();
        async move { Ok(semaphore.try_acquire_for(limit).boxed().await?.map(Held::Permit)) }.boxed()
    }

    fn acquire_as(&self, _: &Owner) -> Granted {
        has_none("owner")
    }

    fn try_acquire_as(&self, _: &Owner) -> Tried {
        has_none("owner")
    }

    fn with_lease(&self, _: Lease) -> Box<dyn Subject> {
        has_none("lease")
    }

    fn is_held(&self) -> BoxFuture<'static, bool> {
        let semaphore = self.clone();
        async move { !semaphore.holders().await.unwrap().is_empty() }.boxed()
    }

    fn force(&self) -> BoxFuture<'static, bool> {
        let semaphore = self.clone();
        async move {
            let holders = semaphore.holders().await.unwrap();
            semaphore.reclaim(&holders[0].id).await.unwrap()
        }
        .boxed()
    }
}

impl Subject for ExpirableSemaphore {
    fn acquire(&self) -> Granted {
        let semaphore = self.clone();
        async move { Ok(Held::Guard(semaphore.acquire().boxed().await?.into())) }.boxed()
    }

    fn try_acquire(&self) -> Tried {
        let semaphore = self.clone();
        let tried = async move { semaphore.try_acquire().boxed().await };
        tried.map(|tried| Ok(tried?.map(|guard| Held::Guard(guard.into())))).boxed()
    }

    fn try_acquire_for(&self, limit: Duration) -> Tried {
        let semaphore = self.clone();
        let tried = async move { semaphore.try_acquire_for(limit).boxed().await };
        tried.map(|tried| Ok(tried?.map(|guard| Held::Guard(guard.into())))).boxed()
    }

    fn acquire_as(&self, _: &Owner) -> Granted {
        has_none("owner")
    }

    fn try_acquire_as(&self, _: &Owner) -> Tried {
        has_none("owner")
    }

    fn with_lease(&self, lease: Lease) -> Box<dyn Subject> {
        Box::new(self.clone().with_lease(lease))
    }

    fn is_held(&self) -> BoxFuture<'static, bool> {
        let semaphore = self.clone();
        async move { !semaphore.holders().await.unwrap().is_empty() }.boxed()
    }

    fn force(&self) -> BoxFuture<'static, bool> {
        let semaphore = self.clone();
        async move {
            let holders = semaphore.holders().await.unwrap();
            semaphore.release_permit(&holders[0].id).await.unwrap()
        }
        .boxed()
    }
}

/// A latch is held, so to speak, by what has yet to count it down: to acquire it is to pass it and to set it anew.
impl Subject for CountDownLatch {
    fn acquire(&self) -> Granted {
        let latch = self.clone();
        async move {
            while !latch.try_set_count(1).await.unwrap() {
                latch.wait().await.unwrap();
            }
            Ok(Held::Count(latch))
        }
        .boxed()
    }

    fn try_acquire(&self) -> Tried {
        let latch = self.clone();
        async move { Ok(latch.try_set_count(1).await.unwrap().then_some(Held::Count(latch))) }
            .boxed()
    }

    fn try_acquire_for(&self, limit: Duration) -> Tried {
        let latch = self.clone();
        async move {
            let is_open = latch.wait_for(limit).await.unwrap();
            let is_set = is_open && latch.try_set_count(1).await.unwrap();
            Ok(is_set.then_some(Held::Count(latch)))
        }
        .boxed()
    }

    fn acquire_as(&self, _: &Owner) -> Granted {
        has_none("owner")
    }

    fn try_acquire_as(&self, _: &Owner) -> Tried {
        has_none("owner")
    }

    fn with_lease(&self, _: Lease) -> Box<dyn Subject> {
        has_none("lease")
    }

    fn is_held(&self) -> BoxFuture<'static, bool> {
        let latch = self.clone();
        async move { latch.count().await.unwrap() > 0 }.boxed()
    }

    fn force(&self) -> BoxFuture<'static, bool> {
        let latch = self.clone();
        async move { latch.delete().await.unwrap() }.boxed()
    }
}
