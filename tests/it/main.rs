//! The integration tests: one binary, a module per room.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests may panic as the tests may"
)]

mod bad_input;
mod cancellation;
mod composite;
mod deployment;
mod differential;
mod draining;
mod elections;
mod expirable;
mod extending;
mod fair;
mod family;
mod fencing;
mod fleet;
mod guarded;
mod handover;
mod handy;
mod healing;
mod health;
mod held;
mod holds;
mod hosts;
mod jumps;
mod latch;
mod limits;
mod listing;
mod logging;
mod long_holds;
mod metering;
mod mutex;
mod names;
mod namespace;
mod outside;
mod paused;
mod periods;
mod permits;
mod planted;
mod polls;
mod presence;
mod processes;
mod promises;
#[path = "../../xtask/src/proofs/mod.rs"]
mod proofs;
mod quarantine;
mod recorded;
mod regressions;
mod revoking;
mod rw;
mod scripts;
mod semaphore;
mod sources;
mod support;
mod tidy;
mod tracking;
mod waits;
mod watchdog;
