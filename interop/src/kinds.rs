//! What the kinds are called in commands. A new one is a line in [`Kinds::lock`].

use std::{error::Error, pin::Pin, time::Duration};

use palisade::{AcquireError, AnyLock, Client, Lease, LockGuard, MultiLock, OnOutage, RedLock};

pub(crate) struct Kinds {
    servers: Vec<Client>,
}

impl Kinds {
    pub(crate) fn new(servers: Vec<Client>) -> Self {
        Self { servers }
    }

    pub(crate) fn lock(&self, kind: &str, name: &str) -> Result<Box<dyn PeerLock>, Box<dyn Error>> {
        let members = self.servers.iter();
        Ok(match kind {
            "lock" => Box::new(self.first()?.lock(name)),
            "fenced" => Box::new(self.first()?.fenced_lock(name)),
            "fair" => Box::new(self.first()?.fair_lock(name)),
            "read" => Box::new(self.first()?.rw_lock(name).read()),
            "write" => Box::new(self.first()?.rw_lock(name).write()),
            "multi" => Box::new(MultiLock::new(members.map(|server| server.lock(name)))?),
            "multi-fenced" => {
                Box::new(MultiLock::new(members.map(|server| server.fenced_lock(name)))?)
            }
            "multi-fair" => Box::new(MultiLock::new(members.map(|server| server.fair_lock(name)))?),
            "multi-read" => {
                Box::new(MultiLock::new(members.map(|server| server.rw_lock(name).read()))?)
            }
            "red" => Box::new(RedLock::new(members.map(|server| server.lock(name)))?),
            _ => return Err(format!("no such kind: {kind}").into()),
        })
    }

    /// A lock for each client by itself, or for each group of so many.
    pub(crate) fn locks(
        &self,
        kind: &str,
        name: &str,
        members: usize,
    ) -> Result<Vec<Box<dyn PeerLock>>, Box<dyn Error>> {
        let groups = self.servers.chunks(members);
        groups.map(|group| Self::new(group.to_vec()).lock(kind, name)).collect()
    }

    /// Whether it was held. Composites have no such operation, here as in Redisson.
    pub(crate) async fn force(&self, kind: &str, name: &str) -> Result<bool, Box<dyn Error>> {
        match kind {
            "lock" => Ok(self.first()?.lock(name).force_release().await?),
            "fenced" => Ok(self.first()?.fenced_lock(name).force_release().await?),
            "fair" => Ok(self.first()?.fair_lock(name).force_release().await?),
            "read" => Ok(self.first()?.rw_lock(name).read().force_release().await?),
            "write" => Ok(self.first()?.rw_lock(name).write().force_release().await?),
            _ => Err(format!("{kind} cannot be forced").into()),
        }
    }

    pub(crate) fn first(&self) -> Result<&Client, Box<dyn Error>> {
        Ok(self.servers.first().ok_or("no server was named")?)
    }
}

type Acquired<'a> =
    Pin<Box<dyn Future<Output = Result<Option<LockGuard>, AcquireError>> + Send + 'a>>;

/// A lock of any kind.
pub(crate) trait PeerLock: Send + Sync {
    /// Waits for as long as it takes, under the watchdog.
    fn acquire(&self) -> Acquired<'_>;

    fn acquire_within(&self, lease: Lease, limit: Duration) -> Acquired<'_>;
}

impl<L: AnyLock> PeerLock for L {
    fn acquire(&self) -> Acquired<'_> {
        let lock = self.clone().on_outage(OnOutage::Wait);
        Box::pin(async move { Ok(Some(AnyLock::acquire(&lock).await?.into())) })
    }

    fn acquire_within(&self, lease: Lease, limit: Duration) -> Acquired<'_> {
        let lock = self.clone().with_lease(lease);
        Box::pin(async move {
            let guard = match limit {
                Duration::ZERO => lock.try_acquire().await?,
                limit => lock.try_acquire_for(limit).await?,
            };
            Ok(guard.map(Into::into))
        })
    }
}
