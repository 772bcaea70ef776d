//! One error per operation, with variants for what a caller branches on.

use std::{fmt, sync::Arc, time::Duration};

use super::{Ballot, ConfigError, LockName, NodeError, NodeId, Text, Vote, quarantine::Sentence};

/// Why a client could not be connected.
///
/// # Examples
/// ```
/// use palisade::{Client, error::{ConfigError, ConnectError}};
///
/// async fn client(url: &str) -> Result<Client, ConfigError> {
///     match Client::connect(url).await {
///         Ok(client) => Ok(client),
///         Err(ConnectError::Config(error)) => Err(error),
///         // It is down for now: to be connected when it is needed.
///         Err(_) => Client::connect_lazy(url),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The configuration cannot work. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// None of several masters could be reached, or all refused us. No connection is left behind.
    #[error("none of the masters can be reached: {ballot}")]
    #[non_exhaustive]
    Masters {
        /// Why, of each.
        ballot: Ballot,
    },
    /// The server could not be reached or refused us. No connection is left behind.
    #[error("cannot connect to {node}: {source}")]
    #[non_exhaustive]
    Node {
        /// The server.
        node: NodeId,
        /// The cause.
        source: NodeError,
    },
}

/// Why a lock could not be acquired. Held by another is not among these: it is an answer.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::AcquireError;
///
/// const SECOND: Duration = Duration::from_secs(1);
///
/// /// When to try again, if that may help at all.
/// fn again_in(error: &AcquireError) -> Option<Duration> {
///     match error {
///         // Until it is said which rights are missing, or what else stands there, nothing helps.
///         AcquireError::Denied { .. } => None,
///         error if error.is_transient() => Some(error.retry_after().unwrap_or(SECOND)),
///         _ => None,
///     }
/// }
/// assert_eq!(again_in(&AcquireError::Shutdown), None);
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// The name, lease or list of members cannot work.
    ///
    /// Nothing was sent, or, where only the servers could tell (two members on one server), what
    /// was granted was taken back.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Too many nodes gave no answer, or an error that may pass. Nothing is held: what was granted is being
    /// taken back, and what was not answered is released as soon as the node can be reached, or ends with
    /// its lease.
    #[error("{lock}: {}: {}", too_few(.ballot), .ballot.told(of_acquire))]
    #[non_exhaustive]
    Unavailable {
        /// Which lock.
        lock: LockName,
        /// The vote of each node.
        ballot: Ballot,
    },
    /// Too many nodes refuse for a reason that lasts: a wrong password, a right that is missing, a key that is
    /// no lock, a server that is not supported. To ask again is pointless until that is changed. Nothing is
    /// held: what was granted is being taken back.
    #[error("{lock}: cannot be granted: {}", .ballot.told(of_acquire))]
    #[non_exhaustive]
    Denied {
        /// Which lock.
        lock: LockName,
        /// The vote of each node.
        ballot: Ballot,
    },
    /// Too many nodes were started so lately, or have lost their data, that they may have forgotten
    /// locks: their votes do not count yet. Nothing is held; those nodes granted nothing. Try again when they count, or bless
    /// the masters if they are new: [`Masters::bless`](crate::Masters::bless).
    #[error("{lock}: {}", Sentence::new(.ballot, *.counts_in))]
    #[non_exhaustive]
    Quarantined {
        /// Which lock.
        lock: LockName,
        /// The vote of each node.
        ballot: Ballot,
        /// When enough votes count, from the time of the attempt, if no more nodes restart.
        counts_in: Duration,
    },
    /// The watchdog does not run: it panicked and could not begin again yet, or its runtime has
    /// ended. The lock would not be renewed, nor its loss told. Nothing was sent.
    #[error("{lock}: the watchdog does not run, so nobody would renew the lock")]
    #[non_exhaustive]
    Unwatched {
        /// Which lock.
        lock: LockName,
    },
    /// It was never said how many permits the semaphore has: there are none to be had until
    /// [`set_permits`](crate::Semaphore::set_permits) is called. Nothing is held.
    #[error("{lock}: the semaphore was never set; set_permits says how many permits there are")]
    #[non_exhaustive]
    NotSet {
        /// Which semaphore.
        lock: LockName,
    },
    /// The client [drains](crate::Client::drain): nothing new is acquired by it. Nothing is held.
    #[error("the client drains: nothing new is acquired by it")]
    Draining,
    /// The client was shut down. Nothing was sent.
    #[error("the client was shut down")]
    Shutdown,
}

