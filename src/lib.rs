//! Locks that live in Redis, for programs whose jobs, payments and migrations must not run twice.
//!
//! ```rust,no_run
//! use std::time::Duration;
//!
//! use palisade::{Client, LockGuard};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("redis://127.0.0.1:6379").await?;
//! let lock = client.lock("orders:42");
//! let work = async |_guard: &LockGuard| { /* … stopped if the lock is lost … */ };
//! match lock.with_for(Duration::from_secs(2), work).await? {
//!     Some(()) => println!("done"),
//!     None => println!("another holds it"),
//! }
//! client.shutdown(Duration::from_secs(2)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Which one?
//!
//! | what is wanted | on one master | on several independent ones |
//! |---|---|---|
//! | one at a time | [`Lock`] | [`RedLock`] by a majority, [`MultiLock`] by all |
//! | one at a time, in the order of asking | [`FairLock`] | [`MultiLock`] of these |
//! | a token by which a store refuses late writes | [`FencedLock`] | [`FencedRedLock`], [`FencedMultiLock`] |
//! | many readers or one writer | [`RwLock`] | [`Masters::rw_lock`] |
//! | a few locks for any number of keys | [`StripedLock`] | |
//! | some at a time | [`Semaphore`], [`ExpirableSemaphore`] | |
//! | once an hour, on however many machines a timer fires | [`Lock::once_for`] | [`RedLock::once_for`] |
//! | one of many leads, and others find it | [`Client::election`] | [`Masters::election`] |
//! | many wait for others to finish | [`CountDownLatch`] | |
//! | any of them in one field | [`any::BoxLock`], or a function over [`AnyLock`] | the same |
//!
//! # How a hold ends
//!
//! A guard releases when it is [released](LockGuard::release) or dropped. While it lives its lease is renewed
//! ([`Lease`]); if that fails it is *lost*, by its own clock, before another can be granted.
//! [`run`](LockGuard::run) and `with` stop their work then, [`loss_token`](LockGuard::loss_token) tells work that
//! was spawned, and [`ensure_valid`](LockGuard::ensure_valid) is for the line before what must not happen twice.
//! Before a program stops, [`Client::drain`] lets work end; [`Client::shutdown`] releases what is left.
//!
//! # What an answer means
//!
//! *Held by another* is `Ok(None)`. An [`AcquireError`] says what each server said;
//! [`is_transient`](AcquireError::is_transient) tells what passes from what has to be changed. A request without
//! an answer is taken back. Of a release, [`Lost`](ReleaseError::Lost) is serious: others may have worked too;
//! [`Unconfirmed`](ReleaseError::Unconfirmed) is a line for the log: the work is done, and the release is repeated.
//!
//! # What is promised, and what cannot be
//!
//! What is written in the same Redis can be written by a [script](LockGuard::script) that the server executes only while
//! the hold stands. The [promises] say what holds and as long as what. A double run is *impossible* only where a store
//! refuses it: see [`FencingToken`]. The [README](readme) names the pages: deployments, incidents, operation.
//!
//! # Features
//!
//! `embedded`: a server in the process, for development and tests ([`embedded`]). `tls`: `rediss://`. `serde`:
//! [`FencingToken`] as a number.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod planted;

mod acquire;
mod by_member;
mod claim;
mod client;
pub mod clock;
mod composite;
mod elections;
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod error;
pub mod fence;
mod guard;
mod guarded_scripts;
mod health;
mod home;
mod kind;
mod kinds;
mod latest;
mod lease;
mod listing;
pub mod logging;
pub mod metering;
mod node;
mod notifier;
mod panics;
mod periods;
mod presence;
mod process;
mod pubsub;
mod random;
mod reach;
mod socket;
mod standing;
mod sync;
mod telling;
mod tracking;
mod voting;
mod wait;
mod watchdog;
mod wire;

pub use acquire::AnyLock;
pub use client::{Client, ClientBuilder, Masters};
pub use composite::{FencedMultiLock, FencedRedLock, Member, MultiLock, RedLock, StripedLock};
pub use error::{AcquireError, LockLost, LostCause, ReleaseError};
pub use guard::{AnyGuard, LockGuard, Owner, Released};
pub use kind::FencingToken;
pub use kinds::{
    CountDownLatch, ExpirableSemaphore, FairLock, FencedGuard, FencedLock, Lock, RwLock, Semaphore,
};
pub use lease::Lease;
#[cfg(planted_bugs)]
#[doc(hidden)]
pub use planted::bugs as planted_bugs;
pub use standing::Quarantine;
pub use wait::OnOutage;

/// What the library is, in one page that names all others.
pub mod readme {
    #![doc = include_str!("../README.md")]
}

