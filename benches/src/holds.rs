//! Very many locks that are held at once: what it costs to keep them, and what else notices.

use std::time::{Duration, Instant};

use futures::{StreamExt, join, stream};
use palisade::LockGuard;
use testkit::{Cluster, RedisServer};
use tokio::{
    task::spawn_blocking,
    time::{interval, sleep},
};

use crate::{
    block::{Block, Load, Tasks},
    figure::Figure,
    floor::Floor,
    line::{Better, Line, Sides},
    locks::{Hold, Multi, Red, Single, names},
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

/// Of `MultiLock`s, a lock on each of three masters.
pub(crate) async fn of_three(setting: &Setting) -> Vec<Line> {
    let servers = Cluster::start(3);
    let locks = Multi::connect(&servers.urls(), &names("held", count(setting))).await;
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
    let mut other = Tasks(vec![other.clone()]);
    other.block(AWHILE).await;
    let mut alone = vec![other.block(AWHILE).await];
    let mut by_hand = ByHand::hold(locks.len()).await;
    let (empty, begun) = (memory_and_keys(servers), Instant::now());
    let guards = stream::iter(locks).map(L::hold).buffer_unordered(AT_ONCE).collect();
    let guards: Vec<LockGuard> = guards.await;
    let acquiring = begun.elapsed();

    // The servers in one window, since the machine changes; the client in a quiet one, since by hand is
    // done in this process.
    let (ours, by_hand) = join!(Kept::watch(servers), by_hand.renew());
    let quiet = Kept::watch(servers).await;
    let beside = [other.block(AWHILE).await];
    let held = memory_and_keys(servers).0;
    let begun = Instant::now();
    let dropping = drop_all(guards, &mut other, servers, empty.1).await;
    let releasing = begun.elapsed();
    let most = held.max(memory_and_keys(servers).0);
    alone.push(other.block(AWHILE).await);

    let [beside, dropping] =
        [&beside[..], &dropping].map(|some| Sides::once(p99(&alone), p99(some)));
    let memory = Sides::once(900.0, (most - empty.0) / locks.len() as f64);
    let times = Sides::once(acquiring.as_secs_f64(), releasing.as_secs_f64());
    let renewed = Sides::once(by_hand.renewals_a_core(), ours.renewals_a_core());
    let watchdog = Sides::once(0.03, quiet.client_cpu.as_secs_f64() / WINDOW.as_secs_f64());
    vec![
        Line::new("renewals/s of a server core", Better::More, "by hand", &renewed).aim(0.75),
        Line::new("watchdog CPU, s/s", Better::Less, "wanted", &watchdog).aim(1.0),
        Line::new("p99 beside them, µs", Better::Less, "without them", &beside).aim(1.5),
        Line::new("p99 as they drop, µs", Better::Less, "without them", &dropping).aim(1.5),
        Line::new("until all are dropped, s", Better::Less, "all are acquired", &times),
        Line::new("resident bytes a hold", Better::Less, "900 bytes", &memory),
    ]
}

/// What another lock's pairs take until the servers have no more keys than before.
async fn drop_all(
    guards: Vec<LockGuard>,
    other: &mut impl Load,
    servers: &Cluster,
    keys: u64,
) -> Vec<Block> {
    let dropped = spawn_blocking(|| drop(guards));
    let mut blocks = vec![other.block(AWHILE).await];
    // The other lock may be held.
    while memory_and_keys(servers).1 > keys + servers.len() as u64 {
        blocks.push(other.block(AWHILE).await);
    }
    dropped.await.expect("a drop does not panic");
    blocks
}

fn p99(blocks: &[Block]) -> f64 {
    Figure::P99.of(&Block::all(blocks))
}

/// What the client has in its memory, and how many keys the servers have.
fn memory_and_keys(servers: &Cluster) -> (f64, u64) {
    let keys = servers.iter().map(|server| server.cli(&["DBSIZE"]).parse::<u64>());
    (resident_bytes(), keys.map(|keys| keys.expect("a number")).sum())
}

/// What renewals have cost.
struct Kept {
    renewals: u64,
    client_cpu: Duration,
    server_cpu: Duration,
}

impl Kept {
    /// Those that come by themselves.
    async fn watch(servers: &Cluster) -> Self {
        Self::of(servers.iter(), sleep(WINDOW)).await
    }

    async fn of<'a>(
        servers: impl Iterator<Item = &'a RedisServer> + Clone,
        work: impl Future<Output = ()>,
    ) -> Self {
        // Every renewal is one of these.
        let renewals = || servers.clone().map(|server| server.calls_of("pexpire")).sum::<u64>();
        let server_cpu = || servers.clone().map(RedisServer::cpu_time).sum::<Duration>();
        let before = (renewals(), cpu_time(), server_cpu());
        work.await;
        Self {
            server_cpu: server_cpu() - before.2,
            client_cpu: cpu_time() - before.1,
            renewals: renewals() - before.0,
        }
    }

    fn renewals_a_core(&self) -> f64 {
        self.renewals as f64 / self.server_cpu.as_secs_f64()
    }
}

/// The least that renewing as many in the same time can cost: it knows their holders, and they go in
/// large calls. Like ours in quarters, since a renewal of all at once has all else wait for it.
struct ByHand {
    server: RedisServer,
    holds: Vec<Floor>,
}

impl ByHand {
    async fn hold(locks: usize) -> Self {
        let server = RedisServer::start();
        let mut holds = Floor::connect(&server.url(), &names("by hand", locks)).await;
        stream::iter(&mut holds).for_each_concurrent(AT_ONCE, Floor::acquire).await;
        Self { server, holds }
    }

    /// All of them, in one window.
    async fn renew(&mut self) -> Kept {
        let mut quarters = interval(WINDOW / 4);
        let renew = async {
            for quarter in self.holds.chunks(self.holds.len().div_ceil(4)) {
                quarters.tick().await;
                let calls = stream::iter(quarter.chunks(256));
                calls.for_each_concurrent(4, Floor::renew).await;
            }
            quarters.tick().await;
        };
        Kept::of([&self.server].into_iter(), renew).await
    }
}

/// How many are acquired at a time.
const AT_ONCE: usize = 64;
/// A lease of the watchdog is renewed so often.
const WINDOW: Duration = Duration::from_secs(10);
const AWHILE: Duration = Duration::from_secs(2);
