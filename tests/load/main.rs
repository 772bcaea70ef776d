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
/// In seconds. Two are enough where the machine has time for it; where it has not, more are tried.
const LEASES: [u64; 4] = [2, 4, 8, 16];
/// Locks in one renewal script.
const BATCH: u32 = 64;

/// All 10,000 are renewed on each of three masters for five leases: none is lost, and no master is
/// asked much more often than full batches need.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_holds_on_three_masters_are_renewed_in_few_scripts() {
    let mut lost = Vec::new();
    for lease in LEASES {
        // Anew each time: what is released would be counted.
        let fleet = Fleet::start(3).await;
        let some = lost_in_five_leases(&fleet, Duration::from_secs(lease)).await;
        drained(&fleet.masters).await;
        fleet.end(&[]).await;
        if some == 0 {
            break;
        }
        lost.push((lease, some));
    }
    println!("lost with leases of so many seconds: {lost:?}");
    assert!(lost.len() < LEASES.len(), "of {HOLDS}, with leases of so many seconds: {lost:?}");
}

/// How many of the holds are lost although all are to be renewed.
async fn lost_in_five_leases(fleet: &Fleet, lease: Duration) -> usize {
    let guards = hold_all(&fleet.masters, lease).await;
    let before: Vec<u64> = fleet.servers.iter().map(|s| s.top_level_commands()).collect();
    let started = Instant::now();
    tokio::time::sleep(lease * 5).await;
    let after: Vec<u64> = fleet.servers.iter().map(|s| s.top_level_commands()).collect();
    // The window may begin and end in the middle of a period.
    let periods = started.elapsed().as_secs_f64() / (lease / 3).as_secs_f64() + 1.0;
    let lost = guards.iter().filter(|guard| !guard.is_held()).count();
    let most = f64::from(HOLDS.div_ceil(BATCH)) * 1.2 * periods;
    for (before, after) in before.iter().zip(&after).filter(|_| lost == 0) {
        let scripts = f64::from(u32::try_from(after - before).unwrap());
        assert!(scripts <= most, "{scripts} scripts in {periods:.1} periods, {most:.0} allowed");
        // Four leases lie in the window at least, and each hold was renewed in each.
        assert!(scripts >= f64::from(HOLDS / BATCH * 4), "{scripts} scripts renew them all?");
    }
    lost
}

async fn hold_all(masters: &Masters, lease: Duration) -> Vec<LockGuard> {
    let lease = Lease::WatchdogOf(lease);
    let acquired = stream::iter(0..HOLDS).map(|i| {
        let lock = masters.red_lock(format!("x:{i}")).with_lease(lease).on_outage(OnOutage::Wait);
        async move { lock.acquire().await.unwrap() }
    });
    within(HANG * 10, "all are held", acquired.buffer_unordered(32).collect()).await
}
