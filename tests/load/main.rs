//! Ten thousand holds: a binary of its own, since what else runs on the machine would be measured.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests may panic")]

#[path = "../it/fleet.rs"]
#[allow(dead_code, reason = "shared with the other binary, which uses all of it")]
mod fleet;

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use palisade::{Lease, LockGuard, Masters, OnOutage};

use fleet::{Fleet, HANG, drained, within};

const HOLDS: u32 = 10_000;
/// What stands still for less than two thirds of it does no harm.
const LEASE: Duration = Duration::from_secs(15);
/// Locks in one renewal script.
const BATCH: u32 = 256;

/// All 10,000 are renewed on each of three masters for two leases: none is lost, and no master is
/// asked much more often than full batches need.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_holds_on_three_masters_are_renewed_in_few_scripts() {
    let fleet = Fleet::start(3).await;
    let guards = hold_all(&fleet.masters).await;
    let period = LEASE / 3;
    let before: Vec<u64> = fleet.servers.iter().map(|s| s.top_level_commands()).collect();
    let started = Instant::now();
    tokio::time::sleep(LEASE * 2).await;
    let after: Vec<u64> = fleet.servers.iter().map(|s| s.top_level_commands()).collect();
    // The window may begin and end in the middle of a period.
    let periods = started.elapsed().as_secs_f64() / period.as_secs_f64() + 1.0;
    let lost = guards.iter().filter(|guard| !guard.is_held()).count();
    assert_eq!(lost, 0, "of {HOLDS}");
    let most = f64::from(HOLDS.div_ceil(BATCH)) * 1.2 * periods;
    for (before, after) in before.iter().zip(&after) {
        let scripts = f64::from(u32::try_from(after - before).unwrap());
        assert!(scripts <= most, "{scripts} scripts in {periods:.1} periods, {most:.0} allowed");
        // A lease lies in the window at least, and each hold was renewed in it.
        assert!(scripts >= f64::from(HOLDS / BATCH), "{scripts} scripts renew them all?");
    }
    drop(guards);
    drained(&fleet.masters).await;
    fleet.end(&[]).await;
}

async fn hold_all(masters: &Masters) -> Vec<LockGuard> {
    let lease = Lease::WatchdogOf(LEASE);
    let acquired = stream::iter(0..HOLDS).map(|i| {
        let lock = masters.red_lock(&format!("x:{i}")).with_lease(lease).on_outage(OnOutage::Wait);
        async move { lock.acquire().await.unwrap() }
    });
    within(HANG * 10, "all are held", acquired.buffer_unordered(32).collect()).await
}
