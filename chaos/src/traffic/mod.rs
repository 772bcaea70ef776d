//! What the workers do: processes, each with a few contenders that want the same locks over and
//! over. What they do with a lock is `workload`'s.
//!
//! * `intent`: what a contender is going to do next, drawn by the seed. Pure.
//! * `prizes`: what they contend for; `sorts`: for how long. Pure.
//! * `access`: how the servers are reached.
//! * `contender`: does it, until it is told to finish.
//! * `targets`: the locks and semaphores themselves; `jobs`: a job that is due now and then.
//! * `following`: which candidate leads, as a worker is shown it.
//! * `steward`: sees that there are permits.
//! * `witness`: the files that only holders may change.
//! * `worker`: the process around the contenders.
//! * `subscriber`: hears the library's events, and panics when it is told to.
//! * `fleet`: the processes, as the parent sees them.

mod access;
mod contender;
mod fleet;
mod following;
mod intent;
mod jobs;
mod prizes;
mod sorts;
mod steward;
mod subscriber;
mod targets;
mod witness;
mod worker;

pub(crate) use access::Access;
pub(crate) use fleet::Fleet;
pub(crate) use intent::{CLOCK_STEP_MS, LONGEST_LEASE, LONGEST_LEASE_MS, QUARANTINE_MS};
pub(crate) use prizes::{LEASED_SEMAPHORE, PERMITS, Prize, Prizes, SEMAPHORE, names};
pub(crate) use worker::{CALM_DOWN, NAME_OF_WORKERS, Orders, PANIC, work};
