//! Counters that differ: the token is agreed on in a second round trip.

use testkit::{Cluster, RedisServer};

use super::{ahead, counters_agree, everywhere, member_counter, value};
use crate::{
    fleet::{Fleet, client, eventually, masters},
    support::Look,
};

#[tokio::test]
async fn counters_that_differ_are_brought_to_the_greatest_in_one_more_round_trip() {
    let fleet = Fleet::start(3).await;
    let servers: Vec<_> = fleet.servers.iter().collect();
    let lock = fleet.masters.fenced_red_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
    eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
    // One of the majority is ahead: whichever two answer first, two of three are behind.
    let known = [1, 2, 3].map(ahead);
    for (server, known) in fleet.servers.iter().zip(known) {
        server.cli(&["SET", &member_counter("x"), &known.to_string()]);
    }
    let guard = lock.acquire().await.unwrap();
    let token = guard.fencing_token().get();
    assert!([known[1] + 1, known[2] + 1].contains(&token), "{token}");
    let wrote = |server: &&&RedisServer| value(server, &member_counter("x")) == token;
    assert!(servers.iter().filter(wrote).count() >= 2);
    everywhere(fleet.servers.iter(), &guard).await;
    guard.release().await.unwrap();
    eventually("all are free", || servers.iter().all(|s| !s.exists("x"))).await;
    let next = lock.acquire().await.unwrap();
    assert!(next.fencing_token().get() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn multi_lock_writes_its_token_everywhere() {
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.fenced_multi_lock("x");
    let known = [1, 2, 3].map(ahead);
    for (server, known) in fleet.servers.iter().zip(known) {
        server.cli(&["SET", &member_counter("x"), &known.to_string()]);
    }
    for further in 1..=3 {
        let guard = lock.acquire().await.unwrap();
        assert_eq!(guard.fencing_token().get(), known[2] + further);
        counters_agree(&fleet.servers, guard.fencing_token());
        guard.release().await.unwrap();
    }
}

/// What the tests of [`super::disagreeing`] would be if nothing went wrong.
#[tokio::test]
async fn round_is_won_once_the_second_master_knows_the_token() {
    let servers = Cluster::start(3);
    let masters = masters(servers.urls().iter().map(|url| client(url))).await;
    servers.kill(2);
    servers[1].cli(&["SET", &member_counter("x"), &ahead(1).to_string()]);
    let guard = masters.fenced_red_lock("x").try_acquire().await.unwrap().unwrap();
    for server in servers.iter().take(2) {
        assert_eq!(value(server, &member_counter("x")), guard.fencing_token().get());
    }
    guard.release().await.unwrap();
}
