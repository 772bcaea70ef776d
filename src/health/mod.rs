//! What a server tells about itself: whether it may vote, what a crash of it would forget, and what is in the way.
//!
//! For operators, at a moment of theirs. Everything is asked on one socket, so that it is of one run of the server; a
//! question that the user may not ask is answered by *unknown*, and is no failure.
//!
//! ```text
//! Client::health ─► each server (of a cluster all masters) ─► INFO, by section ─┐
//!                                                             CONFIG GET ───────┼─► reading ─► ServerHealth
//!                                                             TIME, PING ───────┘      ▲
//!                        what the connection knows: mark, age, round trip ─────────────┘
//! ```
//!
//! # Invariants
//! - **Nothing is written** (an announcement that is tried is of a lock that is not there), and nothing is decided here: the same answer is a warning to one operator and none to
//!   another.
//! - **What is not known is told as unknown**, never as good.
//! - **It is asked when a user asks**, and at no other time: no hold and no acquire waits for it.
//! - **No number is guessed**: fields that a server leaves out, or fills with something else, are unknown.
//!
//! - **Nothing that a server says takes more memory than one answer may**: of replicas 64 are told.
//! - **A server that does not answer is an error of its own**: with it no other is unknown.
//!
//! # What proves them
//! A table at the end of `reading`. In `tests/it`: `health`, on real servers, with and without rights. In
//! `cli/tests/tool`: `doctor`.
//!
//! # To change…
//! - what is asked: `asking`, with the right that it takes
//! - how an answer is read: `reading`
//! - how rights are tried: `missing_rights.lua`, and `script`, its only wrapper; whether announcements are heard: `announcing`
//! - what users get: `server_health`; what is made of it for people: `cli/src/doctor`

mod announcing;
mod asking;
mod missing_rights;
mod reading;
mod script;
mod server_health;

pub(crate) use announcing::heard_after;
pub(crate) use asking::{COMMANDS, examine};
pub use missing_rights::MissingRights;
pub(crate) use missing_rights::missing_rights;
pub use server_health::{Fsync, ReplicaHealth, ServerHealth};
