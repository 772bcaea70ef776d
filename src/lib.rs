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
//! the hold stands. The [README](readme) says what holds and as long as what, what the servers need, and how it is known. Whoever
//! calls for a double run to be *impossible* needs a store that refuses: see [`FencingToken`].
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
#[cfg(feature = "embedded")]
pub mod embedded;
pub mod error;
pub mod fence;
mod guard;
mod guarded_scripts;
mod home;
mod kind;
mod kinds;
mod latest;
mod lease;
mod node;
mod notifier;
mod panics;
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

/// What is promised, what servers need, and how it is known.
pub mod readme {
    #![doc = include_str!("../README.md")]
    #[allow(unused_imports, reason = "the page links to what is at the root")]
    use crate::*;
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

/// Any lock behind one type.
pub mod any {
    pub use crate::acquire::BoxLock;
}

/// What locks say to a look from outside: which process holds them, server by server.
pub mod inspect {
    pub use crate::{
        composite::Inspection,
        kind::{Access, Holder},
    };
}

/// Which rights a user of a server needs.
pub mod acl {
    pub use crate::kinds::{Rights, Use};
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
        reach::{Credentials, Spin, Stream},
        standing::{Failover, Unidentified},
        wait::LocalHandover,
    };
}
