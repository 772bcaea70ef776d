//! Runs that are about tokens alone. Pure.
//!
//! One fenced lock, asked for all the time by clients whose clocks are far apart, so that most tokens
//! must be promoted; links that are cut again and again, so that each quorum is another one; and
//! requests that come twice, the second time long after their sender has let go.

use checkers::random::Random;

use crate::plan::{About, Fault, Plan, Way};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn brew_storm(&mut self, random: &mut Random) {
        self.about = About::Tokens;
        self.sections = 30;
        self.network.duplicate = 3_000;
        self.network.spike_us = 1_500 * MS;
        for (id, process) in self.processes.iter_mut().enumerate() {
            // Servers bring it within `clock_skew` of their own time, each of its own.
            let by_us = if id == 0 { A_YEAR_US } else { -5 * A_SECOND_US };
            process.set = Some((0, by_us));
        }
        let (nodes, processes) = (self.nodes.len() as u64, self.processes.len() as u64);
        let place = |drawn: u64| usize::try_from(drawn).unwrap_or(0);
        self.faults = (0..40)
            .map(|_| {
                let (node, process) = (place(random.below(nodes)), place(random.below(processes)));
                let for_us = (50 + random.below(400)) * MS;
                let cut = Fault::Cut { process, node, way: Way::Both, for_us };
                (random.below(self.calm_at), cut)
            })
            .collect();
    }
}

const MS: u64 = 1_000;
const A_SECOND_US: i64 = 1_000_000;
const A_YEAR_US: i64 = 365 * 24 * 3_600 * A_SECOND_US;
