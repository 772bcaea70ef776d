//! Runs in which many callers of a process ask at the same moment. Pure.
//!
//! What they ask leaves in shared calls, or waits for these to be answered; and servers forget their
//! scripts, so that calls are refused as a whole. Callers that give up meanwhile are to leave
//! nothing behind for which others would wait: nothing else breaks, so no wait is long.

use checkers::random::Random;
use palisade::Quarantine;

use crate::plan::{Fault, Plan};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_crowd(&mut self, random: &mut Random) {
        self.draw_nearness(random);
        // A round is often decided before all have answered.
        self.network.jitter_us = 1 + random.below(3 * MS);
        if self.leases.quarantine == Quarantine::Strict {
            self.leases.quarantine = Quarantine::Always;
        }
        // What is left behind is in the way of others for longer than a hand-over may take.
        self.leases.max_ms = self.leases.max_ms.max(3_000);
        self.leases.watchdog_ms = 2_000 + random.below(1_000);
        self.sections = 12;
        for process in &mut self.processes {
            process.lanes = 5 + u32::try_from(random.below(4)).unwrap_or(0);
            process.beat_us = 2 * MS + random.below(10 * MS);
        }
        for node in 0..self.nodes.len() {
            // While most of them are at it.
            for _ in 0..40 + random.below(80) {
                self.faults.push((random.below(1_000 * MS), Fault::Unlearn { node }));
            }
        }
    }
}

const MS: u64 = 1_000;