impl AcquireError {
    /// The vote of each node, if it came to a vote.
    #[must_use]
    pub fn ballot(&self) -> Option<&Ballot> {
        match self {
            Self::Unavailable { ballot, .. }
            | Self::Denied { ballot, .. }
            | Self::Quarantined { ballot, .. } => Some(ballot),
            Self::Config(_)
            | Self::Unwatched { .. }
            | Self::NotSet { .. }
            | Self::Draining
            | Self::Shutdown => None,
        }
    }
}

/// Why a hold ended before it was released.
///
/// Whatever the cause, another may hold the lock by now, or be granted it at any time: the causes
/// differ in what is known. The keys that still stand are removed when the last guard goes.
///
/// # Examples
/// ```
/// use palisade::{LockGuard, LostCause};
///
/// async fn report_loss(guard: &LockGuard) {
///     match guard.lost().await {
///         LostCause::Taken | LostCause::QuorumTaken => eprintln!("another holds it"),
///         cause if cause.is_expiry() => eprintln!("it was not renewed in time: {cause}"),
///         cause => eprintln!("{cause}"),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostCause {
    /// The lease ran out by our clock: it was fixed, its time to be renewed was over, or the machine
    /// slept. The keys may stand for a moment yet, and for longer where a server's clock is behind; no
    /// other holder was seen.
    Expired,
    /// The lease ran out by our clock, since its renewals were not answered. The keys are as with
    /// [`Expired`](Self::Expired), which is told in place of this while no renewal has failed yet.
    NotRenewed(NotRenewed),
    /// The server says that the lock is not held: it was deleted, forced open, evicted or
    /// forgotten. Whether others held it in between is unknown.
    Gone,
    /// The server says that another holds the lock: ours was deleted, forced open, evicted or
    /// forgotten before. The other's key was not touched.
    Taken,
    /// A member of a `MultiLock` is gone, as [`Gone`](Self::Gone) on one server. The others stand
    /// until the guard goes.
    #[non_exhaustive]
    MemberGone {
        /// The member's node.
        node: NodeId,
        /// The member's name.
        name: Text,
    },
    /// A member of a `MultiLock` is held by another, as [`Taken`](Self::Taken) on one server. The
    /// others stand until the guard goes.
    #[non_exhaustive]
    MemberTaken {
        /// The member's node.
        node: NodeId,
        /// The member's name.
        name: Text,
    },
    /// The server of a member of a `MultiLock` was restarted, and may have granted it to another since.
    /// Ours may stand there, and the others do until the guard goes.
    #[non_exhaustive]
    MemberRestarted {
        /// The member's node.
        node: NodeId,
        /// The member's name.
        name: Text,
    },
    /// So many members of a `RedLock` are gone that no majority is left. Others may hold some of
    /// them; a minority of ours may stand until the guard goes.
    QuorumGone,
    /// So many servers of a `RedLock` were restarted, and may have granted it to others since, that no
    /// majority is left. Ours may stand on all of them until the guard goes.
    QuorumRestarted,
    /// Others hold so many members of a `RedLock` that no majority is left. A minority of ours may
    /// stand until the guard goes.
    QuorumTaken,
    /// It is another process' hold: this one is a child of it by `fork()`, which holds nothing. The
    /// hold itself was not touched.
    Forked,
    /// The client was shut down, and the keys are being removed. Unlike with every other cause they
    /// may have stood until now.
    Shutdown,
}

