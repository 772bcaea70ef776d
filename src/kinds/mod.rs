//! The kinds of locks, a folder each: what users see, what is said of it, and its scripts.
//!
//! A folder has the public type and its guard (`mod.rs`, `guard.rs`), the `.lua` files, and `script.rs`, their only
//! wrapper. The order of arguments and the codes of an answer are known there and in the header of the script,
//! nowhere else. What the types share is in `acquire` (`Handle`) and in `counter`, `permits` and `once`.
//!
//! ```text
//!               mutex ◄── fenced (tokens)          held by one
//!                 ▲
//!               fair (a queue on the server)       held by one
//!               rw: one writer, or many readers    a mode each
//!  counter ◄── latch                               no holder
//!     ▲
//!  permits ◄── semaphore, expirable                many holders, counted
//!     │
//!   once: a change of a number is made at most once
//! ```
//!
//! # Invariants
//! - **Every request is idempotent for its holder id**: said again, it changes nothing more. What cannot be goes
//!   through `once`.
//! - **A script checks before it writes**, takes all keys by KEYS and the time from TIME, and takes back what it
//!   cannot finish. The generation of a latch alone comes by ARGV: rights that were printed before do not name it.
//! - **Nothing shortens the ttl of a live hold.**
//! - **A fencing counter only rises**, and a release leaves it.
//! - **Its clients and Redisson's exclude and wake each other** where Redisson has the kind.
//!
//! # What proves them
//! `tests` here: probes of what everything else takes for granted about a kind. In `tests/it`: a module for each
//! kind with the same names, `promises` (each promise on each kind), `scripts`, and `recorded` (to the byte).
//! `differential` compares with the real server, and `redisson` is in each module. `interop` plays the real
//! Redisson. In the simulation: I2, I12, I13, I14. Planted: the bugs of `planted/scripts.rs`.
//!
//! # To change…
//! - a kind: its folder; to add one: `docs/maintain/change.md`
//! - which scripts connections load, and what their headers must say: `scripts`
//! - which rights a user needs: `rights`; what a name is used as, with which keys: `usage`; by which commands:
//!   `commands`
//! - how locks on one node are looked at and forced open: `looking`; how one is taken away from its holder: `revoking`
//! - permits: `permits` for both semaphores, `semaphore` and `expirable` for one
//! - a change of a number: `counter`, and `once` for at most once

mod commands;
mod counter;
mod expirable;
mod fair;
mod fenced;
mod latch;
mod looking;
mod mutex;
mod once;
mod permits;
mod revoking;
mod rights;
mod rw;
pub(crate) mod scripts;
mod semaphore;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod usage;

pub use expirable::{ExpirableGuard, ExpirableSemaphore};
pub use fair::FairLock;
pub use fenced::{FencedGuard, FencedLock, TokenLook};
pub use latch::CountDownLatch;
pub use mutex::Lock;
pub(crate) use mutex::Mutex;
pub use revoking::Revoked;
pub use rights::Rights;
pub use rw::{ReadGuard, ReadLock, RwLock, WriteGuard, WriteLock};
pub use semaphore::{Semaphore, SemaphoreGuard};
pub use usage::Use;
