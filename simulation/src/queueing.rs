//! Runs about locks that are granted in the order in which they were asked for. Pure.

use crate::plan::{About, Plan};

impl Plan {
    /// A caller that asks so much later than another that waits is not granted a lock before it; 0 if
    /// other things explain that.
    pub(crate) fn in_order_ms(&self) -> u64 {
        if self.about != About::Queueing || !self.is_brisk() {
            return 0;
        }
        CONTACT * self.network.round_trip_us() / 1_000 + SLACK_MS
    }

    /// For how long callers may keep others from a free lock that stood in its queue when their process
    /// was killed.
    pub(crate) fn absent_ms(&self) -> u64 {
        if !matches!(self.about, About::Queueing | About::Overlapping) {
            return 0;
        }
        let killed = self.processes.iter().enumerate().filter(|(process, _)| self.kills(*process));
        killed.map(|(_, process)| ABSENT_MS * u64::from(process.lanes)).sum()
    }
}

/// Round trips at most until a first request is taken: for a socket, the scripts, the mark of the server, and
/// once more where scripts were forgotten.
const CONTACT: u64 = 12;
const SLACK_MS: u64 = 20;
/// A free lock is left to the first in its queue for so long, and others look so much later.
const ABSENT_MS: u64 = 10_000 + 2_000;
