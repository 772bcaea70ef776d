//! Who does what: worker processes, each with a few lanes that want the same locks over and over.
//!
//! * `intent`: what a lane is going to do next, drawn by the seed. Pure.
//! * `lane`: does it, and records it.
//! * `hold`: the guard, or the pretence of one that a planted fault needs.
//! * `witness`: the file that only the holder may change.
//! * `worker`: the process around the lanes.
//! * `fleet`: the processes, as the parent sees them.

mod fleet;
mod hold;
mod intent;
mod lane;
mod witness;
mod worker;

pub(crate) use fleet::Fleet;
pub(crate) use intent::{LONGEST_LEASE, LONGEST_LEASE_MS, QUARANTINE_MS};
pub(crate) use worker::{Orders, work};
