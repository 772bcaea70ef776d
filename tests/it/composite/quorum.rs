//! Which servers it takes, and what is said when too few are there.

use std::time::{Duration, Instant};

use palisade::{
    AcquireError, MultiLock, OnOutage, RedLock,
    error::{ConfigError, NodeError, Vote},
};
use testkit::{Cluster, RedisServer};

use crate::fleet::{
    Fleet, HANG, Rule, SOON, client, drained, eventually, hold_as_stranger, holder_on, masters,
    within,
};

#[tokio::test]
async fn composites_of_any_size_are_granted_exclude_others_and_are_freed() {
    for n in [1, 2, 3, 5] {
        let fleet = Fleet::start(n).await;
        let other = fleet.another_process().await;
        for rule in Rule::BOTH {
            let ours = rule.lock(&fleet.masters, "x");
            let theirs = rule.lock(&other, "x");
            let guard = ours.acquire().await.unwrap();
            eventually("every member grants", || {
                fleet
                    .servers
                    .iter()
                    .all(|s| holder_on(s, "x").as_deref() == Some(guard.holder_id()))
            })
            .await;
            assert!(ours.try_acquire().await.unwrap().is_none());
            assert!(theirs.try_acquire().await.unwrap().is_none());
            assert!(theirs.try_acquire_for(Duration::from_millis(500)).await.unwrap().is_none());
            assert!(guard.is_held());
            guard.release().await.unwrap();
            let next = within(HANG, "the next holder", theirs.acquire()).await.unwrap();
            next.release().await.unwrap();
        }
        fleet.end(&[other]).await;
    }
}

#[tokio::test]
async fn minority_of_nodes_down_still_grants_at_full_speed() {
    for n in [3, 5] {
        let servers = Cluster::start(n);
        let (dead, frozen) = (n - 1, n - 2);
        servers.kill(dead);
        // Of three only one may be missing.
        if n > 3 {
            servers.freeze(frozen);
        }
        let clients =
            servers.urls().iter().map(|url| client(url).build().unwrap()).collect::<Vec<_>>();
        let masters = palisade::Masters::new(clients).unwrap();
        let lock = masters.red_lock("x");
        let started = Instant::now();
        let guard = lock.acquire().await.unwrap();
        guard.release().await.unwrap();
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
        if n > 3 {
            servers.thaw(frozen);
        }
        servers.restart(dead);
        drained(&masters).await;
        assert!(servers.iter().all(|server| server.keys().is_empty()));
    }
}

#[tokio::test]
async fn minority_frozen_after_it_was_connected_still_grants_at_full_speed() {
    for n in [3, 5] {
        let fleet = Fleet::start(n).await;
        for i in 0..n / 2 {
            fleet.servers.freeze(i);
        }
        let started = Instant::now();
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        assert!(guard.is_held());
        guard.release().await.unwrap();
        assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
        for i in 0..n / 2 {
            fleet.servers.thaw(i);
        }
        fleet.end(&[]).await;
    }
}

