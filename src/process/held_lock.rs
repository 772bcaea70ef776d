//! What a client holds, and how much it has to do, as users get it.

use std::{sync::Arc, time::Duration};

use crate::{error::LockName, kind::SortOfLock};

/// A lock that this process holds: without a word to a server, as its last answers have it.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let _guard = client.lock("orders:42").acquire().await?;
/// for lock in client.held() {
///     println!("{} for {:?}, by {} of {}", lock.name, lock.held_for, lock.votes, lock.servers);
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HeldLock {
    /// What it is called; of a lock over several names, the first of them.
    pub name: LockName,
    /// What it is.
    pub sort: SortOfLock,
    /// By which id it stands on the servers.
    pub holder: Arc<str>,
    /// Since it was granted. One that was passed on inside the process is as old as the first turn with it.
    pub held_for: Duration,
    /// For how long it may be acted on from now, if no server answers any more.
    pub left: Duration,
    /// On how many servers, or by how many names, it stands as far as is known.
    pub votes: usize,
    /// On how many it was asked for.
    pub servers: usize,
}

/// How much a client has to do now, without a word to a server.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let guard = client.lock("orders:42").acquire().await?;
/// assert_eq!(client.stats().held, 1);
/// guard.release().await?;
/// assert_eq!(client.stats().held, 0);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientStats {
    /// Locks that are held.
    pub held: usize,
    /// Acquires that are under way, those that wait included. One over several servers counts with the first of them.
    pub acquiring: usize,
    /// Releases that are not confirmed yet.
    pub releasing: usize,
    /// Channels that are listened to.
    pub subscriptions: usize,
    /// Whether the server is connected; of a cluster, one of its masters.
    pub is_connected: bool,
}
