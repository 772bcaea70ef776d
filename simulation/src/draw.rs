//! What a seed decides before anything happens. Pure.

use checkers::random::Random;
use palisade::Quarantine;

use crate::{
    handover::draw_limit,
    plan::{About, Broken, Fault, Leases, NetworkPlan, NodePlan, Plan, ProcessPlan, Way},
};

impl Plan {
    pub(crate) fn of(seed: u64) -> Self {
        let mut random = Random::branch(seed, &[1]);
        let nodes = random.weighted(&[(14, 3), (2, 1), (1, 4), (3, 5)]);
        let passes_on = random.one_in(PASS_ON_ONE_IN);
        let faulty = !random.one_in(if passes_on { 2 } else { 8 });
        // The clocks of a client and a server differ by 1 % at most.
        let client_ppm = random.below(10_001);
        let processes = 2 + random.below(2);
        let calm_at = (4 + random.below(6)) * SECOND;
        let network = NetworkPlan::draw(&mut random, faulty);
        let leases = Leases::draw(&mut random, &network);
        let mut plan = Self {
            seed,
            replicas: Vec::new(),
            nodes: (0..nodes).map(|_| NodePlan::draw(&mut random, 10_000 - client_ppm)).collect(),
            processes: (0..processes)
                .map(|_| ProcessPlan::draw(&mut random, client_ppm, faulty))
                .collect(),
            network,
            faults: Vec::new(),
            calm_at,
            broken: Vec::new(),
            finish_at: calm_at + 3 * SECOND,
            sections: 7 + random.below(5),
            faulty,
            about: About::Everything,
            handover: draw_limit(&mut random),
            tracking: false,
            leases,
        };
        if passes_on {
            plan.draw_handovers(&mut random);
        } else if faulty {
            plan.draw_faults(&mut random);
            plan.draw_broken(&mut random);
            if nodes == 3 && random.one_in(8) {
                plan.brew_storm(&mut random);
            }
        } else {
            match random.below(10) {
                0 => plan.draw_hanging_up(&mut random),
                1 => plan.draw_one_restart(&mut random),
                2 => plan.draw_latecomers(&mut random),
                3 => plan.draw_rights(&mut random),
                4..=6 => plan.draw_crowd(&mut random),
                7 => plan.draw_failover(&mut random),
                8 => plan.draw_rolling_restart(&mut random),
                _ => {}
            }
        }
        if plan.about == About::Everything && random.one_in(SHARE_ONE_IN) {
            plan.about = About::Sharing;
        }
        if plan.about == About::Everything && random.one_in(QUEUE_ONE_IN) {
            plan.about = About::Queueing;
        }
        if plan.faulty && !passes_on && random.one_in(FOLLOW_ONE_IN) {
            plan.draw_failovers(&mut random);
        }
        let keeps_its_data = !plan.is_followed();
        if plan.about == About::Everything && keeps_its_data && random.one_in(PERMITS_ONE_IN) {
            plan.draw_permits();
        }
        if plan.about == About::Everything && keeps_its_data && random.one_in(LATCHES_ONE_IN) {
            plan.draw_latches();
        }
        if plan.about == About::Everything && random.one_in(OVERLAP_ONE_IN) {
            plan.about = About::Overlapping;
        }
        plan
    }

    /// Sockets are closed while nothing is said on them, and that is not to be noticed.
    fn draw_hanging_up(&mut self, random: &mut Random) {
        self.draw_nearness(random);
        for node in 0..self.nodes.len() {
            for _ in 0..1 + random.below(6) {
                self.faults.push((SECOND + random.below(self.calm_at), Fault::HangUp { node }));
            }
        }
    }

    /// A vote takes less time than any caller has for it.
    pub(crate) fn draw_nearness(&mut self, random: &mut Random) {
        self.network.delay_us = 50 + random.below(200);
        self.network.jitter_us = 1 + random.below(100);
        self.leases.node_timeout_ms = 50 + random.below(100);
        self.leases.least_ms = 300;
    }

    /// A server is away for a moment and comes back without its data, and what held something there
    /// is to hear of it soon.
    fn draw_one_restart(&mut self, random: &mut Random) {
        let node = self.home();
        let for_us = (5 + random.below(100)) * MS;
        let crash = Fault::Crash { node, amnesia: true, silent: false, for_us };
        self.faults.push((SECOND + random.below(self.calm_at - 2 * SECOND), crash));
    }

