//! On which CPUs a measurement runs.

use std::thread;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Runs `measure` so that all threads and processes that it starts share one CPU.
pub(crate) fn on_one<T: Send>(measure: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let pinned = scope.spawn(|| {
            let allowed = sched_getaffinity(None).expect("a thread may ask for its own CPUs");
            let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu));
            let mut one = CpuSet::new();
            one.set(last.expect("a thread runs somewhere"));
            sched_setaffinity(None, &one).expect("fewer CPUs are always allowed");
            measure()
        });
        pinned.join().expect("a measurement does not panic")
    })
}
