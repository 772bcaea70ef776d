//! What `chaos` and `simulation` do with palisade's locks, step by step, and how each step is recorded.
//!
//! A [`Lane`] carries out one [`Intent`] after the other. Nothing here knows whether that happens in a
//! real process or in a simulated one. Each program draws its own intents by its seed, and says what
//! time it is ([`Timekeeper`]), what the locks guard ([`Store`]) and what hears of it ([`Observer`]).
//!
//! The parts, each using only those before it: `timekeeper`, `store`, `intent`, `target` (the locks),
//! `permits`, `latches`, `jobs`, `elections`, `observer`, `polls`, `lane`.

#![allow(missing_docs, reason = "not published: what a field is, its name says")]

mod elections;
mod intent;
mod jobs;
mod lane;
mod latches;
mod observer;
mod permits;
mod polls;
mod store;
mod target;
mod timekeeper;

pub use elections::{campaign, election};
pub use intent::{Ending, Intent};
pub use jobs::{Errand, Job};
pub use lane::{Lane, inscriptions};
pub use latches::{Latches, Turn};
pub use observer::Observer;
pub use permits::Permits;
pub use store::{Change, Store, TooOld, Value};
pub use target::{Answer, Call, Contended, Grant, Target, lock_on_all, lock_on_one, side};
pub use timekeeper::Timekeeper;

pub use futures::future::BoxFuture;
