//! Tells code of the user's what has happened, without waiting for it.
//!
//! Wakers, and the subscribers of events, are not ours and may block. A watchdog's thread looks after all
//! locks of a process and waits for neither: what is to be told from there goes to threads that do nothing
//! else. From any other thread it is told at once, in the context and at the expense of the task that is there.
//!
//! Whatever such a thread has to tell in one round (`round`) is handed over at its end: first all is noted that
//! has happened, however much that is. What has happened to many at once is told of the first of them, and how many
//! others there were.
//!
//! Wakers are never left out, and one that blocks holds up the others only where as many do as there are threads. Events
//! have a thread to themselves; those for which there is no room are counted, and that is told.
//!
//! ```text
//!  a thread of the user's ──────────► told at once (wakers, events)
//!
//!  a thread that is spared
//!     in a round: noted (round) ──its end──┐
//!     else ────────────────────────────────┴─► desk ─┬─ wakers: several threads ──► wakers of users' tasks
//!                                                    ├─ events: one thread ───────► subscribers
//!                                                    └─ numbers: one thread ──────► whatever keeps numbers
//! ```
//!
//! # Invariants
//! - **No code of the user's is waited for on a thread that is spared.**
//! - **Nothing is told where a mutex is locked.**
//! - **A panic of what is told costs nothing else.**
//!
//! # What proves them
//! `tests` at the end of `crew`, `round` and `aside`. `tests/it/tidy/events` reads that events are told by this room
//! alone, and not under a mutex.
//!
//! # To change…
//! - how an event is told: `event`; what happens to many at once: `round`
//! - on which threads, and how many: `desk`; how they begin and end: `crew`
//! - what wakes a task of the user's: `aside`

mod aside;
mod crew;
mod desk;
mod event;
mod round;

pub(crate) use aside::{woken_aside, woken_aside_in};
pub(crate) use desk::{is_spared, spare_this_thread};
pub(crate) use event::{event, event_elsewhere, is_each_wanted};
#[cfg(feature = "metrics")]
pub(crate) use round::numbers_elsewhere;
pub(crate) use round::{event_of_many, hand_over, in_rounds, wake};
