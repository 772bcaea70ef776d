//! Servers that do not tell every user which run they are.

use std::time::Instant;

use palisade::{
    AcquireError, Masters, OnOutage, Quarantine,
    error::{BlessError, NodeError},
    settings::Unidentified,
};
use testkit::{Cluster, RedisServer};

use super::{
    client, counts_in,
    flushed::{brief, decided, old},
    marker_on, wary,
};
use crate::fleet::{Composite, Rule, SOON, drained, eventually, masters};

/// Clients of users that may do everything but what `rules` take away.
fn restricted(servers: &Cluster, rules: &[&str], unidentified: Unidentified) -> Masters {
    let client = |server: &RedisServer| {
        let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
        server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
        let client = wary(client(&server.url_with("app", "pw")));
        client.unidentified(unidentified).build().unwrap()
    };
    Masters::new(servers.iter().map(client)).unwrap()
}

#[tokio::test]
async fn without_info_no_vote_counts_and_the_cause_names_the_right_to_add() {
    let servers = Cluster::start(3);
    let masters = restricted(&servers, &["-info"], Unidentified::default());
    for rule in Rule::BOTH {
        let started = Instant::now();
        let error = rule.lock(&masters, "x").try_acquire().await.unwrap_err();
        let AcquireError::Denied { ballot, .. } = &error else { panic!("{error:?}") };
        assert!(ballot.failures().all(|(_, cause)| matches!(cause, NodeError::Unidentified)));
        assert!(error.to_string().contains("+info|server"), "{error}");
        // Waiting does not help.
        let error = masters.red_lock("x").on_outage(OnOutage::Wait).acquire().await.unwrap_err();
        assert!(matches!(error, AcquireError::Denied { .. }), "{error:?}");
        assert!(started.elapsed() < SOON);
    }
    // A lock by itself never asks.
    let guard = masters.clients()[0].lock("x").try_acquire().await.unwrap().unwrap();
    guard.release().await.unwrap();
    let error = masters.bless().await.unwrap_err();
    assert!(matches!(error, BlessError::Unidentified { .. }), "{error:?}");
    assert!(error.to_string().contains("+info|server"), "{error}");
    drained(&masters).await;
}

#[tokio::test]
async fn without_info_votes_count_if_the_caller_trusts_them() {
    let servers = Cluster::start(3);
    let masters = restricted(&servers, &["-info"], Unidentified::Trust);
    for rule in Rule::BOTH {
        let guard = rule.lock(&masters, "x").try_acquire().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
    }
    drained(&masters).await;
}

#[tokio::test]
async fn the_right_that_the_cause_names_is_enough() {
    let servers = Cluster::start(3);
    let masters = restricted(&servers, &["-info", "+info|server"], Unidentified::default());
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
    masters.bless().await.unwrap();
    assert!(masters.red_lock("x").try_acquire().await.unwrap().is_some());
    drained(&masters).await;
}

/// A client that may not read the marker finds none, and waits as all did before the blessing.
#[tokio::test]
async fn without_get_a_blessing_is_not_seen() {
    let servers = Cluster::start(3).blessed();
    let masters = restricted(&servers, &["-get"], Unidentified::default());
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
    let error = masters.bless().await.unwrap_err();
    let refused = matches!(&error, BlessError::Node { source: NodeError::Permission { .. }, .. });
    assert!(refused, "{error:?}");
    drained(&masters).await;
}

#[tokio::test]
async fn what_was_marked_is_unmarked_if_one_master_cannot_be() {
    let servers = Cluster::start(3);
    let all = restricted(&servers, &[], Unidentified::default());
    servers[2].cli(&["ACL", "SETUSER", "app", "-set"]);
    let error = all.bless().await.unwrap_err();
    let BlessError::NotWritten { node, left, .. } = &error else { panic!("{error:?}") };
    assert_eq!((node, left.len()), (all.clients()[2].node_id(), 0));
    assert!(error.to_string().contains("have been taken back"), "{error}");
    for server in &servers {
        assert_eq!(marker_on(server), "");
    }
    counts_in(&all.red_lock("x").try_acquire().await.unwrap_err());
    servers[2].cli(&["ACL", "SETUSER", "app", "+set"]);
    all.bless().await.unwrap();
    drained(&all).await;
}

#[tokio::test]
async fn without_the_rights_for_the_mark_the_uptime_alone_decides() {
    for rules in [&["resetkeys", "~x", "~warm-up"][..], &["-get"], &["-set"]] {
        let servers = Cluster::start(3);
        let user = |server: &RedisServer| {
            let all = ["ACL", "SETUSER", "app", "reset", "on", ">pw", "~*", "&*", "+@all"];
            server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
            brief(client(&server.url_with("app", "pw")))
        };
        let masters = masters(servers.iter().map(user)).await;
        counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
        old(&servers).await;
        let lock = Composite::Multi(masters.multi_lock("x"));
        let guard = Box::pin(decided(&lock)).await.unwrap().expect("it is free");
        guard.release().await.unwrap();
        assert!(servers.iter().all(|server| marker_on(server).is_empty()), "{rules:?}");
        drained(&masters).await;
    }
}

/// A client that knew the mark would else be refused by the comparison until the next connection.
#[tokio::test]
async fn right_to_the_mark_that_is_taken_away_refuses_nobody() {
    let servers = Cluster::start(3).blessed();
    let masters = restricted(&servers, &[], Unidentified::default());
    let lock = masters.multi_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
    // The watchdog's connection comes with the first hold: made later it would be one that never knew the mark.
    let are_both = |server: &RedisServer| server.calls_of("client") == 2;
    eventually("all are connected", || servers.iter().all(are_both)).await;
    for server in &servers {
        server.cli(&["ACL", "SETUSER", "app", "resetkeys", "~x"]);
    }
    old(&servers).await;
    let guard = lock.try_acquire().await.unwrap().expect("it is free");
    guard.release().await.unwrap();
    drained(&masters).await;
}

/// Two keys of different slots share no script there.
#[tokio::test]
async fn server_of_a_cluster_votes_by_its_uptime_alone() {
    let server = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    server.serve_slots(0..16_384);
    let serves = || server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
    eventually("it serves all slots", serves).await;
    let servers = [server];
    old(&servers).await;
    let always = brief(client(&servers[0].url())).quarantine(Quarantine::Always);
    let client = always.connect().await.unwrap();
    for name in ["x", "y"] {
        let lock = client.lock(name).on_outage(OnOutage::Wait);
        let guard = Box::pin(lock.try_acquire_for(SOON)).await.unwrap().expect("it is free");
        guard.release().await.unwrap();
    }
    assert_eq!(marker_on(&servers[0]), "");
}
