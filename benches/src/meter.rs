//! What this process has used so far.

use std::{fs, ops::Sub, sync::OnceLock, time::Duration};

use rustix::time::{ClockId, clock_gettime};

/// The CPU time of all threads.
pub(crate) fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(spent).expect("CPU time is positive")
}

/// A clock that all processes of the machine share.
pub(crate) fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::try_from(now).expect("the machine was started before")
}

/// The memory that this process has now.
pub(crate) fn resident_bytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = resident.and_then(|size| size.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes * 1024.0)
}

/// What was allocated.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heap {
    /// Calls of the allocator.
    pub allocations: u64,
    /// What they asked for.
    pub bytes: u64,
    /// Bytes that are still in use.
    pub live: i64,
}

impl Sub for Heap {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            allocations: self.allocations - before.allocations,
            bytes: self.bytes - before.bytes,
            live: self.live - before.live,
        }
    }
}

/// Reads an allocator that counts.
pub type Count = fn() -> Heap;

static COUNT: OnceLock<Count> = OnceLock::new();

/// From now on [`heap`] tells what `count` reads.
pub(crate) fn count_by(count: Count) {
    COUNT.get_or_init(|| count);
}

pub(crate) fn is_counting() -> bool {
    COUNT.get().is_some()
}

/// Nothing, under an allocator that does not count.
pub(crate) fn heap() -> Heap {
    COUNT.get().map_or_else(Heap::default, |count| count())
}