impl LostCause {
    /// Whether the lease ran out, renewals having failed or not. With any other cause a server, a
    /// process or a client ended the hold.
    ///
    /// # Examples
    /// ```
    /// use palisade::LostCause;
    ///
    /// assert!(LostCause::Expired.is_expiry() && !LostCause::Taken.is_expiry());
    /// ```
    #[must_use]
    pub const fn is_expiry(&self) -> bool {
        matches!(self, Self::Expired | Self::NotRenewed(_))
    }
}

impl fmt::Display for LostCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expired => f.write_str("its lease ran out"),
            Self::NotRenewed(trouble) => write!(f, "its lease ran out: {trouble}"),
            Self::Gone => f.write_str("the server no longer knows it"),
            Self::Taken => f.write_str("another holds it"),
            Self::MemberGone { node, name } => write!(f, "{node} no longer knows {name:?}"),
            Self::MemberTaken { node, name } => write!(f, "another holds {name:?} on {node}"),
            Self::MemberRestarted { node, name } => {
                write!(f, "{node} was restarted, and may have granted {name:?} to another since")
            }
            Self::QuorumRestarted => f.write_str(
                "a majority of the servers was lost to restarts, and may have granted it to others since",
            ),
            Self::QuorumGone => f.write_str("a majority of the servers no longer knows it"),
            Self::QuorumTaken => f.write_str("others hold it on a majority of the servers"),
            Self::Forked => f.write_str("it is held by the process that this one was forked from"),
            Self::Shutdown => f.write_str("the client was shut down"),
        }
    }
}

impl std::error::Error for LostCause {}

/// A renewal that was not answered. It is asked again several times a second; the keys stand until their
/// lease ends.
///
/// # Examples
/// ```
/// use palisade::LockGuard;
///
/// fn look(guard: &LockGuard) {
///     if let Some(trouble) = guard.not_renewed() {
///         eprintln!("{}, with {:?} left", trouble, guard.remaining());
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{node} did not renew it: {reason}")]
#[non_exhaustive]
pub struct NotRenewed {
    /// A server that did not answer; the last one of several.
    pub node: NodeId,
    /// Why not.
    pub reason: Text,
}

/// The lock was lost: another may hold it now.
///
/// # Examples
/// ```
/// use palisade::{LockGuard, LockLost};
///
/// fn pay(guard: &LockGuard) -> Result<(), LockLost> {
///     guard.ensure_valid()?;
///     // … what must not happen twice …
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{lock}: the lock was lost: {cause} (holder {holder})")]
#[non_exhaustive]
pub struct LockLost {
    /// Which lock.
    pub lock: LockName,
    /// What the servers knew the hold by.
    pub holder: Arc<str>,
    /// What ended it.
    pub cause: LostCause,
}

/// Why a release was not confirmed.
///
/// # Examples
/// ```
/// use palisade::{LockGuard, ReleaseError};
///
/// async fn finish(guard: LockGuard) {
///     match guard.release().await {
///         Ok(_) => {}
///         Err(ReleaseError::Lost(lost)) => eprintln!("others may have worked too: {}", lost.cause),
///         // It is repeated in the background.
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ReleaseError {
    /// The lock was lost before it was released: another may have held it since. Whatever is left
    /// of it on the servers is being removed.
    #[error(transparent)]
    Lost(#[from] LockLost),
    /// Not enough servers confirmed. The hold is over here, the keys may stand until their lease
    /// ends at the latest; the release is repeated in the background until then.
    #[error(
        "{lock}: the release is not confirmed: {} (holder {holder})", .ballot.told(of_release)
    )]
    #[non_exhaustive]
    Unconfirmed {
        /// Which lock.
        lock: LockName,
        /// What the servers know the hold by.
        holder: Arc<str>,
        /// What the nodes answered; a confirmed release counts as granted, and as refused where the
        /// lock was not ours any more.
        ballot: Ballot,
    },
}

