//! A job that all workers are to run, so often at most.

use std::{ops::Range, sync::Arc, time::Duration};

use palisade::{Client, Lease, Masters, error::ConfigError};
use workload::{Errand, Job};

use super::{
    intent::LONGEST_LEASE,
    prizes::{Prize, What},
    targets::{called, target},
    worker::Orders,
};
use crate::random::Random;

/// The job of a prize that is one.
pub(super) fn of(
    prize: &Prize,
    clients: &[Client],
    orders: &Orders,
) -> Result<Option<Job>, ConfigError> {
    if prize.what != What::Job {
        return Ok(None);
    }
    let masters = Masters::new(clients.iter().cloned())?;
    let lock = masters.red_lock(called(prize.name, orders)).boxed();
    let target = target(prize, Arc::new(lock.clone()));
    Ok(Some(Job { target, lock }))
}

/// What is to be done of it, and how long to rest behind that.
pub(super) fn draw(random: &mut Random) -> (Errand, Duration) {
    let work = if random.one_in(ONE_LONG_IN) { LONG_WORK } else { WORK };
    let fixed = Lease::Fixed(LONGEST_LEASE / 2);
    let is_fixed = random.one_in(ONE_FIXED_IN);
    let errand = Errand {
        period: "any".to_owned(),
        every: Some(EVERY),
        lease: if is_fixed { fixed } else { Lease::WatchdogOf(LONGEST_LEASE) },
        work: random.within(&work),
        write: Duration::ZERO,
        fails: random.one_in(ONE_FAILURE_IN),
        patience: random.one_in(ONE_DROP_IN).then(|| random.within(&PATIENCE)),
    };
    (errand, random.within(&REST))
}

const EVERY: Duration = Duration::from_millis(700);
const WORK: Range<Duration> = Duration::from_millis(1)..Duration::from_millis(40);
/// A worker is stopped or killed in the middle of it.
const LONG_WORK: Range<Duration> = Duration::from_millis(300)..Duration::from_millis(1_500);
const ONE_LONG_IN: u64 = 5;
const ONE_FIXED_IN: u64 = 4;
const ONE_FAILURE_IN: u64 = 8;
const ONE_DROP_IN: u64 = 8;
const PATIENCE: Range<Duration> = Duration::from_millis(1)..Duration::from_millis(500);
const REST: Range<Duration> = Duration::from_millis(20)..Duration::from_millis(200);
