//! Both sides of a lock with many readers or one writer, over a majority.

use super::RedLock;
use crate::kinds::{ReadLock, WriteLock};

/// A lock with many readers or one writer, of which each side is held by a majority of independent masters.
///
/// Made by [`Masters::rw_lock`](crate::Masters::rw_lock). The promises are those of [`RedLock`] and
/// [`RwLock`](crate::RwLock).
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::{Masters, embedded::Server};
///
/// let servers = [Server::start()?, Server::start()?, Server::start()?];
/// let clients = [servers[0].client()?, servers[1].client()?, servers[2].client()?];
/// let config = Masters::new(clients)?.rw_lock("config");
/// let reader = config.read().acquire().await?;
/// assert!(config.write().try_acquire().await?.is_none());
/// reader.release().await?;
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone)]
pub struct RedRwLock {
    read: RedLock<ReadLock>,
    write: RedLock<WriteLock>,
}

impl RedRwLock {
    pub(crate) fn new(read: RedLock<ReadLock>, write: RedLock<WriteLock>) -> Self {
        Self { read, write }
    }

    /// The lock's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.read.name()
    }

    /// The lock of readers.
    #[must_use]
    pub fn read(&self) -> RedLock<ReadLock> {
        self.read.clone()
    }

    /// The lock of writers.
    #[must_use]
    pub fn write(&self) -> RedLock<WriteLock> {
        self.write.clone()
    }
}