    /// All servers come back one after the other, with their data or without, and whatever is renewed is to
    /// be kept, but on a server by itself.
    fn draw_rolling_restart(&mut self, random: &mut Random) {
        self.draw_nearness(random);
        self.leases.max_ms = self.leases.max_ms.max(1_500);
        self.leases.watchdog_ms = 1_000 + random.below(500);
        let amnesia = !random.one_in(3);
        let mut at = SECOND + random.below(self.calm_at - 3 * SECOND);
        for node in 0..self.nodes.len() {
            let for_us = (5 + random.below(100)) * MS;
            self.faults.push((at, Fault::Crash { node, amnesia, silent: false, for_us }));
            at += for_us + (50 + random.below(500)) * MS;
        }
    }

    pub(crate) fn draw_faults(&mut self, random: &mut Random) {
        let amnesia = random.one_in(2);
        let jumps = random.one_in(6);
        let losses = random.one_in(3);
        let denials = random.one_in(6);
        let unlearns = random.one_in(3);
        for _ in 0..2 + random.below(8) {
            let at = random.below(self.calm_at);
            let fault = self.draw_fault(random, [amnesia, jumps, losses, unlearns]);
            self.faults.push((at, fault));
        }
        if denials {
            let (at, for_us) = (random.below(self.calm_at), random.below(3 * SECOND));
            let denial = self.draw_denial(random);
            // A client that must not read a mark goes without for a minute, and then no loss is
            // noticed.
            if !(losses && denial.key.is_none()) {
                self.faults.push((at, Fault::Deny { denial, for_us }));
            }
        }
    }

    /// A few in place of those that were drawn, for runs whose servers keep their data.
    pub(crate) fn draw_faults_without_losses(&mut self, random: &mut Random) {
        self.replicas.clear();
        self.faults.clear();
        if self.faulty {
            let [jumps, unlearns] = [random.one_in(6), random.one_in(3)];
            for _ in 0..2 + random.below(8) {
                let at = random.below(self.calm_at);
                let fault = self.draw_fault(random, [false, jumps, false, unlearns]);
                self.faults.push((at, fault));
            }
        }
    }

    pub(crate) fn draw_fault(&self, random: &mut Random, sorts: [bool; 4]) -> Fault {
        let [amnesia, jumps, losses, unlearns] = sorts;
        let (nodes, processes) = (self.nodes.len() as u64, self.processes.len() as u64);
        let node = usize::try_from(random.below(nodes)).unwrap_or(0);
        let process = usize::try_from(random.below(processes)).unwrap_or(0);
        let short = (20 + random.below(600)) * MS;
        let long = (100 + random.below(4_000)) * MS;
        let for_us = if random.one_in(2) { short } else { long };
        let way = random.weighted(&[(2, Way::Both), (1, Way::Requests), (1, Way::Answers)]);
        let by_ms = match random.below(3) {
            0 => 1,
            1 => i64::try_from(random.below(5_000)).unwrap_or(0),
            _ => -i64::try_from(random.below(5_000)).unwrap_or(0),
        };
        let amnesia = amnesia && random.one_in(2);
        let silent = random.one_in(4);
        let roles = random.one_in(3);
        random.weighted(&[
            (5, Fault::Crash { node, amnesia, silent, for_us }),
            (4, Fault::Freeze { node, for_us }),
            (if jumps { 4 } else { 0 }, Fault::Jump { node, by_ms }),
            (5, Fault::Cut { process, node, way, for_us }),
            (if losses { 4 } else { 0 }, Fault::Lose { node, roles }),
            (2, Fault::Reset { node }),
            (if unlearns { 6 } else { 0 }, Fault::Unlearn { node }),
            (5, Fault::Pause { process, for_us }),
            (if process == 0 { 0 } else { 1 }, Fault::Kill { process }),
        ])
    }

    /// A minority, or nothing.
    pub(crate) fn draw_broken(&mut self, random: &mut Random) {
        let most = self.nodes.len() - self.quorum();
        let count = random.below(most as u64 + 1);
        let mut nodes: Vec<usize> = (0..self.nodes.len()).collect();
        random.shuffle(&mut nodes);
        for node in nodes.into_iter().take(usize::try_from(count).unwrap_or(0)) {
            let sorts =
                [(1, Broken::Down(node)), (1, Broken::Frozen(node)), (1, Broken::CutOff(node))];
            self.broken.push(random.weighted(&sorts));
        }
    }
}

impl NodePlan {
    fn draw(random: &mut Random, most_ppm: u64) -> Self {
        Self { wall_clock_us: wall_clock(random), ppm: drift(random, most_ppm) }
    }
}

