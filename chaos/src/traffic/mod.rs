//! Who does what: worker processes, each with a few contenders that want the same locks over and
//! over. What they do with a lock is `workload`'s.
//!
//! * `intent`: what a contender is going to do next, drawn by the seed. Pure.
//! * `contender`: does it, until it is told to finish.
//! * `targets`: the locks and semaphores themselves.
//! * `steward`: sees that there are permits.
//! * `witness`: the files that only holders may change.
//! * `worker`: the process around the contenders.
//! * `subscriber`: hears the library's events, and panics when it is told to.
//! * `fleet`: the processes, as the parent sees them.

mod contender;
mod fleet;
mod intent;
mod steward;
mod subscriber;
mod targets;
mod witness;
mod worker;

pub(crate) use fleet::Fleet;
pub(crate) use intent::{
    CLOCK_STEP_MS, LEASED_SEMAPHORE, LONGEST_LEASE, LONGEST_LEASE_MS, PERMITS, PRIZES,
    QUARANTINE_MS, SEMAPHORE, What,
};
pub(crate) use worker::{CALM_DOWN, Orders, PANIC, work};
