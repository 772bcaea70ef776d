//! Runs about semaphores: one whose permits have no lease, and one whose permits have.
//!
//! A server that forgets a semaphore forgets the holders of its permits: it is kept from that. A
//! process that is killed leaves permits without a lease missing for ever: then there is only the
//! other semaphore.

use std::{sync::Arc, time::Duration};

use checkers::history::{Kind, Share};
use palisade::Client;
use workload::{Permits, Target, Timekeeper};

use crate::{
    clock::SimClock,
    plan::{About, Fault, Plan},
};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_permits(&mut self) {
        self.about = About::Permits;
        let home = self.home();
        self.broken.retain(|broken| broken.node() != home);
        for (_, fault) in &mut self.faults {
            if let Fault::Crash { amnesia, .. } = fault {
                *amnesia = false;
            }
        }
        // A clock that is set ends leases, or keeps them.
        self.faults.retain(|(_, fault)| !matches!(fault, Fault::Lose { .. } | Fault::Jump { .. }));
        // No connection says anything twice: of what was given back it would not be known which
        // holder had it.
        self.network.duplicate = 0;
    }
}

/// All semaphores, to take one permit of or more.
pub(crate) fn of(client: &Client, plan: &Plan) -> Vec<Target> {
    let mut targets = Vec::new();
    let [plain, leased] = NAMES;
    let of = of_each(plan);
    let is_deadly = (0..plan.processes.len()).any(|process| plan.kills(process));
    for permits in 1..=2 {
        let share = Some(Share { permits: permits as usize, of: of as usize });
        let mut push = |name, lock| {
            let (kind, on) = (Kind::Lock, vec![plan.home()]);
            let (shared, queued, keys) = (true, false, Vec::new());
            targets.push(Target { name, kind, on, shared, share, queued, keys, lock });
        };
        if !is_deadly {
            let semaphore = client.semaphore(plain);
            push(plain, Arc::new(Permits { semaphore, permits }));
        }
        let semaphore = client.expirable_semaphore(leased);
        push(leased, Arc::new(Permits { semaphore, permits }));
    }
    targets
}

/// Sets how many permits there are, unless that was done.
pub(crate) async fn set(clients: &[Client], plan: &Plan, clock: &SimClock) {
    let Some(client) = clients.get(plan.home()).filter(|_| plan.about == About::Permits) else {
        return;
    };
    let [plain, leased] = NAMES;
    while client.semaphore(plain).try_set_permits(of_each(plan)).await.is_err() {
        Timekeeper::sleep(clock, PAUSE).await;
    }
    while client.expirable_semaphore(leased).try_set_permits(of_each(plan)).await.is_err() {
        Timekeeper::sleep(clock, PAUSE).await;
    }
}

/// Whether a lease is asked for with this: not with permits that have none.
pub(crate) fn has_leases(target: &Target) -> bool {
    target.name != NAMES[0]
}

/// How many permits each has.
pub(crate) fn of_each(plan: &Plan) -> u32 {
    if plan.seed.is_multiple_of(2) { 2 } else { 3 }
}

/// What is wrong with them once none is held, by how many are left and how many have holders.
pub(crate) fn wrong(plan: &Plan, permits: impl Fn(&str) -> Option<(u32, u32)>) -> Vec<String> {
    if plan.about != About::Permits {
        return Vec::new();
    }
    let wrong = NAMES.into_iter().filter_map(|name| {
        let (left, held) = permits(name)?;
        let is_right = left + held == of_each(plan);
        (!is_right).then(|| format!("{name} with {left} permits left and {held} held"))
    });
    wrong.collect()
}

pub(crate) const NAMES: [&str; 2] = ["permits", "leased-permits"];
const PAUSE: Duration = Duration::from_millis(50);