impl ProcessPlan {
    pub(crate) fn draw(random: &mut Random, most_ppm: u64, faulty: bool) -> Self {
        let late = faulty && random.one_in(4);
        let watchdog_late = faulty && random.one_in(4);
        let is_newcomer = faulty && random.one_in(3);
        // In step, several ask at the same moment, most of them for different locks.
        let is_in_step = random.one_in(5);
        let lanes = if is_in_step { 3 + random.below(3) } else { 1 + random.below(2) };
        Self {
            lanes: u32::try_from(lanes).unwrap_or(1),
            beat_us: if is_in_step { 2 * MS + random.below(30 * MS) } else { 0 },
            max_lease_ms: None,
            examines: false,
            begins_us: if is_newcomer { random.below(5 * SECOND) } else { 0 },
            clock_us: random.below(1_000_000 * SECOND),
            wall_clock_us: wall_clock(random),
            set: (faulty && random.one_in(4)).then(|| set(random)),
            ppm: drift(random, most_ppm),
            late_us: if late { random.below(20 * MS) } else { 0 },
            watchdog_late_us: if watchdog_late { random.below(500 * MS) } else { 0 },
        }
    }
}

/// All within 300 ms. Drift adds to that, and the sum stays within `clock_skew`.
pub(crate) fn wall_clock(random: &mut Random) -> u64 {
    1_700_000_000 * SECOND + random.below(300 * MS)
}

/// Back or ahead by some seconds, or ahead by a year.
fn set(random: &mut Random) -> (u64, i64) {
    let seconds = i64::try_from(random.below(5 * SECOND)).unwrap_or(0);
    let year = i64::try_from(365 * 24 * 3_600 * SECOND).unwrap_or(0);
    (random.below(8 * SECOND), random.weighted(&[(2, -seconds), (1, seconds), (1, year)]))
}

fn drift(random: &mut Random, most_ppm: u64) -> i64 {
    let drawn = random.below(2 * most_ppm + 1);
    i64::try_from(drawn).unwrap_or(0) - i64::try_from(most_ppm).unwrap_or(0)
}

impl NetworkPlan {
    fn draw(random: &mut Random, faulty: bool) -> Self {
        let mut chance =
            |most: u64| if faulty && random.one_in(2) { random.below(most) } else { 0 };
        let (lose_request, lose_answer) = (chance(100), chance(100));
        let (reset_before, reset_after) = (chance(100), chance(100));
        let late_answer = chance(300);
        let reset_amid_release = chance(100);
        let (duplicate, spike) = (chance(300), chance(300));
        let far = random.one_in(3);
        Self {
            delay_us: 50 + random.below(if far { 5 * MS } else { MS }),
            jitter_us: 1 + random.below(2 * MS),
            lose_request,
            lose_answer,
            late_answer,
            reset_before,
            reset_after,
            reset_amid_release,
            duplicate,
            spike,
            spike_us: 10 * MS + random.below(2_000 * MS),
        }
    }
}

impl Leases {
    fn draw(random: &mut Random, network: &NetworkPlan) -> Self {
        // With a long one, what was not released is still there in the end.
        let long = random.one_in(5);
        let max_ms = if long { 6_000 + random.below(14_000) } else { 600 + random.below(1_400) };
        let round_trip_ms = network.round_trip_us() / MS + 1;
        // A vote may take a tenth of the lease: one that is too short for that is of no use.
        let least_ms = 20 + 11 * round_trip_ms;
        Self {
            max_ms,
            least_ms,
            watchdog_ms: 300 + random.below(max_ms - 300),
            node_timeout_ms: 2 * round_trip_ms + random.below(100),
            connect_timeout_ms: 50 + random.below(300),
            clock_skew_ms: if long { 4_000 } else { 1_100 + random.below(500) },
            lag_ms: if random.one_in(3) { 500 + random.below(2_500) } else { 0 },
            quarantine: random.weighted(&[
                (3, Quarantine::Composites),
                (1, Quarantine::Always),
                (if long { 0 } else { 1 }, Quarantine::Strict),
            ]),
        }
    }
}

/// So many runs are about nothing else.
const PASS_ON_ONE_IN: u64 = 10;
const SHARE_ONE_IN: u64 = 4;
/// Of what is left.
const QUEUE_ONE_IN: u64 = 7;
const OVERLAP_ONE_IN: u64 = 8;
const FOLLOW_ONE_IN: u64 = 5;
const PERMITS_ONE_IN: u64 = 6;
const LATCHES_ONE_IN: u64 = 6;
const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_left_and_clocks_stay_within_one_percent() {
        for seed in 0..2_000 {
            let plan = Plan::of(seed);
            let left = (0..plan.nodes.len()).filter(|node| !plan.is_broken(*node)).count();
            assert!(left >= plan.quorum(), "{seed}");
            for process in &plan.processes {
                for node in &plan.nodes {
                    assert!(process.ppm.abs() + node.ppm.abs() <= 10_000, "{seed}");
                }
            }
        }
    }
}
