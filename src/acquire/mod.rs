//! Acquiring: rounds of votes, over one node or many, until a lock is won.
//!
//! A lock by itself is a majority of one, so one engine serves all locks (`acquisition`). What is wanted is a
//! [`Target`]: members and a [`Rule`]. `handle` has what all locks can do, written once; `wait` says when the next
//! round begins.
//!
//! ```text
//!          ┌──────────────── asked again: by another claim, or by the same after plain refusals ◄──┐
//!          ▼                                                                                        │
//! Attempt ─► all members asked ─► Tally ─┬─ Won ──(fenced: agree on a token)──► Claim::win ─► Turn  │
//!                                        │                     └─ not agreed ─► taken back ─────────┤
//!                                        ├─ LostToOthers ─► taken back, or kept in order ─► wait ───┤
//!                                        └─ LostToOutage ─► taken back ─► an error, or wait ────────┘
//! ```
//!
//! The slow rest of a won round goes on and joins the claim. A `MultiLock` that lost a round keeps the members
//! before the first refusal for a while (`in_order`). Where many processes wait, the slower ones ask
//! one by one (`turnstile`).
//!
//! # Invariants
//! - **A holder id is asked with again only after plain refusals.** Everything else is taken back, and the next
//!   claim has a fresh one (`attempt`).
//! - **A round that is dropped takes itself back** (`attempt`).
//! - **A token belongs to the members that wrote it and still confirm** when the round is won (`fence`,
//!   `agreeing`).
//! - **Any two quorums of a lock share a member** (`tally`).
//! - **A turn at the turnstile is a hint**, and grants nothing.
//!
//! # What proves them
//! Tables and all combinations at the end of `tally` and `fence`. `tests` here: what a lost round keeps. In
//! `tests/it`: `composite::gates` (every member grants, refuses, fails, is slow or silent),
//! `composite::contention`, `cancellation`, `fencing`, `regressions::overlap`. In the simulation: I1, I2, I4, I6,
//! I7. Planted: `quorum-minus-one`, `non-strict-promote`.
//!
//! # To change…
//! - how many grants are enough, and what the votes come to: `tally`
//! - which token a round has: `fence` decides, `agreeing` asks, also for a token of what is taken over
//! - what a lost round of several members keeps: `in_order`
//! - when waiters of many processes ask: `turnstile`
//! - what all locks can do: `handle`, `lock_methods`; for functions over any lock: `any_lock`
//! - which two members may not be one server: `servers`

mod acquisition;
mod agreeing;
mod any_lock;
mod attempt;
mod box_lock;
mod fence;
mod handle;
mod haste;
mod in_order;
mod lasting;
mod lock_methods;
mod outcome;
mod servers;
mod tally;
mod target;
#[cfg(all(test, feature = "embedded"))]
mod tests;
pub(crate) mod turnstile;
mod votes;

pub use any_lock::AnyLock;
pub(crate) use any_lock::Sealed;
pub use box_lock::BoxLock;
pub(crate) use handle::{Handle, WaitLimit, release_after_work};
pub(crate) use lock_methods::{into_box_lock, lock_methods};
pub(crate) use tally::Rule;
pub(crate) use target::Target;
