//! The lock with many readers or one writer, on one node.

mod guard;
mod read;
pub(crate) mod script;
mod sides;
mod write;

use std::{fmt, sync::Arc};

pub use guard::{ReadGuard, WriteGuard};
pub use read::ReadLock;
pub use write::WriteLock;

use self::script::Rw;
use crate::process::NodeServices;

/// A lock with many readers or one writer, held on one Redis master.
///
/// Made by [`Client::rw_lock`](crate::Client::rw_lock); cheap to clone and to share. Each of its sides
/// is a lock by itself: [`read`](Self::read) and [`write`](Self::write). Keys, channel and messages are
/// those of Redisson's `RReadWriteLock`: a Java service can share it. See
/// [`redisson_watchdog`](crate::ClientBuilder::redisson_watchdog) for what their leases must agree on.
///
/// # Guarantees
/// - While it is written, there is no other writer and no reader, while the server keeps its key. *Not* across a
///   failover or restart that loses the key: use a [`RedLock`](crate::RedLock) or [`MultiLock`](crate::MultiLock) of
///   one side.
/// - A writer that waits is not starved by readers of this library: new ones wait behind it, wherever
///   they are. Those of Redisson do not. So an owner that reads twice without being [the
///   same](crate::Owner) may wait for a writer that waits for it.
/// - An owner that writes may read: a guard on the same hold, which is [downgraded](crate::rw::WriteGuard::downgrade)
///   when its last guard that writes goes. One that reads is [refused](crate::error::ConfigError::HeldForReading) to
///   write.
/// - A reader that died keeps writers out until its own lease ends, whatever other readers do. One of Redisson's
///   keeps them out for as long as any lease lasts of those that read with it, and of those that came later too.
/// - The rest as with [`Lock`](crate::Lock). A lock of one kind under the name of another is an
///   [error](crate::error::NodeError::OtherKind).
///
/// Besides what a plain lock needs, a user must have the rights `+hmget +hdel +get +set +exists`, for the keys
/// `{name}:*` too, and the channels `redisson_rwlock:*`.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let config = client.rw_lock("config");
/// let one = config.read().acquire().await?;
/// let other = config.read().acquire().await?;
/// assert!(config.write().try_acquire().await?.is_none());
/// one.release().await?;
/// other.release().await?;
/// config.write().acquire().await?.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct RwLock {
    services: Arc<NodeServices>,
    rw: Arc<Rw>,
}

impl RwLock {
    pub(crate) fn new(services: &Arc<NodeServices>, name: &str) -> Self {
        let key = services.key_of(name);
        let rw = Arc::new(Rw::new(&key, services.settings.redisson_watchdog));
        Self { services: services.clone(), rw }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.services.name_of(self.rw.name())
    }

    /// The lock of readers.
    #[must_use]
    pub fn read(&self) -> ReadLock {
        ReadLock::new(self.services.clone(), self.rw.clone())
    }

    /// The lock of writers.
    #[must_use]
    pub fn write(&self) -> WriteLock {
        WriteLock::new(self.services.clone(), self.rw.clone())
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().handle.show("RwLock", f)
    }
}