#[tokio::test]
async fn majority_down_is_an_outage_that_names_every_node() {
    let fleet = Fleet::start_to_wait_out(3).await;
    fleet.servers.kill(0);
    fleet.servers.kill(2);
    let error = fleet.masters.red_lock("x").acquire().await.unwrap_err();
    let AcquireError::Unavailable { ballot, .. } = &error else { panic!("{error}") };
    assert_eq!(ballot.iter().count(), 3);
    assert_eq!(ballot.failures().count(), 2);
    let text = error.to_string();
    for client in fleet.masters.clients() {
        assert!(text.contains(client.node_id().as_str()), "{text}");
    }
    fleet.servers.restart(0);
    fleet.servers.restart(2);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn one_member_of_a_multi_lock_down_is_an_outage_that_leaves_nothing() {
    let fleet = Fleet::start_to_wait_out(3).await;
    fleet.servers.kill(1);
    let error = fleet.masters.multi_lock("x").acquire().await.unwrap_err();
    let AcquireError::Unavailable { ballot, .. } = &error else { panic!("{error}") };
    let (down, cause) = ballot.failures().next().unwrap();
    assert_eq!(down, fleet.masters.clients()[1].node_id());
    assert!(cause.is_transient(), "{cause}");
    fleet.servers.restart(1);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn even_numbers_of_masters_need_more_than_half() {
    let fleet = Fleet::start_to_wait_out(2).await;
    let lock = fleet.masters.red_lock("x");
    fleet.servers.kill(0);
    let error = lock.try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error}");
    fleet.servers.restart(0);
    // Half of the votes are no majority either.
    let lock = fleet.masters.red_lock("y");
    hold_as_stranger(&fleet.servers[1], "y");
    within(HANG, "the server is back", async { while lock.try_acquire().await.is_err() {} }).await;
    assert!(lock.try_acquire().await.unwrap().is_none());
    fleet.servers[1].flush();
    let guard = lock.try_acquire().await.unwrap().unwrap();
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn foreign_keys_on_a_minority_do_not_stop_a_red_lock() {
    let fleet = Fleet::start(3).await;
    fleet.servers[1].cli(&["SET", "x", "not a lock"]);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    guard.release().await.unwrap();
    let error = fleet.masters.multi_lock("x").acquire().await.unwrap_err();
    let AcquireError::Denied { ballot, .. } = &error else { panic!("{error}") };
    let foreign = |(_, vote): (_, &Vote)| matches!(vote, Vote::Failed(NodeError::ForeignKey));
    assert_eq!(ballot.iter().filter(|vote| foreign(*vote)).count(), 1);
    assert_eq!(fleet.servers[1].cli(&["GET", "x"]), "not a lock");
    fleet.servers[1].flush();
    fleet.end(&[]).await;
}

/// Two of three do, as soon as the other one is back.
#[tokio::test]
async fn outage_is_ridden_out_beside_a_member_that_fails_for_good() {
    let fleet = Fleet::start_to_wait_out(3).await;
    fleet.servers[1].cli(&["SET", "x", "not a lock"]);
    fleet.servers.kill(0);
    let asked = fleet.servers[2].calls_of("evalsha");
    let lock = fleet.masters.red_lock("x").on_outage(OnOutage::Wait);
    let waiter = tokio::spawn(async move { lock.acquire().await });
    let is_asked_again = || fleet.servers[2].calls_of("evalsha") > asked + 2;
    eventually("another round", || waiter.is_finished() || is_asked_again()).await;
    fleet.servers.restart(0);
    let guard = within(HANG, "a quorum is back", waiter).await.unwrap().unwrap();
    guard.release().await.unwrap();
    fleet.servers[1].flush();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn acquire_rides_out_an_outage_if_told_to() {
    let fleet = Fleet::start_to_wait_out(3).await;
    for rule in Rule::BOTH {
        let name = format!("{rule:?}");
        fleet.servers.kill(0);
        fleet.servers.kill(1);
        let red = fleet.masters.red_lock(&name).on_outage(OnOutage::Wait);
        let multi = fleet.masters.multi_lock(&name).on_outage(OnOutage::Wait);
        let limit = Duration::from_millis(100);
        let outlasted = match rule {
            Rule::Majority => red.try_acquire_for(limit).await,
            Rule::All => multi.try_acquire_for(limit).await,
        };
        assert!(matches!(outlasted, Err(AcquireError::Unavailable { .. })), "{outlasted:?}");
        let waiter = tokio::spawn(async move {
            match rule {
                Rule::Majority => red.acquire().await,
                Rule::All => multi.acquire().await,
            }
        });
        fleet.servers.restart(0);
        if rule == Rule::All {
            fleet.servers.restart(1);
        }
        let guard = within(HANG, "a quorum is back", waiter).await.unwrap().unwrap();
        guard.release().await.unwrap();
        fleet.servers.restart(1);
    }
    fleet.end(&[]).await;
}

#[tokio::test]
async fn two_addresses_of_one_server_do_not_get_two_votes() {
    let everywhere = RedisServer::builder().arg("--bind", "0.0.0.0").arg("--protected-mode", "no");
    let twice = everywhere.start();
    let other = RedisServer::start();
    let alias = format!("redis://127.0.0.2:{}", twice.port());
    let clients = masters([client(&twice.url()), client(&other.url()), client(&alias)]).await;
    let lock = clients.red_lock("x");
    let error = lock.acquire().await.unwrap_err();
    let same = matches!(error, AcquireError::Config(ConfigError::SameServer { .. }));
    assert!(same, "{error}");
    let error = clients.multi_lock("x").try_acquire().await.unwrap_err();
    let twice_the_key = matches!(error, AcquireError::Config(ConfigError::DuplicateMember { .. }));
    assert!(twice_the_key, "{error}");
    drained(&clients).await;
    assert!(twice.keys().is_empty());
    assert!(other.keys().is_empty());
}

#[tokio::test]
async fn two_names_on_one_server_are_a_multi_lock() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    let both = MultiLock::new([client.lock("alice"), client.lock("bob")]).unwrap();
    let guard = both.acquire().await.unwrap();
    assert_eq!(server.keys(), ["alice", "bob"]);
    assert!(client.lock("bob").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    let bob = client.lock("bob").acquire().await.unwrap();
    assert!(both.try_acquire().await.unwrap().is_none());
    bob.release().await.unwrap();
    let error = RedLock::new([client.lock("alice"), client.lock("bob")]).unwrap_err();
    assert!(matches!(error, ConfigError::SameServer { .. }), "{error}");
    client.shutdown(HANG).await.unwrap();
    assert!(server.keys().is_empty());
}
