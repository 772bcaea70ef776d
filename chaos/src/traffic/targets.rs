//! The locks and semaphores themselves, as one worker sees them.

use std::sync::Arc;

use palisade::{Client, Masters, MultiLock, error::ConfigError};
use workload::{Contended, Latches, Permits, Target, campaign, lock_on_all, lock_on_one, side};

use super::{
    prizes::{PERMITS, Prize, What},
    subscriber::Unwinding,
    worker::Orders,
};
use crate::history::Share;

/// All sides of a prize, one of which is wanted each time.
pub(super) fn of(
    prize: &Prize,
    clients: &[Client],
    orders: &Orders,
) -> Result<Vec<Target>, ConfigError> {
    let Prize { name, what, .. } = *prize;
    let called = called(name, orders);
    let home = what.home().and_then(|home| clients.get(home)).ok_or(ConfigError::NoMembers);
    let mut targets = Vec::new();
    match what {
        What::Plain(kind, fenced) => {
            let masters = Masters::new(clients.iter().cloned())?;
            // Tokens of another counter would be refused by the witness.
            let fenced = fenced && !orders.ignores_lock;
            targets.push(target(prize, lock_on_all(&masters, kind, fenced, &called)));
        }
        What::Led => {
            let masters = Masters::new(clients.iter().cloned())?;
            let lock = match clients.first().filter(|_| !orders.ignores_lock) {
                Some(first) => campaign(&masters, first, what.kind(), &called),
                // A term has a token, and one of another counter would be refused by the witness.
                None => lock_on_all(&masters, what.kind(), false, &called),
            };
            targets.push(target(prize, lock));
        }
        What::One(_, fenced) => {
            let fenced = fenced && !orders.ignores_lock;
            targets.push(target(prize, lock_on_one(home?, fenced, &called)));
        }
        What::Together(_, names) => {
            let home = home?;
            let locks = names.map(|name| home.lock(self::called(name, orders)));
            targets.push(target(prize, Arc::new(MultiLock::new(locks)?)));
        }
        What::Sides(_) | What::SidesOn(_) => {
            let on = home.as_ref().map_or(clients, |home| std::slice::from_ref(*home));
            for shared in [true, false] {
                let lock = side(on, what.kind(), shared, &called)?;
                targets.push(Target { shared, ..target(prize, lock) });
            }
        }
        What::Fair(_) => {
            let lock = Arc::new(home?.fair_lock(&called));
            targets.push(Target { queued: true, ..target(prize, lock) });
        }
        What::Permits(_) => {
            let semaphore = home?.semaphore(name);
            targets.extend([1, 2].map(|permits| {
                let semaphore = semaphore.clone();
                share(prize, permits, Arc::new(Permits { semaphore, permits }))
            }));
        }
        What::LeasedPermits(_) => {
            let semaphore = home?.expirable_semaphore(name);
            targets.extend([1, 2].map(|permits| {
                let semaphore = semaphore.clone();
                share(prize, permits, Arc::new(Permits { semaphore, permits }))
            }));
        }
        What::Latches(_) | What::Job => {}
    }
    Ok(targets)
}

/// The latches of a prize that has them, for a lane of this worker.
pub(super) fn latches(
    prize: &Prize,
    clients: &[Client],
    orders: &Orders,
    sets: bool,
) -> Option<Latches> {
    let What::Latches(on) = prize.what else { return None };
    Some(Latches { client: clients.get(on)?.clone(), on, workers: orders.workers, sets })
}

/// For the planted fault behind the name is a lock that no other contender wants.
pub(super) fn called(name: &str, orders: &Orders) -> String {
    if orders.ignores_lock { format!("{name} of {}", orders.worker) } else { name.to_owned() }
}

pub(super) fn target(prize: &Prize, lock: Arc<dyn Contended>) -> Target {
    Target {
        name: prize.name,
        kind: prize.what.kind(),
        on: prize.what.home().into_iter().collect(),
        shared: false,
        share: None,
        queued: false,
        keys: Vec::new(),
        lock: Arc::new(Unwinding(lock)),
    }
}

fn share(prize: &Prize, permits: u32, lock: Arc<dyn Contended>) -> Target {
    let share = Some(Share { permits: permits as usize, of: PERMITS as usize });
    Target { shared: true, share, ..target(prize, lock) }
}