/// What holds, as long as what, and what no lock can.
pub mod promises {
    #![doc = include_str!("../docs/src/choose/promises.md")]
}

/// The pages with code of this library, which is compiled as this library's own examples are.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../docs/src/start/five-minutes.md")]
    mod start {}
    #[doc = include_str!("../docs/src/understand/fencing.md")]
    mod fencing {}
    #[doc = include_str!("../docs/src/use/web-handlers.md")]
    mod web_handlers {}
    #[doc = include_str!("../docs/src/use/cron-jobs.md")]
    mod cron_jobs {}
    #[doc = include_str!("../docs/src/use/shutdown.md")]
    mod shutdown {}
    #[doc = include_str!("../docs/src/use/logging.md")]
    mod logging {}
    #[doc = include_str!("../docs/src/use/testing.md")]
    mod testing {}
    #[doc = include_str!("../docs/src/use/blocking-programs.md")]
    mod blocking {}
    #[doc = include_str!("../docs/src/use/beside-a-pool.md")]
    mod beside_pool {}
    #[doc = include_str!("../docs/src/use/retries.md")]
    mod retries {}
    #[doc = include_str!("../docs/src/move-over/redisson.md")]
    mod from_redisson {}
    #[doc = include_str!("../docs/src/move-over/rslock.md")]
    mod from_rslock {}
}

/// Scripts that change data in the same Redis only while a hold stands: [`LockGuard::script`]. And in another Redis
/// only until a greater fencing token was shown there: [`Client::fenced`].
pub mod guarded {
    pub use crate::{
        client::{FencedData, FencedInvocation},
        guard::GuardedInvocation as Invocation,
        guarded_scripts::{
            Argument, FromReply, GuardedScript as Script, ScriptReply as Reply, WrongReply,
        },
    };
}

/// Jobs that run once for a period, or so often at most: what a cron job on several machines needs.
///
/// *One at a time* is not *once*: where three machines start a job within a second, each finds the lock free in its
/// turn, and all three do the work. So a run that has ended is *recorded* beside its lock, and not repeated.
/// [`Lock::once_for`] asks for a period by an id of the schedule, such as `"2026-11-26T03"`;
/// [`Lock::at_most_every`] by the time since the last recorded start. [`Cadence`](once::Cadence) has what is rarely
/// needed.
///
/// # What is promised
/// - **No two recorded runs of one period.** [`Once::Done`](once::Once::Done) is returned for a period once at most;
///   all others that ask get [`Once::NotDue`](once::Once::NotDue).
/// - **A run that ended without a record is repeated**, if it is asked for again: its process died, its lock was lost,
///   its work failed. So work may *begin* more often. It is done at least once if it is asked for often enough, and
///   never *exactly once*: work that may not be begun twice needs a store that knows, as [`fence`] has it.
/// - **No two runs overlap**, as long as the promise of the lock holds: on one server, while that keeps its keys; with
///   a [`RedLock`], as that says.
///
/// # As long as what
/// - The record outlives whatever asks: [`keep_for`](once::Cadence::keep_for), eight days by default. It depends
///   neither on the lease nor on [`Quarantine`].
/// - A server that took the record has it still, and answers. With several, the record is written to all, and a
///   majority confirms it; a record on *any* server that answers counts. The quarantine after a restart keeps locks
///   safe, and not records: masters that forget theirs, one after the other, forget the record. Where that matters,
///   let them save their data.
/// - No server's clock is set forward by as much as is left of the record. The clocks of clients do not matter.
/// - A failover loses no record that [`replicas`](ClientBuilder::replicas) have: the record waits for them, too.
///
/// # How it comes to that
/// The record is read under the lock, and written by a [guarded script](guarded), which writes only while this very
/// hold stands on that server. A holder that was suspended past its lease records nothing, whatever it believes. It
/// gets [`OnceError::Lost`](once::OnceError::Lost). Where too few servers confirm a record the work is done all the
/// same: [`OnceError::Unrecorded`](once::OnceError::Unrecorded) has its value.
///
/// A hold of the same lock that was not asked for by period keeps runs out while it lasts, and records nothing.
/// Periods of one lock have a record each, so that one that comes late for the last period finds that done, too.
/// A lock that several hold at a time, as readers do, has no records: asking is an error.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::once::Once;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.lock("nightly-report");
/// let report = async |_guard: &_| Ok::<_, std::fmt::Error>("the report");
/// assert!(matches!(lock.once_for("2026-11-26", report).await?, Once::Done("the report")));
/// assert!(matches!(lock.once_for("2026-11-26", report).await?, Once::NotDue(_)));
/// assert!(matches!(lock.once_for("2026-11-27", report).await?, Once::Done(_)));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
pub mod once {
    pub use crate::periods::{
        Begun, BegunRun, Cadence, Once, OnceError, RecordError, RecordedRun, RunOutcome,
    };
    #[allow(unused_imports, reason = "the page links to what is at the root")]
    use crate::*;
}

