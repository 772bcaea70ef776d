//! One ordered stream of calls: each is queued, sent, and answered or given up.
//!
//! Callers have a [`Connection`]. It puts what they say into the [`Outbox`] and waits there (`flight`). The driver
//! (`driver`, `driver_task`) is a task of the runtime on which the socket was made: it takes out what is next
//! (`lanes`, `packing`), writes it, and puts the answers in their place. The states of a call are
//! `CallState` in `order`:
//!
//! ```text
//!         ┌────taken────► Sent ──answered, or the socket broke──► Ended ──► told to its caller
//! Queued ─┤                │
//!         │ given up       │ given up
//!         ▼                ▼
//!   GivenUpQueued     GivenUpSent     without a caller, until the driver comes to it
//! ```
//!
//! An acquire is one `Acquire` instead of Queued and Sent. It is kept as what it says, not as bytes: those
//! that wait share a call when their bytes are made (`group`), and each gets its own outcome (`landing`).
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
//! simulation: I1, I6 and I11, and the planted bugs of `landing` and `order` (`simulation/README.md`).
//!
//! # To change…
//! - what leaves first: `lanes`; which acquires share a call: `group`, `rules`
//! - how a call is given up or told: `order`, `flight`; what an answer means: `landing`
//! - when a server counts as frozen: `suspicion`, `silence`
//! - whether the driver looks before it sleeps: `spinner`, `spin`
//! - what a call is as bytes: `request`; without a script: `commands`, `plain`

mod caller;
mod commands;
mod connection;
mod driver;
mod driver_task;
mod flight;
mod group;
mod integers;
mod landing;
mod lanes;
mod order;
mod outbox;
mod packing;
mod plain;
mod request;
mod rules;
mod silence;
mod spin;
mod spinner;
mod suspicion;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use self::{
    caller::{AcquireSource, CallTimeouts, Priority, SendReason},
    commands::words,
    connection::{AcquireAnswer, Answer, Connection},
    driver_task::DriverTask,
    outbox::{ConnectionEnd, Outbox},
    request::Question,
};
