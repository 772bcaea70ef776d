//! An in-process, Redis-compatible server **for development and tests**.
//!
//! It speaks RESP2 and RESP3 over any stream and runs Lua scripts, so that code written for Redis
//! can be run, and its failures tried, without one:
//!
//! - [`Server::start`] runs in real time on a thread of its own: for examples and unit tests whose
//!   runtime is not paused.
//! - [`Server::start_here`] runs on the caller's runtime and its clock: under tokio's paused time
//!   leases end in virtual time, and a run on one thread repeats exactly.
//! - Switches make it fail as servers do: [`kill`](Server::kill), [`freeze`](Server::freeze),
//!   [`set_delay`](Server::set_delay), [`jump_clock`](Server::jump_clock) and others.
//! - [`Server::builder`] and [`Server::direct`] take its time, its names and its connections out of
//!   the hands of chance: for deterministic simulations.
//!
//! It follows Redis 7.0.15 in replies and messages. It has strings, hashes, lists, sorted sets,
//! times to live, publish and subscribe (sharded too), `CLIENT TRACKING` without its options, transactions
//! without `WATCH`, and scripts
//! without `cjson`, `cmsgpack`, `struct` and `bit`. Not there: persistence, replication, cluster,
//! access control, blocking commands. It differs where exactness helps a test: a key is dead from
//! the very millisecond its time to live ends, and `SCAN` returns all at once.
//!
//! [`SimulatedProcess`] is the other end of such a simulation: a process with a seed.
//!
//! # How it is made
//! A request runs through `connection` or `direct` (bytes), `resp` (RESP2 and RESP3), `session` (one client),
//! `commands` (a table by name), and `engine`, which executes one request after the other. It knows nothing of
//! locks.
//!
//! ```text
//! bytes ─► resp ─► engine: its turn ─► session ─► commands ─► state ─► resp ─► bytes
//!                                                    └─ EVALSHA ─► lua ─► commands again, in the same turn
//! ```
//!
//! Whether it answers as Redis does is tried by `tests/it/differential`: each command, random ones, and all scripts
//! of the library, on both servers. To add a command, begin at `commands/table.rs`; to add a fault, at `server.rs`;
//! to change what scripts can do, at `lua/host.rs`.
//!
//! # Examples
//!
//! See [`Server`].

mod builder;
mod client;
mod clock;
mod commands;
mod connection;
mod data;
mod direct;
mod engine;
mod glob;
mod listener;
mod lua;
mod number;
mod pubsub;
mod resp;
mod server;
mod session;
mod state;
mod stats;
#[cfg(test)]
mod tests;
mod tracking;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use builder::ServerBuilder;
pub use direct::Direct;
pub use server::Server;

pub use crate::client::SimulatedProcess;

/// Locks, whatever became of an earlier holder: no code here leaves its data half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
