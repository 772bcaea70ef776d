//! Looking at a lock from outside.

use std::{fmt, time::Duration};

use uuid::Uuid;

use crate::{error::Shown, wire::permit};

/// The holder of a lock on one server.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("orders:42").acquire().await?;
/// let holder = client.lock("orders:42").holder().await?.ok_or("nobody holds it")?;
/// assert_eq!((holder.id.as_str(), holder.count), (guard.holder_id(), 1));
/// assert!(client.is_own(&holder));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// What the server knows the holder by: `<uuid of its process>:<number>`, Redisson's form too.
    pub id: String,
    /// How often it is held: re-entries included.
    pub count: u64,
    /// How much longer unless it is renewed; `None` if for ever.
    pub ttl: Option<Duration>,
    /// How it is held.
    pub access: Access,
}

impl Holder {
    /// Whether it is of the process whose [connections](crate::Client::names_of_connections) have this uuid in
    /// their names: a lock's holder, or one of the permits of an [`ExpirableSemaphore`](crate::ExpirableSemaphore).
    /// False for text that is no uuid.
    #[must_use]
    pub fn is_of_process(&self, uuid: &str) -> bool {
        Uuid::parse_str(uuid).is_ok_and(|uuid| self.is_of(uuid))
    }

    /// Whether the lock was [taken away](crate::Lock::revoke) from its holder, and this stands there until its ttl is
    /// over.
    #[must_use]
    pub fn is_revoked(&self) -> bool {
        REVOKED
            .iter()
            .any(|prefix| self.id.strip_prefix(prefix).is_some_and(|it| it.starts_with(':')))
    }

    pub(crate) fn is_of(&self, process: Uuid) -> bool {
        match self.id.split_once(':') {
            Some((uuid, _number)) => uuid.parse() == Ok(process),
            None => permit::parse(&self.id).is_some_and(|id| permit::is_of(id, process)),
        }
    }
}

impl fmt::Debug for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, count, ttl, access } = self;
        f.debug_struct("Holder")
            .field("id", &Shown::new(id))
            .field("count", count)
            .field("ttl", ttl)
            .field("access", access)
            .finish()
    }
}

/// How a lock is held: which locks of the same name are excluded.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::inspect::Access;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let _reader = client.rw_lock("config").read().acquire().await?;
/// let holders = client.lock("config").holders().await?;
/// assert!(holders.iter().all(|holder| holder.access == Access::Read));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// As a lock of one holder at a time: excludes all.
    Alone,
    /// As the [`WriteLock`](crate::rw::WriteLock) of an [`RwLock`](crate::RwLock): excludes all.
    Write,
    /// As its [`ReadLock`](crate::rw::ReadLock): excludes all but readers.
    Read,
    /// As permits of a [`Semaphore`](crate::Semaphore), as many as its count: excludes only an acquire
    /// that wants more than are left.
    Permits,
}

/// What the ids begin with that stand where a lock was taken away, alone or as a writer, and as a reader: an uuid of
/// version 8, as those of our processes are, which none of them is. Its end says `plsade`.
pub(crate) const REVOKED: [&str; 2] = ["palisade-unlock", "00000000-0000-8000-8000-706c73616465"];
