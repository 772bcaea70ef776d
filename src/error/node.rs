//! Why one node gave no vote.

use std::{sync::Arc, time::Duration};

use super::{Text, rounded::whole_seconds};

/// What was being waited for when time ran out.
///
/// # Examples
/// ```
/// use palisade::error::{NodeError, Phase};
///
/// // Whether the server has acted is unknown only if it was asked.
/// fn was_asked(cause: &NodeError) -> bool {
///     matches!(cause, NodeError::TimedOut { phase: Phase::Answering, .. })
/// }
/// assert!(!was_asked(&NodeError::Loading));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// A connection: nothing was sent.
    Connecting,
    /// Its turn to be sent, behind very many others: nothing was sent.
    Sending,
    /// The answer to a request: the server may have executed it, or may still do so.
    Answering,
}

/// Why one node failed to answer a request with a yes or a no.
///
/// Held by another is never among these: it is an answer.
///
/// # Examples
/// ```
/// use palisade::error::NodeError;
///
/// fn advice(cause: &NodeError) -> &'static str {
///     match cause {
///         NodeError::Permission { .. } | NodeError::Unidentified => "give the user more rights",
///         NodeError::Quarantined { .. } => "wait: the server has come back lately",
///         cause if cause.is_unknown() => "it may have been done",
///         _ => "nothing was done",
///     }
/// }
/// assert_eq!(advice(&NodeError::Loading), "nothing was done");
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// No connection, and the node is known to be down, or the connection broke before the request
    /// left: nothing was sent.
    #[error("the server cannot be reached: {reason}")]
    #[non_exhaustive]
    Unreachable {
        /// What the last attempt to connect reported, or how the connection broke.
        reason: Text,
    },
    /// The node's time was up. In [`Phase::Answering`] it is unknown whether the server acted.
    #[error("timed out while {}", phase_name(*.phase))]
    #[non_exhaustive]
    TimedOut {
        /// What was being waited for.
        phase: Phase,
    },
    /// The connection broke after the request was sent, or may have been: whether the server acted is
    /// unknown.
    #[error("the connection broke before the answer came: {source}")]
    #[non_exhaustive]
    Disconnected {
        /// The transport's error.
        #[source]
        source: Arc<dyn std::error::Error + Send + Sync>,
    },
    /// TLS refused: the server's certificate is not one to trust, or not for its name, or over; or the server
    /// refused ours; or does not speak TLS. Nothing was sent.
    #[error("no TLS connection: {reason}")]
    #[non_exhaustive]
    Tls {
        /// What is wrong, and with whose certificate.
        reason: Text,
    },
    /// There are no credentials to log in with: what asks for them failed. Nothing was sent.
    #[error("no credentials: {reason}")]
    #[non_exhaustive]
    Credentials {
        /// What it said.
        reason: Text,
    },
    /// The server refused the credentials (NOAUTH, WRONGPASS). Nothing was executed.
    #[error("the server refused the credentials: {message}")]
    #[non_exhaustive]
    Authentication {
        /// The server's text.
        message: Text,
    },
    /// The user may not do this (NOPERM). Nothing was left behind.
    ///
    /// What a name needs is told by [`Rights`](crate::acl::Rights), and by `palisade acl NAME`. Some rights can
    /// be missing: without `+hdel` each release takes two round trips; without `+info`, or the key
    /// `palisade:marker`, less is noticed of what servers forget (see [`Quarantine`](crate::Quarantine)).
    #[error(
        "the user lacks a permission: {message} (`palisade acl` prints what is needed, by kind and role)"
    )]
    #[non_exhaustive]
    Permission {
        /// The server's text. Redis 7.0 does not name the command that a script was refused.
        message: Text,
    },
    /// The server may have forgotten locks that others still hold: its process has not been running
    /// for long, or its data was lost or replaced meanwhile. Nothing was granted.
    #[error(
        "the server {} and may have forgotten locks; its vote counts in {} s",
        .forgotten.happened(.uptime.as_secs()), whole_seconds(*.counts_in)
    )]
    #[non_exhaustive]
    Quarantined {
        /// For how long it has been running.
        uptime: Duration,
        /// When its votes count, from the time of the attempt.
        counts_in: Duration,
        /// What was lost.
        forgotten: Forgotten,
    },
    /// The server does not tell when it was started, since the user may not ask for it. Its grant
    /// was not asked for. (Where no user may, since the command was renamed, it is
    /// [`Unsupported`](Self::Unsupported).)
    #[error("the user may not ask when the server was started; add the ACL rule +info|server")]
    Unidentified,
    /// The server is a replica, or was demoted to one (READONLY): it cannot vote.
    #[error("the server is a read-only replica")]
    Replica,
    /// The server is one that locks cannot rest on: too old, one of several masters of the same data, one of several
    /// that answer at its address in turn, as behind a load balancer, one that does not know `INFO`, or one of a
    /// [cluster](crate::ClientBuilder::cluster) of several masters that was named as if it were alone. Or none of those
    /// is a sentinel that were named as such. Nothing was executed.
    #[error("the server is not supported: {what}")]
    #[non_exhaustive]
    Unsupported {
        /// What it is, and what is needed.
        what: Text,
    },
    /// The server is still loading its data (LOADING). Nothing was executed.
    #[error("the server is loading its data")]
    Loading,
    /// A replica that lost its master (MASTERDOWN). Nothing was executed.
    #[error("the server is a replica that lost its master")]
    MasterDown,
    /// The server is out of memory and refuses writes that need more (OOM). Nothing was written.
    #[error("the server is out of memory")]
    OutOfMemory,
    /// The key exists and is not a lock: it is of another type (WRONGTYPE), or a hash with fields that
    /// are no holders, such as a user's record; or, under the name of a latch, no number. It was not touched. Names of locks are keys: a
    /// [namespace](crate::ClientBuilder::namespace) keeps them apart from others.
    #[error("the key exists and is not a lock")]
    ForeignKey,
    /// The key is a lock of another kind: a plain lock was asked for and readers or writers stand
    /// there, or the other way round. It was not touched. Give different kinds different names.
    #[error("the key is a lock of another kind")]
    OtherKind,
    /// The key of the fencing counter holds no counter, or one that cannot be raised any more: it is
    /// of another type, not a whole number, beyond 2^53 − 2, or more than a day ahead of the server's time in
    /// µs. Nothing was changed. Where that is right and the counter is not, set it to the token of the last
    /// holder.
    #[error("the fencing counter's key holds no counter that can be raised")]
    ForeignCounter,
    /// The key `palisade:marker` exists and is not a mark that any client can have written. It was not
    /// touched. If it is none at all, only clients that are [`Strict`](crate::Quarantine::Strict) about it
    /// mind: others go by the uptime alone.
    #[error("the key palisade:marker exists and is not a mark of any client")]
    ForeignMarker,
    /// The server does not run scripts: the commands are renamed, disabled or not known.
    #[error("the server does not run scripts: {message}")]
    #[non_exhaustive]
    ScriptsRefused {
        /// The server's text.
        message: Text,
    },
    /// The master has written it, and fewer replicas have confirmed that than
    /// [are asked for](crate::ClientBuilder::replicas): another of them may become the master and not
    /// have it. It does not count, and a grant is taken back; until then it stands on the master, and
    /// maybe on replicas.
    #[error("it is on {replicas} of the {wanted} replicas that are to have it")]
    #[non_exhaustive]
    NotReplicated {
        /// How many are to have it.
        wanted: u32,
        /// How many have said so in time; 0 also where none could be asked in the end.
        replicas: u32,
    },
    /// The server answered with another error. Nothing was granted.
    #[error("the server refused: {message}")]
    #[non_exhaustive]
    Server {
        /// The error's first word, such as `MISCONF` or `NOREPLICAS`.
        code: Text,
        /// The server's text.
        message: Text,
    },
    /// The server's answer was not understood: whether it acted is unknown.
    #[error("the answer was not understood: {what}")]
    #[non_exhaustive]
    Malformed {
        /// What was expected and what came.
        what: Text,
    },
    /// The client was shut down: nothing was sent.
    #[error("the client was shut down")]
    Closed,
    /// There is no tokio runtime here to talk on, or one without timers: nothing was sent.
    #[error("no tokio runtime with timers is running here")]
    NoRuntime,
}

