//! Why a guarded script brought no value.

use std::sync::Arc;

use super::{ConfigError, LockLost, LockName, NodeError, NodeId, Text};

/// Why a guarded script brought no value, and whether it was executed.
///
/// Of [`Client::fenced`](crate::Client::fenced), `lock` is the key of the token.
///
/// # Examples
/// ```
/// use palisade::{LockGuard, error::GuardedError, guarded::Script};
///
/// async fn deposit(guard: &LockGuard, script: &Script) -> Result<i64, &'static str> {
///     match guard.script(script).key("balance:7").arg(100).invoke().await {
///         Ok(balance) => Ok(balance),
///         Err(GuardedError::Unknown { .. }) => Err("look before you try again"),
///         Err(GuardedError::Script { .. }) => Err("a part of it may be done"),
///         Err(GuardedError::WrongReply { .. }) => Err("it is done, and returned no number"),
///         Err(_) => Err("nothing was done"),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GuardedError {
    /// A key of it cannot be used, or it is not clear on which server it is to run. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The lock was lost before, by its own clock. Nothing was sent.
    #[error(transparent)]
    Lost(#[from] LockLost),
    /// The hold did not stand on the server any more: the lock is lost. The script was not executed.
    #[error("{lock}: not held any more on {node} (holder {holder}); the script was not executed")]
    #[non_exhaustive]
    NotHeld {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// What the server knew the hold by.
        holder: Arc<str>,
    },
    /// The hold does not stand on this server, though enough others confirm it. The script was not executed.
    #[error("{lock}: held, but not on {node} (holder {holder}); the script was not executed")]
    #[non_exhaustive]
    NotHeldThere {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// What the server knew the hold by.
        holder: Arc<str>,
    },
    /// A greater token was shown with the same key before: a later holder has come, and the lock of this one is lost for
    /// good. The script was not executed. Of [`Client::fenced`](crate::Client::fenced) alone.
    #[error(
        "{lock}: token {token} is stale on {node}, which has seen {newest}; the script was not executed"
    )]
    #[non_exhaustive]
    Stale {
        /// The key of the token.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// What was shown.
        token: u64,
        /// The greatest that was ever shown.
        newest: u64,
    },
    /// The script failed, or returned an error. What it wrote before that stands.
    #[error("{lock}: the script failed on {node}, and what it wrote before stands: {error}")]
    #[non_exhaustive]
    Script {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// What the server said.
        error: Text,
    },
    /// The script was not executed.
    #[error("{lock}: the script was not executed on {node}: {source}")]
    #[non_exhaustive]
    NotDone {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// Why.
        source: NodeError,
    },
    /// The script may have been executed, or may still be as long as the hold stands. It is not sent again.
    #[error("{lock}: unknown whether the script was executed on {node}: {source}")]
    #[non_exhaustive]
    Unknown {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// Why that is unknown.
        source: NodeError,
    },
    /// The script was executed, and too few replicas have what it wrote: a failover may lose it.
    #[error("{lock}: the script was executed on {node}, but a failover may lose that: {source}")]
    #[non_exhaustive]
    NotReplicated {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// How many have it.
        source: NodeError,
    },
    /// The script was executed, and returned something else than was expected.
    #[error("{lock}: the script was executed on {node}; expected {expected}, got {got}")]
    #[non_exhaustive]
    WrongReply {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// What was expected.
        expected: &'static str,
        /// The beginning of what came.
        got: Text,
    },
}

impl GuardedError {
    /// Whether the server may answer otherwise when the same is said once more, by a script that changes nothing when
    /// it is said again.
    pub(crate) const fn may_pass_if_repeated(&self) -> bool {
        matches!(
            self,
            Self::NotDone { .. }
                | Self::Unknown { .. }
                | Self::NotHeldThere { .. }
                | Self::NotReplicated { .. }
        )
    }
}
