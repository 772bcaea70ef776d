//! What users get of the health of a server.

use std::time::Duration;

use crate::error::NodeError;

/// What a server tells about itself. `None` is unknown: the user may not ask, or the server does not say.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// for server in client.health().await? {
///     println!("{} answers after {:?}", server.address, server.round_trip);
///     assert!(server.vote.is_ok(), "its votes count");
/// }
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ServerHealth {
    /// Where it is: of a cluster, that of one of its masters.
    pub address: String,
    /// Which run of a server it is: two addresses with the same lead to one server.
    pub run_id: Option<String>,
    /// What it calls itself.
    pub version: Option<String>,
    /// For how long its process has been running.
    pub uptime: Option<Duration>,
    /// From a question to its answer.
    pub round_trip: Duration,
    /// What time it is by its own clock, since 1970, at the moment at which all was answered; give or take half a round
    /// trip.
    pub time: Duration,
    /// Whether its vote counts for locks over several servers, and why not. For locks of one server
    /// [a setting](crate::Quarantine) decides.
    pub vote: Result<(), NodeError>,
    /// For how long its votes do not count after it was started, as the client with the longest leases reckons.
    pub longest_wait: Duration,
    /// The longest lease of the fleet that it was blessed for.
    pub blessed_for: Option<Duration>,
    /// Whether each write is appended to a file: what is told of a crash is in [`fsync`](Self::fsync).
    pub appends: Option<bool>,
    /// When what is appended is on the disk.
    pub fsync: Option<Fsync>,
    /// Whether all its data is saved now and then.
    pub saves: Option<bool>,
    /// Whether the last write of either failed.
    pub writes_fail: Option<bool>,
    /// In bytes.
    pub memory_used: Option<u64>,
    /// In bytes; 0 if there is none.
    pub memory_limit: Option<u64>,
    /// What is thrown away when memory is full; locks are safe with `noeviction` alone.
    pub eviction: Option<String>,
    /// How many connections it has, and may have at most.
    pub connections: Option<(u64, Option<u64>)>,
    /// Those that are connected now.
    pub replicas: Option<Vec<ReplicaHealth>>,
    /// Questions that this user may not ask.
    pub not_allowed: Vec<&'static str>,
}

/// When what is appended is on the disk, as `appendfsync` says.
///
/// # Examples
/// ```
/// use palisade::inspect::{Fsync, ServerHealth};
///
/// fn forgets_nothing(server: &ServerHealth) -> bool {
///     server.appends == Some(true) && server.fsync == Some(Fsync::Always)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fsync {
    /// Before a write is answered.
    Always,
    /// Once a second.
    EverySecond,
    /// As the system likes.
    Never,
}

/// A replica, as its master tells.
///
/// # Examples
/// ```
/// use palisade::inspect::ReplicaHealth;
///
/// fn may_take_its_place(replica: &ReplicaHealth) -> bool {
///     replica.is_online && replica.behind < 1_000_000
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplicaHealth {
    /// Where it is.
    pub address: String,
    /// Whether it follows, and does not take in everything for the first time.
    pub is_online: bool,
    /// By how much it lags, in bytes of what was written.
    pub behind: u64,
}
