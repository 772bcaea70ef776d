//! One ordered stream of calls: each is queued, sent, and answered or given up.
//!
//! Callers have a [`Connection`]. It puts what they say into the [`Outbox`] and waits there (`call_future`). The driver
//! (`driver`, `driver_task`) is a task of the runtime on which the socket was made. It takes out what is next, writes
//! it, and puts the answers in their place. All calls of a socket are in one table, and only its methods change the
//! state of a call (`call_table`):
//!
//! ```text
//!         ┌────taken────► Sent ──answered, or the socket broke──► Ended ──► told to its caller
//! Queued ─┤  ◄─refused─┘ │
//!         │ given up       │ given up
//!         ▼                ▼
//!              GivenUp       without a caller, until the driver comes to it
//! ```
//!
//! Queued, an acquire is what it says and not bytes: those that wait share a call when their bytes are made, and each
//! gets its own outcome. One whose call was refused as a whole waits once more.
//!
//! # Invariants
//! - **One sender.** All calls leave through the outbox, in its order, and what has left is known to the byte.
//! - **At most once.** A second request follows only where the first was not executed.
//! - **An acquire is noted and stamped when its bytes are made.** One that was given up by then is never sent.
//! - **An answer is its caller's alone.** Answers come in the order of the calls; in a call of several acquires each
//!   lock gets its own.
//! - **Late is not lost.** A server is taken for frozen only after the driver has looked once more (`suspicion`).
//!
//! The order of the locks is in `outbox`.
//!
//! # What proves them
//! `tests` here, on streams whose other end is written in each test; `node/tests` against real servers. In the
//! simulation: I1, I6 and I11, and the planted bugs of `call_table` (`simulation/README.md`).
//!
//! # To change…
//! - what leaves first: `call_table/lanes`; which acquires share a call: `call_table/group`, `call_table/rules`
//! - how a call is given up or told: `call_table`, `call_future`; what an answer means: `call_table/answered`
//! - when a server counts as frozen: `suspicion`, `silence`
//! - whether the driver looks before it sleeps: `spinner`
//! - what a call is as bytes: `request`; without a script: `commands`

mod acquire_source;
mod call_future;
mod call_table;
mod clocks;
mod commands;
mod connection;
mod driver;
mod driver_task;
mod integers;
mod outbox;
mod priority;
mod request;
mod silence;
mod spinner;
mod suspicion;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use self::{
    acquire_source::{AcquireSource, SendReason},
    call_table::AcquireAnswer,
    commands::words,
    connection::{Answer, Connection},
    driver_task::DriverTask,
    outbox::{ConnectionEnd, Outbox},
    priority::{CallTimeouts, Priority},
    request::Question,
};