/// Elections: of all that campaign one leads, and all that want to know are told which.
///
/// An [`Election`](election::Election) stands on a lock with fencing tokens: [`FencedLock`], [`FencedRedLock`] or
/// [`FencedMultiLock`]. To lead is to hold that lock, so the promise is that of the lock; the rest is announced beside
/// it.
///
/// # What is promised
/// - **At most one leads, by its own clock**, as long as the promise of its lock holds. A leader that cannot renew its
///   lease is told so ([`lost`](election::Leadership::lost)) before another can be granted, and never leads again by the
///   same [`Leadership`](election::Leadership).
/// - **The token rises with each term.** A leader that was suspended finds out late; a store that is shown the
///   [token](election::Leadership::token) with each write refuses it.
/// - **An observer sees no older term after a newer one**, and no value of another leader. It may leave out terms, and
///   says [since when](election::Observation::stale_since) it could not ask.
///
/// # As long as what
/// - What is seen of a leader from outside is a hint. It may be over when it is read, and a leader that crashed is seen
///   until its lease has ended. Only the leader itself can know that it leads.
/// - On several servers the leader is the one that a majority names, with the newest value that it wrote on any of them.
/// - A value is announced by a [guarded script](guarded): only while its leader holds the lock on that server. A failover
///   may lose it; the next one brings it back, as does the next term.
/// - Between a grant and its announcement, which follows at once, observers see a leader without token and value. So
///   they do if the lock is held without an election.
/// - One small key stays for each election, with what its last leader announced.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let client = palisade::embedded::Server::start()?.client()?;
/// let election = client.election("scheduler");
/// let leadership = election.campaign().await?;
/// leadership.proclaim("http://10.0.0.7:8080").await?;
/// leadership.run(async { /* … what only a leader does … */ }).await?;
/// leadership.resign().await?;
/// assert_eq!(election.leader().await?, None);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
pub mod election {
    pub use crate::elections::{Election, HasToken, Leader, Leadership, Observation, Observer};
    #[allow(unused_imports, reason = "the page links to what is at the root")]
    use crate::*;
}

/// Any lock behind one type.
pub mod any {
    pub use crate::acquire::BoxLock;
}

/// What locks say to a look from outside: which process holds them, server by server; which locks there are; and
/// whether a token is stale.
pub mod inspect {
    pub use crate::{
        composite::{Inspection, Revocation},
        health::{Fsync, MissingRights, ReplicaHealth, ServerHealth},
        kind::{Access, Holder, SortOfLock},
        kinds::{Revoked, TokenLook},
        listing::{ListOptions, ListedHolder, ListedLock, ListedProcess, LockList, ProcessList},
        presence::ProcessRecord,
        process::{ClientStats, HeldLock},
    };
}

/// Which rights a user of a server needs.
pub mod acl {
    pub use crate::kinds::{Rights, Use};
}

/// What stands in signatures here and is of other crates: to be named without a dependency whose version has to be the
/// same as that of this library. `rustls` as a whole, since a configuration is made of much of it.
pub mod foreign {
    pub use redis::ConnectionInfo;
    #[cfg(feature = "tls")]
    pub use tokio_rustls::rustls;
    pub use tokio_util::sync::CancellationToken;
    pub use uuid::Uuid;
}

/// Which locks may be members of which composites.
pub mod members {
    pub use crate::composite::{MultiMember, RedMember};
}

/// The two sides of a [`RwLock`], and their guards; and both over a majority.
pub mod rw {
    pub use crate::{
        composite::RedRwLock,
        kinds::{ReadGuard, ReadLock, WriteGuard, WriteLock},
    };
}

/// What is held of a semaphore.
pub mod semaphore {
    pub use crate::kinds::{ExpirableGuard, SemaphoreGuard};
}

/// How an acquire that was refused learns when to ask again.
pub mod waiting {
    pub use crate::wait::{Backoff, WaitStrategy};
}

/// What rare settings of a [`ClientBuilder`] take.
pub mod settings {
    #[cfg(feature = "tls")]
    pub use crate::reach::Tls;
    pub use crate::{
        client::Sentinels,
        presence::Presence,
        reach::{Credentials, Spin, Stream},
        standing::{Failover, Unidentified},
        wait::LocalHandover,
    };
}