/// What a server answers whatever it is asked, besides what has a variant of its own.
pub(crate) const OF_SERVER: [&str; 6] =
    ["BUSY", "CLUSTERDOWN", "MISCONF", "NOPROTO", "NOREPLICAS", "UNKILLABLE"];

/// What a server lost that was granted there.
///
/// # Examples
/// ```
/// use palisade::error::{Forgotten, NodeError};
///
/// fn is_flushed(cause: &NodeError) -> bool {
///     matches!(cause, NodeError::Quarantined { forgotten: Forgotten::Data, .. })
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forgotten {
    /// The process was started lately, and what it had before may be gone.
    Run,
    /// The process runs on, but its data is not what it granted on: FLUSHALL, a promotion, a
    /// full resynchronisation, or the key `palisade:marker` was deleted or evicted. To a
    /// [`Strict`](crate::Quarantine::Strict) client also: nothing shows that it is.
    Data,
}

impl Forgotten {
    fn happened(self, uptime: u64) -> String {
        match self {
            Self::Run => format!("started {uptime} s ago"),
            Self::Data => "has lost its data".to_owned(),
        }
    }
}

const fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Connecting => "connecting",
        Phase::Sending => "waiting to be sent",
        Phase::Answering => "waiting for the answer",
    }
}

impl NodeError {
    // keeps: three-answers
    /// Whether the server may have executed the request, or may still do so.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(
            self,
            Self::TimedOut { phase: Phase::Answering }
                | Self::Disconnected { .. }
                | Self::Malformed { .. }
                | Self::NotReplicated { .. }
        )
    }

    /// Whether the server was heard: it is there, and said why it grants nothing.
    #[must_use]
    pub const fn is_answer(&self) -> bool {
        !matches!(
            self,
            Self::Unreachable { .. }
                | Self::Credentials { .. }
                | Self::TimedOut { .. }
                | Self::Disconnected { .. }
                | Self::Closed
                | Self::NoRuntime
        )
    }

    /// Whether the server does not know the script: nothing was executed.
    pub(crate) fn is_noscript(&self) -> bool {
        matches!(self, Self::Server { code, .. } if &**code == "NOSCRIPT")
    }

    /// Whether the keys of a call are in several slots of a cluster: nothing was executed.
    pub(crate) fn is_crossslot(&self) -> bool {
        matches!(self, Self::Server { code, .. } if &**code == "CROSSSLOT")
    }

    /// Whether the server's answer may be about one key of a call, and not about the server.
    pub(crate) fn may_concern_one_key(&self) -> bool {
        match self {
            Self::Permission { .. } | Self::ForeignKey | Self::OtherKind | Self::ForeignCounter => {
                true
            }
            Self::Server { code, .. } => {
                // All keys of a call are in one slot.
                !OF_SERVER.contains(&&**code) && !matches!(&**code, "MOVED" | "ASK")
            }
            _ => false,
        }
    }

    /// The same, with the place of a server that its users have not named.
    pub(crate) fn of_server_at(self, place: &str) -> Self {
        let at = |text: Text| Text::from(format!("{place}: {}", &*text));
        match self {
            Self::Unreachable { reason } => Self::Unreachable { reason: at(reason) },
            Self::Tls { reason } => Self::Tls { reason: at(reason) },
            Self::Authentication { message } => Self::Authentication { message: at(message) },
            Self::Permission { message } => Self::Permission { message: at(message) },
            Self::Unsupported { what } => Self::Unsupported { what: at(what) },
            Self::ScriptsRefused { message } => Self::ScriptsRefused { message: at(message) },
            Self::Server { code, message } => Self::Server { code, message: at(message) },
            // They have no words of their own.
            other => other,
        }
    }
}
