//! Runs that are about processes that come late, when data is lost while others hold something on it.
//! Pure.
//!
//! One process holds one lock for long. All servers are flushed, which it does not notice, since its
//! lease is not renewed; then others begin, as a program does that is started for one lock. They know
//! nothing, and find servers that have been running for long and have no mark: only the witness says
//! that there was one.

use checkers::random::Random;

use crate::plan::{About, Fault, Plan};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_latecomers(&mut self, random: &mut Random) {
        self.about = About::LostData;
        self.leases.max_ms = 4_000 + random.below(4_000);
        self.leases.least_ms = 3_000;
        self.leases.watchdog_ms = 3_000;
        let lost_at = SECOND + random.below(self.calm_at - 3 * SECOND);
        self.faults = (0..self.nodes.len())
            .map(|node| (lost_at, Fault::Lose { node, roles: false }))
            .collect();
        for (id, process) in self.processes.iter_mut().enumerate() {
            process.lanes = 1;
            if id > 0 {
                process.begins_us = lost_at + AFTER_US + random.below(SECOND / 2);
            }
        }
    }
}

const SECOND: u64 = 1_000_000;

/// A first mark that comes sooner after a loss may be of a client that looked before it, and is
/// excused.
const AFTER_US: u64 = 400_000;
