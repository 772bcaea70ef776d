//! Masters whose votes count only while their marker stands.

use std::time::Duration;

use palisade::{AcquireError, Client, Masters, Quarantine, embedded::Server, error::NodeError};
use testkit::{Cluster, RedisServer};
use tokio::time::Instant;

use super::{D, MARKER, client, counts_in, marker_on};
use crate::fleet::{HANG, Rule, drained, masters, within};

const SLACK: Duration = Duration::from_secs(3);
/// Servers that are young tell their uptime in steps of this.
const SECOND: Duration = Duration::from_secs(1);

async fn strict_masters(servers: &Cluster) -> Masters {
    masters(servers.urls().iter().map(|url| client(url).quarantine(Quarantine::Strict))).await
}

fn embedded() -> (Vec<Server>, Masters) {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let strict = |server: &Server| server.client_builder().quarantine(Quarantine::Strict).build();
    let masters = Masters::new(servers.iter().map(|server| strict(server).unwrap())).unwrap();
    (servers, masters)
}

#[tokio::test]
async fn flush_takes_the_votes_away_until_they_are_blessed_again() {
    let servers = Cluster::start(3);
    let strict = strict_masters(&servers).await;
    for rule in Rule::BOTH {
        counts_in(&rule.lock(&strict, "x").try_acquire().await.unwrap_err());
    }
    assert!(marker_on(&servers[0]).starts_with("waits "), "{}", marker_on(&servers[0]));
    strict.bless().await.unwrap();
    for rule in Rule::BOTH {
        let guard = rule.lock(&strict, "x").try_acquire().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
    }
    servers.iter().for_each(RedisServer::flush);
    let error = strict.red_lock("x").try_acquire().await.unwrap_err();
    assert!(counts_in(&error) > D - HANG && counts_in(&error) <= D + SECOND, "{error}");
    assert!(servers.iter().all(|server| server.keys().is_empty()), "nothing was granted");

    let lock = strict.red_lock("y");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    strict.bless_by_force().await.unwrap();
    let guard = within(HANG, "the waiter sees it", waiter).await.unwrap().unwrap();
    guard.release().await.unwrap();
    drained(&strict).await;
}

#[tokio::test]
async fn key_that_is_no_marker_is_an_error_and_is_not_touched() {
    let servers = Cluster::start(3).blessed();
    let strict = strict_masters(&servers).await;
    strict.red_lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    servers.iter().for_each(|server| drop(server.cli(&["DEL", MARKER])));
    servers[0].cli(&["HSET", MARKER, "a", "b"]);
    servers[1].cli(&["SET", MARKER, "waits for nothing"]);
    servers[2].bless();
    for rule in Rule::BOTH {
        let error = rule.lock(&strict, "x").acquire().await.unwrap_err();
        let AcquireError::Denied { ballot, .. } = &error else { panic!("{error:?}") };
        assert!(ballot.failures().any(|(_, cause)| matches!(cause, NodeError::ForeignMarker)));
    }
    assert_eq!(servers[0].cli(&["HGET", MARKER, "a"]), "b");
    assert_eq!(marker_on(&servers[1]), "waits for nothing");
    // Where it is another mark, that is taken.
    strict.clients()[2].lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    drained(&strict).await;
}

#[tokio::test]
async fn only_who_asks_for_the_uptime_pays_for_the_look_at_the_mark() {
    let server = RedisServer::start();
    server.bless();
    for (quarantine, single, composite) in [
        (Quarantine::Durable, 0, 0),
        // All at one address is no more than a lock by itself.
        (Quarantine::Composites, 0, 0),
        (Quarantine::Always, 1, 1),
        (Quarantine::Strict, 1, 1),
    ] {
        let client = client(&server.url()).quarantine(quarantine).connect().await.unwrap();
        // In as many commands: acquires and releases of the single ones; of the composites one acquire of both
        // members, which looks once, and a release of each.
        let expected = (2 * single + 2 * composite, 10);
        // The watchdog has a connection of its own from the first hold on, and meets the server there too. The
        // first acquire after that looks at what both have been told.
        let settled = async { while looks_and_commands(&server, &client).await != expected {} };
        within(HANG, "as many looks and commands as it takes", settled).await;
    }
}

/// What two locks and two composites of two cost.
async fn looks_and_commands(server: &RedisServer, client: &Client) -> (u64, u64) {
    let (looks, commands) = (server.calls_of("get"), server.top_level_commands());
    for names in [["a", "b"], ["c", "d"]] {
        let [one, other] = names.map(|name| client.lock(name));
        one.acquire().await.unwrap().release().await.unwrap();
        let both = palisade::MultiLock::new([one, other]).unwrap();
        both.acquire().await.unwrap().release().await.unwrap();
    }
    (server.calls_of("get") - looks, server.top_level_commands() - commands)
}

#[tokio::test(start_paused = true)]
async fn server_that_never_had_a_marker_waits_once() {
    let (_servers, masters) = embedded();
    waits_out_all_of_it(&masters).await;
    masters.multi_lock("y").try_acquire().await.unwrap().unwrap().release().await.unwrap();
}

/// From the first word with it, not again from the time at which its uptime is enough.
#[tokio::test(start_paused = true)]
async fn restart_without_data_is_waited_out_once() {
    let (servers, masters) = embedded();
    masters.bless_by_force().await.unwrap();
    masters.red_lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    for server in &servers {
        server.kill_and_forget();
        server.restart();
    }
    tokio::time::sleep(Duration::from_secs(30)).await;
    waits_out_all_of_it(&masters).await;
}

async fn waits_out_all_of_it(masters: &Masters) {
    let started = Instant::now();
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert_eq!(counts_in(&error), D, "{error}");
    let guard = masters.red_lock("x").acquire().await.unwrap();
    assert!(started.elapsed() >= D && started.elapsed() < D + SLACK, "{:?}", started.elapsed());
    guard.release().await.unwrap();
}
