//! What it costs that keys change all the time, counted by the servers.

use std::time::Duration;

use palisade::{Client, rw::ReadGuard};
use testkit::RedisServer;
use tokio::time::Instant;

use super::{listening, tracking};
use crate::support::{eventually, ms, patient, watchdog};

/// Renewed each second.
const LEASE_MS: u64 = 3_000;

async fn readers(client: &Client, many: usize) -> Vec<ReadGuard> {
    let lock = client.rw_lock("x").read().with_lease(watchdog(LEASE_MS));
    let mut guards = Vec::new();
    for _ in 0..many {
        guards.push(lock.acquire().await.unwrap());
    }
    guards
}

/// Until each is followed: none is later than with its first renewal.
async fn renewed(guards: &[Vec<ReadGuard>]) {
    let guards: Vec<_> = guards.iter().flatten().collect();
    let before: Vec<_> = guards.iter().map(|guard| guard.deadline()).collect();
    eventually(|| guards.iter().zip(&before).all(|(guard, before)| guard.deadline() > *before))
        .await;
}

/// Changes the lock `x` all the time on each of `servers`. How often each was read for that, how often each changed,
/// and for how long.
async fn change_for(time: Duration, servers: &[&RedisServer]) -> (Vec<u64>, u64, Duration) {
    let reads = || servers.iter().map(|server| server.calls_of("hlen"));
    let (before, begun): (Vec<_>, _) = (reads().collect(), Instant::now());
    let (mut changes, mut pace) = (0, tokio::time::interval(ms(5)));
    while begun.elapsed() < time {
        pace.tick().await;
        changes += 1;
        for server in servers {
            server.command(&["HSET", "x", "other:1", &changes.to_string()]);
        }
    }
    (reads().zip(before).map(|(now, before)| now - before).collect(), changes, begun.elapsed())
}

#[tokio::test]
async fn key_that_others_may_share_is_read_four_times_a_second_at_most_in_each_process() {
    let server = RedisServer::start();
    let clients = [tracking(&server).await, tracking(&server).await];
    let guards = [readers(&clients[0], 1).await, readers(&clients[1], 1).await];
    renewed(&guards).await;
    listening(&server, 1).await;
    let (reads, changes, time) = change_for(ms(4_000), &[&server]).await;
    let most = 2 * (1 + time.as_millis() / 250);
    assert!((4..=most).contains(&reads[0].into()), "{} of {most}", reads[0]);
    assert!(changes > 4 * reads[0], "{changes} changes and {} reads", reads[0]);
}

#[tokio::test]
async fn key_of_many_holders_is_read_for_renewals_and_for_nothing_else() {
    let servers = [RedisServer::start(), RedisServer::start()];
    let clients = [tracking(&servers[0]).await, tracking(&servers[1]).await];
    let guards = [readers(&clients[0], 3).await, readers(&clients[1], 20).await];
    renewed(&guards).await;
    let (reads, _, time) = change_for(ms(6_000), &[&servers[0], &servers[1]]).await;
    let [few, many] = reads[..] else { unreachable!() };
    assert!(2 * many <= few, "{many} of 20, and {few} of 3 holders");
    assert!(u128::from(many) <= 2 + time.as_millis() / 1_000, "{many} in {time:?}");
}

/// The server forgets which keys were read as fast as it is told of others, and says so for each.
#[tokio::test]
async fn table_that_has_room_for_half_of_the_holds_costs_no_more_than_one_with_room_for_all() {
    const HOLDS: usize = 400;
    let servers = [RedisServer::start(), RedisServer::start(), RedisServer::start()];
    let rooms = [None, Some(1_000_000), Some(HOLDS / 2)];
    let mut guards = Vec::new();
    for (server, room) in servers.iter().zip(rooms) {
        if let Some(room) = room {
            server.cli(&["CONFIG", "SET", "tracking-table-max-keys", &room.to_string()]);
        }
        let client = patient(server).tracking(room.is_some()).connect().await.unwrap();
        for number in 0..HOLDS {
            let lock = client.lock(format!("x:{number}")).with_lease(watchdog(6_000));
            guards.push(lock.acquire().await.unwrap());
        }
    }
    let calls = || servers.iter().map(|server| server.calls().values().sum::<u64>());
    let (before, begun): (Vec<_>, _) = (calls().collect(), Instant::now());
    let (mut asked, mut pace) = (0, tokio::time::interval(ms(5)));
    // What is forgotten is said when another client asks for something.
    while begun.elapsed() < ms(20_000) {
        pace.tick().await;
        asked += 1;
        for server in &servers {
            server.command(&["GET", "y"]);
        }
    }
    let costs: Vec<_> = calls().zip(before).map(|(now, before)| now - before - asked).collect();
    let [untold, with_room, without] = costs[..] else { unreachable!() };
    assert!(untold < without, "keys are read: {costs:?}");
    let reads = servers[1].calls_of("hlen");
    // Renewed each 2 s, and each time it is told.
    assert!(reads >= 7 * HOLDS as u64, "told of {reads} changes: nothing is followed any more");
    assert!(10 * without <= 12 * with_room, "{costs:?}");
    assert!(guards.iter().all(|guard| guard.is_held()));
}
