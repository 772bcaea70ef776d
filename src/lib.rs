#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[macro_use]
mod planted;

mod client;
pub mod clock;
mod composite;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
mod latest;
mod lease;
mod lock;
mod node;
mod notifier;
mod random;
mod wait;
mod watchdog;
mod wire;

#[cfg(feature = "embedded")]
pub use client::SimulatedProcess;
pub use client::{Client, ClientBuilder, Masters};
pub use composite::{FencedMultiLock, FencedRedLock, Inspection, MultiLock, RedLock};
pub use error::{
    AcquireError, Ballot, BlessError, ConfigError, ConnectError, InspectError, LockLost, LostCause,
    NodeError, NodeId, Phase, ReleaseError, ShutdownError, Vote, WithError,
};
pub use lease::Lease;
pub use lock::{
    FencedGuard, FencedLock, FencingToken, Holder, Lock, LockGuard, OnOutage, Owner, Quarantine,
    Released,
};
pub use node::{Stream, Unidentified};
#[cfg(planted_bugs)]
#[doc(hidden)]
pub use planted::bugs as planted_bugs;
