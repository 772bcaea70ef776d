//! Who does what: worker processes, each with a few contenders that want the same locks over and
//! over. What they do with a lock is `workload`'s.
//!
//! * `intent`: what a contender is going to do next, drawn by the seed. Pure.
//! * `contender`: does it, until it is told to finish.
//! * `witness`: the files that only holders may change.
//! * `worker`: the process around the contenders.
//! * `fleet`: the processes, as the parent sees them.

mod contender;
mod fleet;
mod intent;
mod witness;
mod worker;

pub(crate) use fleet::Fleet;
pub(crate) use intent::{LONGEST_LEASE, LONGEST_LEASE_MS, QUARANTINE_MS};
pub(crate) use worker::{Orders, work};
