//! Mistakes that are found before anything is sent.

use std::time::Duration;

use super::{LockName, Text};

/// A setting, name or lease that cannot work. Nothing was sent to any server.
///
/// # Examples
/// ```
/// use palisade::{Masters, error::ConfigError};
///
/// assert_eq!(Masters::new([]).unwrap_err(), ConfigError::NoMembers);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A lock needs a name.
    #[error("the lock's name is empty")]
    EmptyName,
    /// The name is longer than a name may be.
    #[error("the lock's name has {len} bytes; at most {max} are allowed")]
    #[non_exhaustive]
    NameTooLong {
        /// Its length in bytes.
        len: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The name's braces would put the lock's key and its channel into different cluster slots.
    #[error("the lock's name {name:?} has braces that are not one well-formed hash tag")]
    #[non_exhaustive]
    BadHashTag {
        /// The name, as errors may show it.
        name: Text,
    },
    /// Two names of which one is the other in braces, such as `x` and `{x}`, both used in this process as a lock
    /// with other keys beside its own, on one server: those keys, which are Redisson's, have the same names,
    /// so one would wait for the turns of the other, or end its permits. Nothing was sent.
    #[error("{name:?} has keys in common with {other:?}, which this process uses, too")]
    #[non_exhaustive]
    SharedKeys {
        /// The name, as errors may show it.
        name: Text,
        /// The one that was used before.
        other: Text,
    },
    /// A latch whose name has a hash tag, on a server of a cluster: Redisson's channel for it, which is
    /// always in braces, is in another slot. Nothing was changed.
    #[error("the latch's name {name:?} has a hash tag, which Redisson's channel for it has not")]
    #[non_exhaustive]
    TaggedLatch {
        /// The name, as errors may show it.
        name: Text,
    },
    /// A count that cannot be set: 0, which is none, or more than is counted on with.
    #[error("a count of {count} cannot be set; from 1 to {max} are allowed")]
    #[non_exhaustive]
    CountOutOfRange {
        /// The count asked for.
        count: u64,
        /// The greatest.
        max: u64,
    },
    /// So many permits cannot be acquired at once.
    #[error("{permits} permits cannot be acquired at once; from 1 to {max} can")]
    #[non_exhaustive]
    PermitsOutOfRange {
        /// How many were asked for.
        permits: u32,
        /// The most.
        max: u32,
    },
    /// What is no id of a permit: those are 32 hexadecimal digits.
    #[error("{id:?} is no permit: those have 32 hexadecimal digits")]
    #[non_exhaustive]
    InvalidPermitId {
        /// What was given.
        id: Text,
    },
    /// What is no fencing token: those are from 1 to 2^53 − 1.
    #[error("{number} is no fencing token: those are from 1 to 2^53 - 1")]
    #[non_exhaustive]
    InvalidFencingToken {
        /// What was given.
        number: Text,
    },
    /// The lease is shorter than clocks can tell apart safely, or zero.
    #[error("a lease of {lease:?} is too short; at least {min:?} is needed")]
    #[non_exhaustive]
    LeaseTooShort {
        /// The lease asked for.
        lease: Duration,
        /// The least lease of this sort.
        min: Duration,
    },
    /// The lease is longer than the configured cap.
    #[error("a lease of {lease:?} is longer than max_lease, which is {max:?}")]
    #[non_exhaustive]
    LeaseTooLong {
        /// The lease asked for.
        lease: Duration,
        /// The cap, `max_lease`.
        max: Duration,
    },
    /// The lease of a read/write lock is longer than what Redisson's readers leave of it: see
    /// [`ClientBuilder::redisson_watchdog`](crate::ClientBuilder::redisson_watchdog).
    #[error(
        "a lease of {lease:?} is too long for a lock with readers: redisson_watchdog is \
         {redisson_watchdog:?}"
    )]
    #[non_exhaustive]
    LeaseAboveRedisson {
        /// The lease asked for.
        lease: Duration,
        /// The cap, `redisson_watchdog`.
        redisson_watchdog: Duration,
    },
    /// A `MultiLock` or `RedLock` without members.
    #[error("a composite lock needs at least one member")]
    NoMembers,
    /// The same lock twice: it could never be held twice by one holder.
    #[error("{member} is a member twice")]
    #[non_exhaustive]
    DuplicateMember {
        /// Server and name.
        member: Text,
    },
    /// Two members of a `RedLock` on one server: that server would have two votes.
    #[error("two members of a RedLock are on the same server {server}")]
    #[non_exhaustive]
    SameServer {
        /// The server.
        server: Text,
    },
    /// A member of a composite has a lease of its own; the composite's lease counts.
    #[error("{member} has a lease of its own; set the lease on the composite")]
    #[non_exhaustive]
    MemberLease {
        /// Server and name.
        member: Text,
    },
    /// The client allows longer leases than its masters were blessed for: those of other clients
    /// would vote too soon after a restart.
    #[error(
        "max_lease is {max_lease:?}, but {server} was blessed for leases of at most {blessed:?}"
    )]
    #[non_exhaustive]
    MaxLeaseAboveFleet {
        /// The server.
        server: Text,
        /// The client's `max_lease`.
        max_lease: Duration,
        /// The one on the server's marker.
        blessed: Duration,
    },
    /// Members of a composite were blessed as members of different fleets.
    #[error("{one} and {other} were blessed as members of different fleets")]
    #[non_exhaustive]
    DifferentFleets {
        /// A server.
        one: Text,
        /// A server of another fleet.
        other: Text,
    },
    /// A key of a guarded script that is not in the lock's slot of a cluster: no server has both. A key with the tag
    /// is.
    #[error("{key:?} is not in the lock's slot of the cluster; a key with {tag} is")]
    #[non_exhaustive]
    OtherSlot {
        /// The key.
        key: Text,
        /// What to write into it.
        tag: Text,
    },
    /// A guarded script of a lock on several servers: which one is to execute it is said by
    /// [`script_on`](crate::LockGuard::script_on).
    #[error("the lock is on several servers; script_on says which of them executes the script")]
    SeveralServers,
    /// A guarded script on a server that the lock is not on.
    #[error("the lock is not on {server}")]
    #[non_exhaustive]
    NotOnServer {
        /// The server.
        server: Text,
    },
    /// The owner holds the lock already, but without a fencing token: it would wait for itself.
    /// Acquire it fenced from the start; a plain re-entry is possible then.
    #[error("the owner holds {name:?} already, without a fencing token")]
    #[non_exhaustive]
    HeldWithoutToken {
        /// The lock's name, as errors may show it.
        name: Text,
    },
    /// The owner reads under the lock already, and asks to write: it would wait for itself. Release what
    /// it reads with first, or write from the start and downgrade.
    #[error("the owner holds {name:?} already, for reading")]
    #[non_exhaustive]
    HeldForReading {
        /// The lock's name, as errors may show it.
        name: Text,
    },
    /// The owner holds it already by another lock, of which it is a member or which is a member of the one
    /// that is asked for: it would wait for itself. Release that first, or acquire all members at once.
    #[error("the owner holds {name:?} already, by another lock that has it in common")]
    #[non_exhaustive]
    HeldByAnother {
        /// The name of the lock that is held, as errors may show it.
        name: Text,
    },
    /// The tokio runtime was built without something that is needed. Nothing was sent. Others of the
    /// process are not affected.
    #[error("this tokio runtime has no {what}: call {call}, or enable_all, on its builder")]
    #[non_exhaustive]
    RuntimeLacks {
        /// What it lacks.
        what: &'static str,
        /// The method of `tokio::runtime::Builder` that gives it.
        call: &'static str,
    },
    /// The client was made by another process, of which this one is a child by `fork()`. It does
    /// nothing here: make one in this process.
    #[error("the client was made before a fork, by process {made_by}; make one in this process")]
    #[non_exhaustive]
    Forked {
        /// The process that made it.
        made_by: u32,
    },
    /// An URL that cannot be read. It is not repeated, since it may hold a password.
    #[error("the server URL cannot be read: {reason}")]
    #[non_exhaustive]
    InvalidUrl {
        /// What is wrong with it, without the URL itself.
        reason: Text,
    },
    /// An URL of a sort that this build does not speak.
    #[error("servers of the sort {scheme:?} are not supported here{}", instead_of(.scheme))]
    #[non_exhaustive]
    UnsupportedUrl {
        /// The scheme.
        scheme: Text,
    },
    /// A setting that contradicts another or cannot work at all.
    #[error("{setting}: {reason}")]
    #[non_exhaustive]
    InvalidSetting {
        /// The setting's name.
        setting: &'static str,
        /// What is wrong with it.
        reason: Text,
    },
}

/// What to write, for schemes that users expect to work.
fn instead_of(scheme: &str) -> &'static str {
    match scheme {
        "rediss" | "valkeys" => ": it was built without TLS, which is the crate's feature `tls`",
        "http" | "https" => ": write redis://host:port/db",
        _ => "",
    }
}

impl ConfigError {
    /// The same with a name as errors may show it.
    pub(crate) fn naming(mut self, shown: impl FnOnce() -> LockName) -> Self {
        if let Self::BadHashTag { name } = &mut self {
            *name = shown().into_text();
        }
        self
    }
}
