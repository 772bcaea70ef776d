//! Runs about a job that is due once a minute, on three hosts whose schedules are up to two seconds apart.
//!
//! The first minutes have faults, near the triggers. In the calm each host that is left asks once more for each of
//! them, as one does that comes late, and then for some minutes more: so each minute has a trigger behind its last
//! fault. Servers keep their data, as is demanded for records. Clocks may jump.

use std::{sync::Arc, time::Duration};

use checkers::{history::Kind, random::Random};
use palisade::{Client, Lease, Masters, any::BoxLock, error::ConfigError};
use workload::{Errand, Job, Target};

use crate::{
    event::ProcessId,
    plan::{About, Plan, ProcessPlan},
    targets,
};

impl Plan {
    /// A run that is about nothing else.
    pub(crate) fn of_periods(seed: u64) -> Self {
        let mut random = Random::branch(seed, &[5]);
        let mut plan = Self::of(seed);
        let kinds = [(3, Kind::RedLock), (1, Kind::MultiLock), (2, Kind::Lock)];
        let (kind, fenced) = (random.weighted(&kinds), random.one_in(3));
        plan.about = About::Periods { kind, fenced };
        plan.replicas.clear();
        plan.faults.clear();
        plan.draw_hosts(&mut random);
        plan.calm_at = MINUTES * MINUTE;
        plan.finish_at = (MINUTES + IN_THE_CALM - 1) * MINUTE + 2 * EDGE;
        if plan.faulty {
            for minute in 0..MINUTES {
                plan.draw_faults_at(minute * MINUTE, &mut random);
            }
        }
        let home = plan.home();
        plan.broken.retain(|broken| match kind {
            Kind::RedLock => true,
            Kind::MultiLock => false,
            Kind::Lock => broken.node() != home,
        });
        plan
    }

    /// Three, and clocks that are as good as is demanded of them after minutes, too.
    fn draw_hosts(&mut self, random: &mut Random) {
        while self.processes.len() < HOSTS {
            self.processes.push(ProcessPlan::draw(random, 0, self.faulty));
        }
        for process in &mut self.processes {
            (process.lanes, process.beat_us) = (1, 0);
            process.ppm /= 10;
        }
        for node in &mut self.nodes {
            node.ppm /= 10;
        }
        // What is renewed by a watchdog that is late is kept, if nothing else happens.
        self.leases.max_ms = self.leases.max_ms.max(1_500);
        self.leases.watchdog_ms = self.leases.watchdog_ms.max(1_000);
    }

    /// Around the triggers of a minute.
    fn draw_faults_at(&mut self, minute: u64, random: &mut Random) {
        let [unlearns, jumps] = [random.one_in(3), random.one_in(6)];
        for _ in 0..random.weighted(&[(1, 0), (1, 1), (1, 2), (1, 4)]) {
            let fault = self.draw_fault(random, [false, jumps, false, unlearns]);
            self.faults.push((minute + random.below(2 * EDGE), fault));
        }
    }
}

/// The job as one process sees it, if that is what the run is about.
pub(crate) fn job(clients: &[Client], plan: &Plan) -> Result<Option<Job>, ConfigError> {
    let About::Periods { kind, fenced } = plan.about else { return Ok(None) };
    let name = targets::name_of(kind, fenced);
    let masters = Masters::new(clients.iter().cloned())?;
    let home = plan.home();
    let lock: BoxLock = match (kind, fenced, clients.get(home)) {
        (Kind::RedLock, false, _) => masters.red_lock(name).boxed(),
        (Kind::RedLock, true, _) => masters.fenced_red_lock(name).boxed(),
        (Kind::MultiLock, false, _) => masters.multi_lock(name).boxed(),
        (Kind::MultiLock, true, _) => masters.fenced_multi_lock(name).boxed(),
        (Kind::Lock, false, Some(client)) => client.lock(name).boxed(),
        (Kind::Lock, true, Some(client)) => client.fenced_lock(name).boxed(),
        (Kind::Lock, _, None) => return Ok(None),
    };
    let on = if kind == Kind::Lock { vec![home] } else { Vec::new() };
    let (shared, share, queued, keys) = (false, None, false, Vec::new());
    let contended = Arc::new(lock.clone());
    let target = Target { name, kind, on, shared, share, queued, keys, lock: contended };
    Ok(Some(Job { target, lock }))
}

/// When a host is triggered for a minute, by how its clock differs from the schedule.
pub(crate) fn trigger_us(plan: &Plan, host: ProcessId, minute: u64) -> u64 {
    let host = u32::try_from(host).unwrap_or(0);
    let ahead = Random::branch(plan.seed, &[6, host]).below(2 * SKEW);
    minute * MINUTE + EDGE + ahead - SKEW
}

/// What a host does for a minute. In the calm it sees to it that its work ends, and well.
pub(crate) fn draw(random: &mut Random, plan: &Plan, minute: u64, calm: bool) -> Errand {
    let us = Duration::from_micros;
    let (brief, medium, long) =
        (1_000 + random.below(20_000), random.below(SECOND), random.below(5 * SECOND));
    let leases = &plan.leases;
    let fixed_ms = leases.least_ms + random.below(leases.max_ms - leases.least_ms);
    let may_be_lost = plan.faulty && !calm;
    let is_fixed = may_be_lost && random.one_in(4);
    let patience = us(random.below(2 * SECOND));
    let write = random.below(5_000);
    Errand {
        period: format!("minute-{minute}"),
        every: None,
        lease: if is_fixed {
            Lease::Fixed(Duration::from_millis(fixed_ms))
        } else {
            Lease::Watchdog
        },
        work: us(random.weighted(&[(4, brief), (2, medium), (1, long)])),
        write: us(random.weighted(&[(3, 0), (1, write)])),
        fails: !calm && random.one_in(12),
        patience: (!calm && random.one_in(12)).then_some(patience),
    }
}

const HOSTS: usize = 3;
/// With faults.
pub(crate) const MINUTES: u64 = 8;
/// More of them, without.
pub(crate) const IN_THE_CALM: u64 = 2;
const MINUTE: u64 = 60 * SECOND;
/// From the beginning of a minute to its trigger, so that faults come before that, too.
const EDGE: u64 = 5 * SECOND;
/// By how much a host's clock is ahead or behind.
const SKEW: u64 = 2 * SECOND;
const SECOND: u64 = 1_000_000;
