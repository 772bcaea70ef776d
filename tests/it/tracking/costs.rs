//! What it costs to be told, and that nothing goes round in circles.

use palisade::{Client, embedded::Server};
use testkit::RedisServer;

use super::{listening, tracking};
use crate::support::{ms, patiently, promptly, watchdog};

/// The time of a paused runtime is exact.
#[tokio::test(start_paused = true)]
async fn short_hold_costs_no_command() {
    let server = Server::start_here();
    let mut costs = Vec::new();
    for is_tracking in [false, true] {
        let client = server.client_builder().tracking(is_tracking).build().unwrap();
        for held_for in [100, 100, 300] {
            let before = server.commands_processed();
            for _ in 0..100 {
                let guard = client.lock("x").acquire().await.unwrap();
                tokio::time::sleep(ms(held_for)).await;
                guard.release().await.unwrap();
            }
            costs.push(server.commands_processed() - before);
        }
        client.shutdown(ms(1_000)).await.unwrap();
    }
    let [_, short, longer, _, short_tracked, longer_tracked] = costs[..] else { unreachable!() };
    assert_eq!(short, short_tracked);
    assert!(longer_tracked >= longer + 100, "{costs:?}");
}

/// Each that renews tells the other.
#[tokio::test]
async fn readers_of_one_key_do_not_keep_each_other_busy() {
    let server = RedisServer::start();
    let (one, other) = (tracking(&server).await, tracking(&server).await);
    let lease = watchdog(3_000);
    let mut guards = Vec::new();
    for client in [&one, &other] {
        guards.push(client.rw_lock("x").read().with_lease(lease).acquire().await.unwrap());
    }
    listening(&server, 1).await;
    // Four for each in each renewal period, of which there are three in a lease.
    let (before, ended) = (server.calls_of("hlen"), tokio::time::Instant::now() + ms(6_000));
    tokio::time::sleep_until(ended).await;
    let reads = server.calls_of("hlen") - before;
    assert!((2..=2 * 4 * 9).contains(&reads), "{reads}");
}

#[tokio::test]
async fn key_that_changes_all_the_time_is_read_only_so_often() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    for number in 0..2_000 {
        listening(&server, 0).await;
        server.command(&["HSET", "x", "other:1", &number.to_string()]);
    }
    assert!(server.calls_of("hlen") <= 1 + 4, "{}", server.calls_of("hlen"));
    assert!(guard.is_held());
}

#[tokio::test]
async fn all_holds_of_a_server_hear_that_it_was_emptied() {
    const HOLDS: u64 = 1_000;
    let server = RedisServer::start();
    let client = patiently(Client::builder().url(&server.url()));
    let client = client.tracking(true).connect().await.unwrap();
    let mut guards = Vec::new();
    for number in 0..HOLDS {
        guards.push(client.lock(format!("x:{number}")).acquire().await.unwrap());
    }
    listening(&server, HOLDS).await;
    server.flush();
    for guard in &guards {
        promptly(&server, guard.lost()).await;
    }
}
