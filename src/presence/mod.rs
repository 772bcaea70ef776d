//! What a process tells about itself and its long holds, for those that operate a fleet.
//!
//! A holder id says nothing to an operator: *which job, on which host, since when?* So a process keeps one record on each
//! server where it holds something for long, with its host, number and program, a note of its user's, and since when it
//! holds what. A reader shows an entry only where the lock itself has that holder.
//!
//! ```text
//!         a third of its lease is over, or 250 ms are     10 s at least between two
//!  a hold ──────────────────────────────────────────► new ───────────────────────────► written ─┐
//!                                                                ▲                              │ 20 … 30 s
//!                                                                └──────────────────────────────┘ while any is held
//!  the last one is over ─► once more, without it: the record ends. A process that dies leaves it for 90 s.
//! ```
//!
//! # Invariants
//! - **Information, never evidence**: nothing that is decided asks for it.
//! - **Nothing here comes before a grant**, nor on a connection of the user's: it is written by the watchdog.
//! - **A hold that is shorter costs no command and no byte.**
//! - **What a server loses is written again** with the next turn, since all is written each time.
//! - **Ages are measured here, times are the server's**: what is written is for how long a hold is held.
//!
//! - **A record ends with its holds**, and the last call of a client that is shut down is the one that ends it.
//!
//! # What proves them
//! A table at the end of `entries`. In `tests/it`: `presence`, on real servers. In `cli/tests/tool`: `inspect`.
//!
//! # To change…
//! - when a record is written: `entries`; when a hold is noted: `claim/noting.rs`
//! - what is said of a process: `identity`
//! - what stands on the server: `write.lua`, `read.lua`, and `script`, their only wrapper
//! - what users get: `process_record`

mod entries;
mod identity;
mod process_record;
mod register;
mod script;

pub(crate) use entries::LongHold;
pub(crate) use identity::{ProcessIdentity, check_labels, check_note};
pub use process_record::ProcessRecord;
pub(crate) use process_record::process_of;
pub use register::Presence;
pub(crate) use register::Register;
pub(crate) use script::SCRIPTS;
