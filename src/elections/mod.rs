//! Elections: a fenced lock whose holder leads, and says so beside it for all that want to know.
//!
//! The lock decides who leads, and nothing else does: what is announced is for observers. What users read of it, and
//! what holds as long as what, is at `palisade::election`.
//!
//! ```text
//! campaign ─► the lock is granted ─► Leadership ─┬─ announced at once: holder, token
//!                                                ├─ proclaim: the same with a value, as often as wanted
//!                                                └─ resign, drop, lost ─► the lock is another's
//!                                                          │
//!      announced on two channels: of leaders, of releases  ▼
//! observe ─► woken, or time is up ─► a look at each server ─► what a majority names ─► the newest is shown
//! ```
//!
//! # Invariants
//! - **What is announced is written under its hold**, by a guarded script; a late one of the same leader changes
//!   nothing that is newer.
//! - **An announcement counts where its holder holds the lock.** What a leader left behind is shown of none after it:
//!   a hold that leads is not passed on inside a process, where it would keep its id.
//! - **An observer shows no older term, and no older value, after a newer one** (`newest`).
//! - **A message is a hint**: each look asks the servers. After a gap it looks again.
//!
//! # What proves them
//! Tables at the end of `named`, `newest` and `announced`. In the simulation, with `--elections`: I16. In `tests/it`:
//! `elections`, on real servers, with the schedules of known double leaders. In `cli/tests/tool`: `leader`. Planted:
//! `term-passed-on`, `announcement-of-another`.
//!
//! # To change…
//! - what stands on the server: `announced`, `announce.lua`, `look.lua`, and `script`, their only wrapper
//! - who leads, of what many servers say: `named`; which of two is newer: `newest`
//! - when an observer looks again: `observer`
//! - how a value is written, and how often that is tried: `proclaiming`

mod announced;
mod campaign;
mod leadership;
mod looking;
mod named;
mod newest;
mod observer;
mod proclaiming;
mod script;

pub use announced::Leader;
pub use campaign::{Election, HasToken};
pub use leadership::Leadership;
pub use observer::{Observation, Observer};
pub(crate) use script::SCRIPTS;
