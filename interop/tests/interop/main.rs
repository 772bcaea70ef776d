//! palisade and the real Redisson on the same locks: `cargo xtask interop` builds the Java side first.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "helpers of tests may panic and print as the tests may"
)]

mod clusters;
mod contention;
mod deaths;
mod exclusion;
mod fair_queue;
mod forcing;
mod handing_over;
mod latches;
mod members;
mod peers;
mod places;
mod semaphores;
mod sharing;
mod snapshots;
