//! Runs in which replicas take the places of their masters. Pure.
//!
//! Each server has a replica with a clock of its own, and sentinels choose which of the two is the master. A
//! replica falls behind, or not; its master dies, stops, or goes on as a replica; then the replica is
//! promoted with what it has. Often that is undone soon after, so that a process is the master again and its
//! sockets have heard of nothing. Or it is passed over unawares for longer than the replica waits, and is
//! the master again with the data it had.

use checkers::random::Random;
use palisade::Quarantine;

use crate::{
    draw::wall_clock,
    plan::{About, Fault, NodePlan, Plan},
};

impl Plan {
    /// No server takes another's place where streams are cut anywhere; what was to happen beside that stays
    /// away with it.
    pub(crate) fn promote_nobody(&mut self) {
        if self.is_followed() {
            self.replicas.clear();
            self.faults.clear();
        }
    }

    /// Adds failovers to what happens.
    pub(crate) fn draw_failovers(&mut self, random: &mut Random) {
        self.draw_replicas(random);
        // A client that may not read a mark goes without for a minute, and then no failover is
        // noticed.
        self.faults.retain(
            |(_, fault)| !matches!(fault, Fault::Deny { denial, .. } if denial.key.is_none()),
        );
        for _ in 0..1 + random.below(3) {
            let node = self.draw_node(random);
            let at = random.below(self.calm_at);
            let promoted_at = self.draw_one_failover(random, node, at);
            if random.one_in(2) {
                self.draw_way_back(random, node, promoted_at);
            }
        }
        self.draw_newcomers(random);
    }

    /// A client that knew the master before waits for that alone: others go by what they find.
    fn draw_newcomers(&mut self, random: &mut Random) {
        let times = self.faults.iter().filter_map(|(at, fault)| {
            (matches!(fault, Fault::Promote { .. }) && *at < self.calm_at).then_some(*at)
        });
        let last_at = times.max().unwrap_or(0);
        for process in self.processes.iter_mut().skip(1) {
            if random.one_in(3) {
                process.begins_us = last_at + random.below(1_000 * MS);
            }
        }
    }

    /// Turns a run into one in which nothing else happens: whatever is renewed is to be kept, and once the
    /// replica has waited it grants.
    pub(crate) fn draw_failover(&mut self, random: &mut Random) {
        self.draw_replicas(random);
        self.draw_nearness(random);
        self.leases.max_ms = self.leases.max_ms.max(1_500);
        self.leases.watchdog_ms = 1_000 + random.below(500);
        let node = self.draw_node(random);
        let at = SECOND + random.below(self.calm_at - 2 * SECOND);
        let behind_us = random.below(1_500 * MS);
        let outage_us = random.below(100 * MS);
        let crash =
            Fault::Crash { node, amnesia: false, silent: random.one_in(2), for_us: 60 * SECOND };
        self.faults.push((at - behind_us.min(at), Fault::FallBehind { node }));
        let noticed_us = 50 * MS;
        match random.below(3) {
            0 => self.faults.push((at, crash)),
            _ => self.faults.push((at, Fault::FallBehind { node })),
        }
        let unawares = random.one_in(3);
        self.faults.push((at + outage_us, Fault::Promote { node, unawares, noticed_us }));
        if random.one_in(2) {
            let back_at = at + outage_us + 100 * MS + random.below(500 * MS);
            self.faults.push((back_at, Fault::Promote { node, unawares: false, noticed_us }));
        }
    }

    /// For how long a lock may lie free behind a failover, if nothing else happens.
    pub(crate) fn failover_ms(&self) -> u64 {
        let times = self
            .faults
            .iter()
            .filter_map(|(at, fault)| matches!(fault, Fault::Promote { .. }).then_some(at / MS));
        let times: Vec<_> = times.collect();
        // Those that are strict wait at the first contact, too.
        let waits = if self.leases.quarantine == Quarantine::Strict { 2 } else { 1 };
        match (times.iter().min(), times.iter().max()) {
            (Some(first), Some(last)) if !self.faulty => {
                let left = if self.about == About::Queueing { LEFT_IN_QUEUE_MS } else { 0 };
                waits * self.leases.quarantine_ms() + (last - first) + AFTER_WAIT_MS + left
            }
            _ => 0,
        }
    }

    fn draw_replicas(&mut self, random: &mut Random) {
        // As far from a client's clock as its master's is.
        let replica = |master: &NodePlan| {
            let ppm = if random.one_in(2) { master.ppm } else { -master.ppm };
            NodePlan { wall_clock_us: wall_clock(random), ppm }
        };
        self.replicas = self.nodes.iter().map(replica).collect();
    }

    fn draw_node(&self, random: &mut Random) -> usize {
        let any = usize::try_from(random.below(self.nodes.len() as u64)).unwrap_or(0);
        if random.one_in(2) { self.home() } else { any }
    }

    /// When the replica is promoted, if it falls behind at `at`.
    fn draw_one_failover(&mut self, random: &mut Random, node: usize, at: u64) -> u64 {
        let behind_us = random.weighted(&[(1, 10 * MS), (2, 500 * MS), (1, 2_000 * MS)]);
        let ends_at = at + random.below(behind_us);
        let promoted_at = ends_at + random.below(600 * MS);
        self.faults.push((at, Fault::FallBehind { node }));
        let (amnesia, silent, for_us) = (random.one_in(2), random.one_in(3), 60 * SECOND);
        let ends = random.weighted(&[
            (1, Some(Fault::Crash { node, amnesia, silent, for_us })),
            (1, Some(Fault::Freeze { node, for_us })),
            (2, None),
        ]);
        self.faults.extend(ends.map(|fault| (ends_at, fault)));
        self.push_promotion(random, node, promoted_at);
        promoted_at
    }

    /// Back again: soon, so that sockets live through both, or once the replica may have granted something.
    fn draw_way_back(&mut self, random: &mut Random, node: usize, promoted_at: u64) {
        let soon = 10 * MS + random.below(1_000 * MS);
        let late = MS * self.leases.quarantine_ms() + random.below(3_000 * MS);
        let back_at = promoted_at + if random.one_in(2) { soon } else { late };
        if random.one_in(2) {
            let behind_at = promoted_at + random.below(back_at - promoted_at);
            self.faults.push((behind_at, Fault::FallBehind { node }));
        }
        self.push_promotion(random, node, back_at);
    }

    fn push_promotion(&mut self, random: &mut Random, node: usize, at: u64) {
        let unawares = random.one_in(3);
        let noticed_us = random.weighted(&[(1, 50 * MS), (1, 2_000 * MS)]);
        self.faults.push((at, Fault::Promote { node, unawares, noticed_us }));
    }
}

const MS: u64 = 1_000;
const SECOND: u64 = 1_000 * MS;

/// A replica that was promoted may have a place in a queue that its master had struck out. It has no listener, and
/// three seconds after the first look at it, which may be two late, it is passed over.
const LEFT_IN_QUEUE_MS: u64 = 5_000;
/// A server that waits is looked at about once a second.
const AFTER_WAIT_MS: u64 = 1_500;
