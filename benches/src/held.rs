//! Ten thousand locks at once: what it costs to get them, and to keep them.

use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use palisade::{Lease, LockGuard};
use rustix::time::{ClockId, clock_gettime};
use testkit::RedisServer;

use crate::{
    compare::{Comparison, Effort, Side, per_second},
    floor::Floor,
    locks::{Single, names, release},
};

const LOCKS: usize = 10_000;
/// How many are acquired at a time.
const AT_ONCE: usize = 64;

/// Acquires by hand. The figure is locks a second.
pub(crate) struct HeldByHand<'a> {
    server: &'a RedisServer,
    floor: Vec<Floor>,
}

impl<'a> HeldByHand<'a> {
    pub(crate) async fn connect(server: &'a RedisServer) -> Self {
        Self { server, floor: Floor::connect(server, names("floor", LOCKS)).await }
    }
}

impl Side for HeldByHand<'_> {
    async fn block(&mut self, _: Effort) -> f64 {
        let begun = Instant::now();
        let floor = stream::iter(&mut self.floor);
        floor.for_each_concurrent(AT_ONCE, Floor::acquire).await;
        let figure = per_second(LOCKS, begun);
        self.server.flush();
        figure
    }
}

/// Acquires, and keeps the guards until all are there. The figure is locks a second.
pub(crate) struct HeldLocks(Vec<Single>);

impl HeldLocks {
    pub(crate) async fn connect(server: &RedisServer) -> Self {
        Self(Single::connect(server, names("palisade", LOCKS)).await)
    }
}

impl Side for HeldLocks {
    async fn block(&mut self, _: Effort) -> f64 {
        let begun = Instant::now();
        let guards = acquire_all(&self.0, Lease::Watchdog).await;
        let figure = per_second(LOCKS, begun);
        stream::iter(guards).for_each_concurrent(AT_ONCE, release).await;
        figure
    }
}

async fn acquire_all(locks: &[Single], lease: Lease) -> Vec<LockGuard> {
    let acquire = |single: &Single| {
        let lock = single.lock().with_lease(lease);
        async move { lock.acquire().await.expect("the server is up") }
    };
    stream::iter(locks.iter().map(acquire)).buffer_unordered(AT_ONCE).collect().await
}

/// What one renewal costs.
pub(crate) struct Renewals {
    /// CPU time of this process, in µs.
    pub(crate) cpu: Comparison,
    /// Script calls.
    pub(crate) scripts: Comparison,
}

/// The watchdog at work for one lease, against as many renewals by hand, one lock a call.
pub(crate) async fn renewals(effort: Effort) -> Renewals {
    let server = RedisServer::start();
    let mut floor = Floor::connect(&server, names("floor", LOCKS)).await;
    stream::iter(&mut floor).for_each_concurrent(AT_ONCE, Floor::acquire).await;
    let locks = Single::connect(&server, names("palisade", LOCKS)).await;
    let guards = acquire_all(&locks, Lease::WatchdogOf(LEASE)).await;
    let mut renewals = Renewals { cpu: Comparison::default(), scripts: Comparison::default() };
    for _ in 0..effort.long_blocks {
        let meter = Meter::start(&server);
        stream::iter(&mut floor).for_each_concurrent(AT_ONCE, Floor::renew).await;
        let by_hand = meter.stop(&server);
        let meter = Meter::start(&server);
        tokio::time::sleep(LEASE).await;
        let ours = meter.stop(&server);
        // The watchdog goes on beside the renewals by hand, which take a small part of a period.
        renewals.cpu.baseline.push(by_hand.cpu);
        renewals.cpu.palisade.push(ours.cpu);
        renewals.scripts.baseline.push(by_hand.scripts);
        renewals.scripts.palisade.push(ours.scripts);
    }
    assert!(guards.iter().all(LockGuard::is_held), "a lock was lost");
    stream::iter(guards).for_each_concurrent(AT_ONCE, release).await;
    renewals
}

const LEASE: Duration = Duration::from_secs(3);

/// Counts from its start.
struct Meter {
    cpu: Duration,
    scripts: f64,
    renewed: f64,
}

/// For one renewal.
struct Cost {
    cpu: f64,
    scripts: f64,
}

impl Meter {
    fn start(server: &RedisServer) -> Self {
        let calls = |command| server.calls_of(command) as f64;
        Self { cpu: cpu_time(), scripts: calls("evalsha"), renewed: calls("hexists") }
    }

    fn stop(self, server: &RedisServer) -> Cost {
        let cpu = (cpu_time() - self.cpu).as_secs_f64() * 1e6;
        let now = Self::start(server);
        let renewed = now.renewed - self.renewed;
        Cost { cpu: cpu / renewed, scripts: (now.scripts - self.scripts) / renewed }
    }
}

fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::try_from(spent).expect("CPU time is positive")
}
