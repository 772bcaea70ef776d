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
mod error;
mod guard;
mod kind;
mod kinds;
mod latest;
mod lease;
mod node;
mod notifier;
mod process;
mod random;
mod standing;
mod voting;
mod wait;
mod watchdog;
mod wire;

pub use acquire::AnyLock;
#[cfg(feature = "embedded")]
pub use client::SimulatedProcess;
pub use client::{Client, ClientBuilder, Masters};
pub use composite::{
    FencedMultiLock, FencedRedLock, Inspection, Member, MultiLock, MultiMember, RedLock, RedMember,
};
pub use error::{
    AcquireError, Ballot, BlessError, ConfigError, ConnectError, InspectError, LockLost, LostCause,
    NodeError, NodeId, Phase, ReleaseError, ShutdownError, Vote, WithError,
};
pub use guard::{AnyGuard, LockGuard, Owner, Released};
pub use kind::{FencingToken, Holder};
pub use kinds::{FencedGuard, FencedLock, Lock};
pub use lease::Lease;
pub use node::Stream;
#[cfg(planted_bugs)]
#[doc(hidden)]
pub use planted::bugs as planted_bugs;
pub use standing::{Quarantine, Unidentified};
pub use wait::OnOutage;
