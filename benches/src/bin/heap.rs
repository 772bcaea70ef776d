//! The same program under an allocator that counts: in one of its own, so that what is timed is not
//! slowed by the counting.

use std::{alloc::System, process::ExitCode};

use palisade_benches::Heap;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    palisade_benches::run(Some(look))
}

fn look() -> Heap {
    let stats = ALLOCATOR.stats();
    let grown = i64::try_from(stats.bytes_allocated).unwrap_or(i64::MAX);
    let freed = i64::try_from(stats.bytes_deallocated).unwrap_or(i64::MAX);
    Heap {
        allocations: (stats.allocations + stats.reallocations) as u64,
        bytes: stats.bytes_allocated as u64,
        live: grown - freed,
    }
}
