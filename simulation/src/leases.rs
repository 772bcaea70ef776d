//! Runs about clients whose longest leases differ, some above a minute, on servers that lose their data. Pure.
//!
//! No client gives its word for all (`fleet_max_lease`), so each works out how long a server that lost its data waits by
//! its own longest lease, or by a minute. What others asked for is known from marks, and from witnesses where the marks
//! are lost. Some clients have lately begun, and some have looked at the servers before they ask: that must tell
//! nothing to the next one which is not so. A server that came back empty knows nothing of long leases; so one does.

use std::time::Duration;

use checkers::{history::Manner, random::Random};
use palisade::{Lease, Quarantine};
use workload::Intent;

use crate::plan::{About, Fault, Plan, ProcessPlan};

impl Plan {
    /// A run that is about nothing else.
    pub(crate) fn of_leases(seed: u64) -> Self {
        let mut random = Random::branch(seed, &[9]);
        let mut plan = Self::of(seed);
        plan.about = About::Leases;
        plan.faulty = true;
        plan.replicas.clear();
        plan.broken.clear();
        while plan.nodes.len() < 3 {
            plan.nodes.extend_from_within(..1);
        }
        plan.draw_long_leases(&mut random);
        plan.draw_losses(&mut random);
        plan
    }

    fn draw_long_leases(&mut self, random: &mut Random) {
        while self.processes.len() < PROCESSES {
            self.processes.push(ProcessPlan::draw(random, 0, false));
        }
        for process in &mut self.processes {
            let seconds = 1_000 + random.below(19_000);
            let more = MINUTE_MS + random.below(70_000);
            let max_ms = random.weighted(&[(2, seconds), (2, MINUTE_MS), (3, more)]);
            process.max_lease_ms = Some(max_ms);
            process.examines = random.one_in(2);
            process.begins_us = if random.one_in(3) { 0 } else { random.below(60 * SECOND) };
            (process.lanes, process.beat_us, process.set) = (1, 0, None);
        }
        let longest = self.processes.iter().filter_map(|process| process.max_lease_ms).max();
        self.leases.max_ms = longest.unwrap_or(MINUTE_MS).max(MINUTE_MS);
        self.leases.clock_skew_ms = 5_000;
        self.leases.watchdog_ms = 900;
        self.leases.quarantine = Quarantine::Composites;
        self.sections = u64::MAX;
        self.calm_at = (150 + random.below(100)) * SECOND;
        self.finish_at = self.calm_at + 3 * SECOND;
    }

    /// All at once, as a script does that means another database: once or twice.
    fn draw_losses(&mut self, random: &mut Random) {
        self.faults.clear();
        for _ in 0..1 + random.below(2) {
            let at = 2 * SECOND + random.below(80 * SECOND);
            for node in 0..self.nodes.len() {
                self.faults
                    .push((at + random.below(SECOND / 5), Fault::Lose { node, roles: false }));
            }
        }
        if random.one_in(3) {
            let node = self.home();
            let for_us = random.below(20 * SECOND);
            let crash = Fault::Crash { node, amnesia: true, silent: random.one_in(2), for_us };
            self.faults.push((random.below(100 * SECOND), crash));
        }
    }
}

/// Held for most of a lease that is as long as it may be, where that is above a minute. Others leave it to those, but ask
/// now and then.
pub(crate) fn as_long_as_possible(random: &mut Random, intent: Intent, max_ms: u64) -> Intent {
    let brief = 500 + random.below(max_ms.min(10_000) - 499);
    let is_long = max_ms > MINUTE_MS && !random.one_in(4);
    let fixed_ms = if is_long { max_ms } else { brief };
    let renewed = !is_long && random.one_in(4);
    let fixed = Lease::Fixed(Duration::from_millis(fixed_ms));
    let work_ms = if renewed { random.below(10_000) } else { random.below(fixed_ms) };
    let manner =
        random.weighted(&[(2, Manner::Patient), (2, Manner::Limited), (1, Manner::FailFast)]);
    Intent {
        manner,
        polls: None,
        patience: Duration::from_millis(random.below(30_000)),
        lease: if renewed { Lease::Watchdog } else { fixed },
        work: Duration::from_millis(work_ms),
        rest: Duration::from_millis(100 + random.below(3_000)),
        ..intent
    }
}

const PROCESSES: usize = 3;
const MINUTE_MS: u64 = 60_000;
const SECOND: u64 = 1_000_000;
