//! What it costs that a server is asked to tell at once of holds that vanish.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use futures::{
    future::{join, join_all},
    stream::{self, StreamExt},
};
use palisade::{Client, rw::ReadGuard};
use testkit::RedisServer;
use tokio::time::sleep;

use crate::{
    line::{Better, Line, Sides},
    rows::Setting,
};

/// Of so many tasks, each with a lock of its own that it holds for so long: such holds end before they are followed.
pub(crate) async fn short_holds(setting: &Setting, hold: Duration) -> Vec<Line> {
    let (without, with) = (Side::start(false).await, Side::start(true).await);
    let (mut pairs, mut cpu) = (Sides::default(), Sides::default());
    for _ in 0..if setting.effort.short { 3 } else { 9 } {
        let before = without.block(hold).await;
        let after = with.block(hold).await;
        pairs.baseline.push(before.0);
        pairs.ours.push(after.0);
        cpu.baseline.push(before.1);
        cpu.ours.push(after.1);
    }
    vec![
        Line::new("pairs/s", Better::More, "without tracking", &pairs).aim(0.97),
        Line::new("server CPU, µs a pair", Better::Less, "without tracking", &cpu).aim(1.05),
    ]
}

/// 1,000 readers of one lock in a hundred clients, for as long as each is renewed three times.
pub(crate) async fn readers(_: &Setting) -> Vec<Line> {
    let (without, with) = (Side::start(false).await, Side::start(true).await);
    let (held, followed) = join(without.readers(), with.readers()).await;
    let (one, other) = (without.server.cpu_time(), with.server.cpu_time());
    sleep(RENEWALS).await;
    let spent = |side: &Side, before: Duration| (side.server.cpu_time() - before).as_secs_f64();
    let cpu = Sides::once(spent(&without, one), spent(&with, other));
    let all_held = held.iter().chain(&followed).all(|(_, guard)| guard.is_held());
    assert!(all_held, "readers were lost");
    vec![Line::new("server CPU, s in 30 s", Better::Less, "without tracking", &cpu).aim(1.1)]
}

/// A server, and whether it is to tell.
struct Side {
    server: RedisServer,
    tells: bool,
    client: Client,
}

impl Side {
    async fn start(tells: bool) -> Self {
        let server = RedisServer::start();
        let client = connect(&server, tells).await;
        Self { server, tells, client }
    }

    /// Pairs a second, and what the server has spent for one, in µs.
    async fn block(&self, hold: Duration) -> (f64, f64) {
        let (pairs, begun) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let before = self.server.cpu_time();
        let tasks = (0..TASKS).map(|number| {
            let (lock, pairs) = (self.client.lock(format!("held:{number}")), pairs.clone());
            tokio::spawn(async move {
                while begun.elapsed() < BLOCK {
                    let guard = lock.acquire().await.expect("it is free");
                    sleep(hold).await;
                    guard.release().await.expect("it is held");
                    pairs.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        join_all(tasks).await.into_iter().for_each(|ended| ended.expect("it does not panic"));
        let pairs = pairs.load(Ordering::Relaxed) as f64;
        let spent = (self.server.cpu_time() - before).as_secs_f64();
        (pairs / begun.elapsed().as_secs_f64(), spent * 1e6 / pairs)
    }

    async fn readers(&self) -> Vec<(Client, ReadGuard)> {
        let readers = (0..CLIENTS).map(|_| async {
            let client = connect(&self.server, self.tells).await;
            let lock = client.rw_lock("x").read();
            let mut guards = Vec::new();
            for _ in 0..READERS / CLIENTS {
                guards.push((client.clone(), lock.acquire().await.expect("readers share it")));
            }
            guards
        });
        let readers: Vec<_> = stream::iter(readers).buffer_unordered(10).collect().await;
        readers.into_iter().flatten().collect()
    }
}

async fn connect(server: &RedisServer, tells: bool) -> Client {
    let client = Client::builder().url(&server.url()).tracking(tells);
    client.connect().await.expect("the server is there")
}

const TASKS: usize = 1_000;
const CLIENTS: usize = 100;
const READERS: usize = 1_000;
const BLOCK: Duration = Duration::from_secs(3);
/// Three times a third of the lease.
const RENEWALS: Duration = Duration::from_secs(30);
