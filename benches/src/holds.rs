//! Very many locks that are held at once: what it costs to keep them, and who else notices.

use std::time::Duration;

use futures::{StreamExt, future::BoxFuture, stream};
use palisade::LockGuard;
use testkit::{Cluster, RedisServer};
use tokio::time::sleep;

use crate::{
    block::{Block, Load, Tasks},
    figure::Figure,
    floor::Floor,
    line::{Better, Line, Sides},
    locks::{Hold, Red, Single, names},
    meter::{cpu_time, resident_bytes},
    rows::Setting,
};

/// Of one master.
pub(crate) async fn of_one(setting: &Setting) -> Vec<Line> {
    let servers = Cluster::start(1);
    let names = names("held", count(setting));
    let locks = Single::connect(&servers[0].url(), &names).await;
    measure(&servers, &locks).await
}

/// Of `RedLock`s.
pub(crate) async fn of_five(setting: &Setting) -> Vec<Line> {
    let servers = Cluster::start(5);
    let locks = Red::connect(&servers.urls(), &names("held", count(setting))).await;
    measure(&servers, &locks).await
}

fn count(setting: &Setting) -> usize {
    if setting.effort.short { 20_000 } else { 100_000 }
}

/// Once, not in blocks: it takes long.
async fn measure<L: Hold>(servers: &Cluster, locks: &[L]) -> Vec<Line> {
    let Some((other, locks)) = locks.split_first() else { return Vec::new() };
    let other = vec![other.clone()];
    let mut other = Tasks(other);
    other.block(AWHILE).await;

    let alone = other.block(AWHILE).await;
    let before = resident_bytes();
    let guards = stream::iter(locks).map(L::hold).buffer_unordered(AT_ONCE).collect();
    let guards: Vec<LockGuard> = guards.await;
    let kept = Kept::watch(servers).await;
    let beside = other.block(AWHILE).await;
    let mut resident = resident_bytes();
    let dropped = tokio::task::spawn_blocking(|| drop(guards));
    let meanwhile = other.block(AWHILE).await;
    dropped.await.expect("a drop does not panic");
    resident = resident.max(resident_bytes());

    let by_hand = Kept::by_hand(&servers[0]).await;
    let p99 = |block: &Block| Sides::once(Figure::P99.of(&alone), Figure::P99.of(block));
    let renewed = Sides::once(by_hand.renewals_a_core(), kept.renewals_a_core());
    let watchdog = Sides::once(0.03, kept.client_cpu.as_secs_f64() / kept.window.as_secs_f64());
    let memory = Sides::once(900.0, (resident - before) / locks.len() as f64);
    vec![
        Line::new("renewals/s of a server core", Better::More, "by hand", &renewed).aim(0.75),
        Line::new("watchdog CPU, s/s", Better::Less, "wanted", &watchdog).aim(1.0),
        Line::new("p99 beside them, µs", Better::Less, "without them", &p99(&beside)).aim(1.5),
        Line::new("p99 as they drop, µs", Better::Less, "without them", &p99(&meanwhile)).aim(1.5),
        Line::new("resident bytes a hold", Better::Less, "900 bytes", &memory),
    ]
}

/// What renewals have cost.
struct Kept {
    window: Duration,
    renewals: u64,
    client_cpu: Duration,
    server_cpu: Duration,
}

impl Kept {
    /// While nothing else is done.
    async fn watch(servers: &Cluster) -> Self {
        Self::of(servers.iter(), WINDOW, Box::pin(sleep(WINDOW))).await
    }

    /// The least that many renewals can cost: they know their holders, and go in large calls.
    async fn by_hand(server: &RedisServer) -> Self {
        let names = names("by hand", 10_000);
        let mut floor = Floor::connect(&server.url(), &names).await;
        stream::iter(&mut floor).for_each_concurrent(AT_ONCE, Floor::acquire).await;
        let calls: Vec<_> = floor.chunks(256).collect();
        let renew = stream::iter(calls.repeat(10)).for_each_concurrent(4, Floor::renew);
        Self::of([server].into_iter(), WINDOW, Box::pin(renew)).await
    }

    async fn of<'a>(
        servers: impl Iterator<Item = &'a RedisServer> + Clone,
        window: Duration,
        work: BoxFuture<'_, ()>,
    ) -> Self {
        // Every renewal is one of these.
        let renewals = || servers.clone().map(|server| server.calls_of("pexpire")).sum::<u64>();
        let server_cpu = || servers.clone().map(RedisServer::cpu_time).sum::<Duration>();
        let before = (renewals(), cpu_time(), server_cpu());
        work.await;
        Self {
            window,
            server_cpu: server_cpu() - before.2,
            client_cpu: cpu_time() - before.1,
            renewals: renewals() - before.0,
        }
    }

    fn renewals_a_core(&self) -> f64 {
        self.renewals as f64 / self.server_cpu.as_secs_f64()
    }
}

/// How many are acquired at a time.
const AT_ONCE: usize = 64;
/// A lease of the watchdog is renewed so often.
const WINDOW: Duration = Duration::from_secs(10);
const AWHILE: Duration = Duration::from_secs(2);
