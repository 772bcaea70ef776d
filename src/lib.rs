#![doc = include_str!("../README.md")]
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
