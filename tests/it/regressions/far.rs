//! One client is farther from the servers than others are.

use std::time::Duration;

use futures::future::join_all;
use palisade::{MultiLock, embedded::Server};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep};

use super::Line;

const TIME: Duration = Duration::from_secs(300);

/// Wake-ups reach it later, and its requests come later: if all asked at once it would be last each
/// time.
#[tokio::test(start_paused = true)]
async fn contender_of_a_multi_lock_that_is_farther_away_gets_turns_too() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let ways = [5, 1, 1, 1, 1].map(Duration::from_millis);
    let contend = ways.into_iter().zip(0..).map(|(way, seed)| contend(&servers, way, seed));
    let turns = join_all(contend).await;
    let [far, near @ ..] = turns.as_slice() else { unreachable!() };
    let share = near.iter().map(|(turns, _)| turns).sum::<u32>() / 4;
    assert!(far.0 >= share / 10 && far.1 < Duration::from_secs(20), "{turns:?}");
}

/// How often it is granted in that time, and after how long at worst.
async fn contend(servers: &[Server], way: Duration, seed: u64) -> (u32, Duration) {
    let lock = servers.iter().map(|server| {
        let line = Line::new();
        line.delay(way, way);
        line.client(server).build().unwrap().lock("x")
    });
    let lock = MultiLock::new(lock).unwrap();
    let mut random = StdRng::seed_from_u64(seed);
    let end = Instant::now() + TIME;
    let (mut turns, mut longest) = (0, Duration::ZERO);
    loop {
        let asked = Instant::now();
        let acquired = tokio::time::timeout_at(end, lock.acquire()).await;
        longest = longest.max(asked.elapsed());
        let Ok(guard) = acquired else { return (turns, longest) };
        turns += 1;
        sleep(Duration::from_millis(random.random_range(1..=200))).await;
        guard.unwrap().release().await.unwrap();
        sleep(Duration::from_millis(random.random_range(1..=20))).await;
    }
}
