//! The server on which waiters of many processes pass one by one goes while they are in line.

use std::time::Duration;

use palisade::{Masters, embedded::Server};
use tokio::time::{Instant, sleep};

use crate::{outside::ask, support::soon};

const WAITERS: i64 = 5;

/// None is told of its turn any more, and a turn lasts for two seconds.
#[tokio::test(start_paused = true)]
async fn waiters_in_line_go_on_within_a_second_without_the_server_they_met_on() {
    let servers: [Server; 3] = std::array::from_fn(|_| Server::start_here());
    // Each knows of the others by the servers alone.
    let process = || {
        let clients = servers.iter().map(|server| server.client().unwrap());
        Masters::new(clients).unwrap().red_lock("x")
    };
    let held = process().acquire().await.unwrap();
    let waits: Vec<_> = (0..WAITERS)
        .map(|_| process())
        .map(|lock| {
            tokio::spawn(async move {
                let guard = lock.acquire().await.unwrap();
                sleep(Duration::from_millis(20)).await;
                guard.release().await.unwrap();
            })
        })
        .collect();
    sleep(Duration::from_millis(200)).await;
    for server in &servers {
        let _woken: i64 = ask(server, &["PUBLISH", "redisson_lock__channel:{x}", "0"]).await;
    }
    sleep(Duration::from_millis(200)).await;
    let mut met_on = Vec::new();
    for server in &servers {
        let in_line: i64 = ask(server, &["ZCARD", "{x}:palisade_turns"]).await;
        if in_line == WAITERS - 1 {
            met_on.push(server);
        }
    }
    let [met_on] = met_on[..] else { panic!("they meet on one of them") };
    met_on.freeze();
    let free = Instant::now();
    held.release().await.unwrap();
    for wait in waits {
        soon(wait).await.unwrap();
    }
    assert!(free.elapsed() < Duration::from_secs(1), "{:?}", free.elapsed());
}