/// Why a hold was not downgraded. `G` is the guard.
///
/// # Examples
/// ```
/// use palisade::{error::DowngradeError, rw::{ReadGuard, WriteGuard}};
///
/// /// What is left to write with, if others of the owner write on.
/// async fn share(guard: WriteGuard) -> Result<ReadGuard, Option<WriteGuard>> {
///     guard.downgrade().await.map_err(|error| match error {
///         DowngradeError::WriteGuards { guard, .. } => Some(guard),
///         _ => None,
///     })
/// }
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DowngradeError<G: fmt::Debug> {
    /// The lock was lost: nothing is held. Whatever is left of it on the servers is being removed.
    #[error(transparent)]
    Lost(#[from] LockLost),
    /// The hold has other guards that write. It goes on as it was, and so does this guard.
    #[error("{others} other guards of the hold write")]
    #[non_exhaustive]
    WriteGuards {
        /// The guard.
        guard: G,
        /// How many others there are.
        others: u32,
    },
}

/// Why a hold was not extended. Its deadline is what it was, unless a server confirms later.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::{Lease, LockGuard, error::ExtendError};
///
/// async fn more_time(guard: &LockGuard) -> Result<(), ExtendError> {
///     match guard.extend(Lease::Fixed(Duration::from_secs(60))).await {
///         // It may still come; until then there is as much time as there was.
///         Err(ExtendError::Unconfirmed { .. }) => Ok(()),
///         said => said,
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lease is too short, or longer than `max_lease`, or than what `max_hold` leaves. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The lock was lost: another may hold it now.
    #[error(transparent)]
    Lost(#[from] LockLost),
    /// Not enough servers confirmed in time.
    #[error("{lock}: too few servers confirmed that the lease is longer (holder {holder})")]
    #[non_exhaustive]
    Unconfirmed {
        /// Which lock.
        lock: LockName,
        /// What the servers know the hold by.
        holder: Arc<str>,
    },
}

/// Why `with` gave no value.
///
/// # Examples
/// ```
/// use palisade::{Lock, error::WithError};
///
/// async fn nightly(lock: &Lock) {
///     match lock.with(async |_guard| { /* … the report … */ }).await {
///         Ok(()) => {}
///         Err(WithError::Lost(lost)) => eprintln!("stopped half way: {}", lost.cause),
///         Err(error) => eprintln!("not begun: {error}"),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum WithError {
    /// The lock was not acquired; the closure was not run.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// The lock was lost; the closure was stopped at its next suspension point.
    #[error(transparent)]
    Lost(#[from] LockLost),
}

/// Why the state of a lock could not be read or forced. Nothing was changed, unless a forced
/// release failed with a cause that [is unknown](NodeError::is_unknown).
///
/// # Examples
/// ```
/// use palisade::{Lock, error::InspectError};
///
/// async fn show(lock: &Lock) {
///     match lock.is_locked().await {
///         Ok(locked) => println!("{}", if locked { "held" } else { "free" }),
///         Err(InspectError::Node { node, source, .. }) => println!("{node}: {source}"),
///         Err(error) => println!("{error}"),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The name cannot work. Nothing was sent.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server gave no answer or refused.
    #[error("{lock}: cannot ask {node}: {source}")]
    #[non_exhaustive]
    Node {
        /// Which lock.
        lock: LockName,
        /// The server.
        node: NodeId,
        /// The cause.
        source: NodeError,
    },
}

/// Why a number on a server, such as the count of a latch, was not changed.
///
/// # Examples
/// ```
/// use palisade::{CountDownLatch, error::ChangeError};
///
/// async fn done(latch: &CountDownLatch) {
///     match latch.count_down().await {
///         Ok(_) => {}
///         // To try again counts once.
///         Err(ChangeError::NotMade { source, .. }) => eprintln!("not counted: {source}"),
///         // To try again may count twice, and not to, never.
///         Err(ChangeError::Unknown { source, .. }) => eprintln!("counted or not: {source}"),
///         Err(error) => eprintln!("{error}"),
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// The name or the number cannot work. Nothing was changed.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The change was not made, and will not be.
    #[error("{name}: not changed on {node}: {source}")]
    #[non_exhaustive]
    NotMade {
        /// What was to be changed.
        name: LockName,
        /// The server.
        node: NodeId,
        /// The cause.
        source: NodeError,
    },
    /// The server was asked, and gave no answer for so long that it would not remember. Whether the
    /// change was made is unknown; it was made at most once.
    #[error("{name}: changed on {node} or not, which is unknown: {source}")]
    #[non_exhaustive]
    Unknown {
        /// What was to be changed.
        name: LockName,
        /// The server.
        node: NodeId,
        /// The cause.
        source: NodeError,
    },
}

