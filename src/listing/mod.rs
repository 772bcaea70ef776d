//! Which locks there are: found among all keys of the servers, for those that operate a fleet.
//!
//! Nothing keeps a list of locks, and none may cost a server more than it has to spare. So all keys are gone through in
//! small steps, and most of them are other programs': what is asked of each is the least that tells a lock.
//!
//! ```text
//!  SCAN, TYPE hash ─► HLEN ─► its only name, or its mode ─► a lock? ─► fields, ttl ─► timers, queue, counters, listeners
//!       ▲                                                     │                        and what its processes tell
//!       │                                                     ▼ no                                    │
//!       └──────────────── 9 times as long as all that took: a pause ◄─────────────────────────────────┘
//! ```
//!
//! All masters of all deployments are gone through at the same time. What they have is put together by name, with one
//! vote for each deployment.
//!
//! # Invariants
//! - **Nothing is changed**, and nothing that is decided asks for it.
//! - **One page at a time on each master**: 200 keys, whose commands leave in one go. Each speaks of one key and of 64
//!   fields at most, so none takes long.
//! - **A server is busy with it for a tenth of the time**, or for the share that is asked for.
//! - **A hash of other programs is not shown, and no value in it is read.**
//! - **A key that may not be read stops nothing**: it is counted.
//! - **Plain commands, no script**: each key has rights and a slot of its own.
//!
//! # What proves them
//! Tables at the end of `recognised`, `contents`, `counters`, `surroundings`, `records`, `processes`, `found`, `options` and `pace`. In
//! `tests/it`: `listing`, on real servers. In `cli/tests/tool`: `ls`.
//!
//! # To change…
//! - which hash is a lock: `recognised`, `contents`
//! - what is shown of one: `listed_lock`, then `surroundings` or `records`, and `page`, where it comes together
//! - what is shown of a name that is no lock: `counters`
//! - which processes are listed: `processes`
//! - how it is gone through, and how fast: `walk`, `pace`
//! - how servers are put together: `found`

mod asked;
mod contents;
mod counters;
mod found;
mod listed_lock;
mod lists;
mod options;
mod pace;
mod page;
mod processes;
mod recognised;
mod records;
mod surroundings;
mod walk;

pub use found::LockList;
pub use listed_lock::{ListedHolder, ListedLock};
pub(crate) use lists::{list, list_processes};
pub use options::ListOptions;
pub use processes::{ListedProcess, ProcessList};
