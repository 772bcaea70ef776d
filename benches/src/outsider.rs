//! An outsider that wants the one lock now and then, beside two busy processes.

use std::time::{Duration, Instant};

use palisade::LockGuard;
use testkit::RedisServer;
use tokio::time::sleep;

use crate::{
    child::Remote,
    line::{Better, Line, Sides},
    locks::{Single, at_last, release},
    one_lock::{contenders, two_processes},
    rows::Setting,
};

/// It waits, as all do.
pub(crate) async fn waits(setting: &Setting) -> Vec<Line> {
    let took = beside_two(setting, async |lock: &Single| {
        let lock = lock.lock();
        at_last(|| lock.acquire()).await
    });
    let took = took.await;
    let slowest = Sides::once(LIMIT_AND_A_FEW_SECTIONS, slowest(&took));
    let each = Sides { baseline: vec![LIMIT_AND_A_FEW_SECTIONS; took.len()], ours: took };
    vec![
        Line::new("p50, ms", Better::Less, "wanted", &each).aim(1.0),
        Line::new("slowest, ms", Better::Less, "wanted", &slowest),
    ]
}

/// It only tries, each 10 ms.
pub(crate) async fn tries(setting: &Setting) -> Vec<Line> {
    let took = beside_two(setting, async |lock: &Single| {
        loop {
            if let Ok(Some(guard)) = lock.lock().try_acquire().await {
                return guard;
            }
            sleep(BETWEEN_TRIES).await;
        }
    });
    let sides = Sides::once(IN_WITHIN, slowest(&took.await));
    vec![Line::new("slowest, ms", Better::Less, "wanted", &sides).aim(1.0)]
}

fn slowest(took: &[f64]) -> f64 {
    took.iter().copied().fold(0.0, f64::max)
}

/// How long it took each time to get in, in ms.
async fn beside_two(setting: &Setting, get_in: impl AsyncFn(&Single) -> LockGuard) -> Vec<f64> {
    let server = RedisServer::start();
    let mut busy = two_processes(&server);
    let locks = contenders(&server.url(), 1).await;
    let Some(lock) = locks.first() else { return Vec::new() };
    let mut took = Vec::new();
    for _ in 0..if setting.effort.short { 2 } else { 6 } {
        busy.iter_mut().for_each(|process| process.begin(AWHILE));
        let begun = Instant::now();
        // Not at the end, when they cease.
        while begun.elapsed() < AWHILE * 3 / 4 {
            let wanted = Instant::now();
            let guard = get_in(lock).await;
            took.push(wanted.elapsed().as_secs_f64() * 1e3);
            release(guard).await;
            sleep(BETWEEN_TRIES).await;
        }
        drop(busy.each_ref().map(Remote::end));
    }
    took
}

/// For hand-overs inside a process, in ms.
const LIMIT_AND_A_FEW_SECTIONS: f64 = 60.0;
/// In ms.
const IN_WITHIN: f64 = 3_000.0;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);
const AWHILE: Duration = Duration::from_secs(6);