/// Releases were still under way when the time given to a shutdown was over.
///
/// Their keys end with their lease. The client is closed all the same.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use palisade::Client;
///
/// async fn stop(client: &Client) {
///     if let Err(error) = client.shutdown(Duration::from_secs(2)).await {
///         eprintln!("{} keys may stand until their leases end", error.unfinished);
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{unfinished} releases were not confirmed in time")]
#[non_exhaustive]
pub struct ShutdownError {
    /// How many.
    pub unfinished: usize,
}

/// A server that answered, with an error too, is not to be called silent.
fn too_few(ballot: &Ballot) -> &'static str {
    let said = ballot.failures().any(|(_, cause)| cause.is_answer());
    if said { "cannot be granted" } else { "not enough servers answered" }
}

/// Nothing is held: a bare "granted" would say otherwise.
const fn of_acquire(vote: &Vote) -> Option<&'static str> {
    match vote {
        Vote::Granted => Some("granted, taken back"),
        _ => None,
    }
}

const fn of_release(vote: &Vote) -> Option<&'static str> {
    match vote {
        Vote::Granted => Some("released"),
        Vote::Refused { .. } => Some("no longer ours"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Phase;

    #[test]
    fn ballots_say_what_became_of_the_votes() {
        let late = Vote::Failed(NodeError::TimedOut { phase: Phase::Answering });
        let votes = [Vote::Granted, Vote::Refused { ttl: None }, late];
        let nodes = ["a", "b", "c"].map(NodeId::new);
        let ballot = Ballot::new(nodes.into_iter().zip(votes).collect());
        let lock = LockName::plain(&"x".into());
        let plain = "a: granted; b: held by another without a ttl; c: timed out while waiting for \
                     the answer";
        assert_eq!(ballot.to_string(), plain);
        assert_eq!(
            AcquireError::Unavailable { lock: lock.clone(), ballot: ballot.clone() }.to_string(),
            "x: not enough servers answered: a: granted, taken back; b: held by another without a \
             ttl; c: timed out while waiting for the answer"
        );
        assert_eq!(
            ReleaseError::Unconfirmed { lock, holder: "h:1".into(), ballot }.to_string(),
            "x: the release is not confirmed: a: released; b: no longer ours; c: timed out while \
             waiting for the answer (holder h:1)"
        );
    }

    // proves: three-answers
    #[test]
    fn servers_that_answered_with_an_error_are_not_called_silent() {
        let server = |code: &str| NodeError::Server { code: code.into(), message: code.into() };
        let silent = NodeError::TimedOut { phase: Phase::Connecting };
        let auth = NodeError::Authentication { message: "WRONGPASS".into() };
        for (cause, head) in [
            (NodeError::ForeignKey, "x: cannot be granted: a: "),
            (NodeError::OutOfMemory, "x: cannot be granted: a: "),
            (server("MOVED"), "x: cannot be granted: a: "),
            (auth, "x: cannot be granted: a: "),
            (silent.clone(), "x: not enough servers answered: a: "),
        ] {
            let votes = [cause, silent.clone()].map(Vote::Failed);
            let nodes = ["a", "b"].map(NodeId::new);
            let ballot = Ballot::new(nodes.into_iter().zip(votes).collect());
            let lock = LockName::plain(&"x".into());
            let text = AcquireError::Unavailable { lock, ballot }.to_string();
            assert!(text.starts_with(head), "{text}");
        }
    }
}
