//! A Redis Cluster whose slots move from one master to another.

use std::time::Duration;

use futures::future::join_all;
use palisade::{
    AnyGuard, LockGuard,
    acl::{Rights, Use},
    settings::Failover,
};
use testkit::SlotCluster;

use super::cluster::{another, client, codes, known, renewed, settings};
use crate::support::{causes, eventually, soon};

#[tokio::test]
async fn slot_that_moves_under_a_hold_and_a_waiter_loses_neither() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let guard = soon(here.fenced_lock("x").acquire()).await.unwrap();
    let waiter = tokio::spawn({
        let lock = there.fenced_lock("x");
        async move { lock.acquire().await }
    });
    eventually(|| there.subscriptions() == 1).await;
    for _ in 0..3 {
        let (slot, to) = (cluster.slot_of("x"), another(&cluster, "x"));
        cluster.move_slot(slot, to);
        renewed(&cluster, to, "x").await;
    }
    assert!(guard.ensure_valid().is_ok());
    assert!(!waiter.is_finished());
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    let next = soon(waiter).await.unwrap().unwrap();
    assert!(next.fencing_token() > token);
    next.release().await.unwrap();
}

#[tokio::test]
async fn slot_that_is_half_moved_is_asked_for_where_its_keys_are() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let (slot, to) = (cluster.slot_of("x"), another(&cluster, "x"));
    let from = cluster.owner_of(slot);
    let (moved, stays) = (here.lock("x"), here.lock("{x}2"));
    let guards = [soon(moved.acquire()).await.unwrap(), soon(stays.acquire()).await.unwrap()];
    cluster.begin_move(slot, to);
    cluster.move_key("x", to);
    // What is renewed in one call is not in one place any more.
    renewed(&cluster, to, "x").await;
    renewed(&cluster, from, "{x}2").await;
    let asked = cluster[to].calls_of("asking");
    assert!(asked > 0);
    assert!(there.lock("x").try_acquire().await.unwrap().is_none());
    // What is new is granted where the slot will be.
    let new = soon(there.lock("{x}3").acquire()).await.unwrap();
    assert_eq!(cluster[to].keys(), ["x", "{x}3"]);
    let waiter = tokio::spawn({
        let lock = there.lock("x");
        async move { lock.acquire().await }
    });
    eventually(|| there.subscriptions() == 1).await;
    let [moved, stays] = guards;
    moved.release().await.unwrap();
    let next = soon(waiter).await.unwrap().unwrap();
    cluster.move_keys(slot, to);
    cluster.finish_move(slot, to);
    renewed(&cluster, to, "{x}2").await;
    for guard in [stays, next, new] {
        assert!(guard.ensure_valid().is_ok());
        guard.release().await.unwrap();
    }
    eventually(|| cluster.keys().is_empty()).await;
}

#[tokio::test]
async fn keys_that_are_in_two_places_are_waited_for() {
    let cluster = SlotCluster::start(3);
    let client = client(&cluster).await;
    let lock = client.fenced_lock("x");
    let first = soon(lock.acquire()).await.unwrap();
    let token = first.fencing_token();
    first.release().await.unwrap();
    // The counter is there, the key of a free lock is not.
    let (slot, to) = (cluster.slot_of("x"), another(&cluster, "x"));
    cluster.begin_move(slot, to);
    let refused = soon(lock.try_acquire()).await.unwrap_err();
    // Before 7.0 the server that lets the slot go sends on what it has a part of.
    let code = if cluster[0].version() >= (7, 0) { "TRYAGAIN" } else { "ASK" };
    assert_eq!(codes(&causes(&refused)), [code]);
    let patient = settings(&cluster).node_timeout(Duration::from_secs(30));
    let lock = soon(patient.connect()).await.unwrap().fenced_lock("x");
    let told = || {
        let errors = cluster[cluster.owner_of(slot)].cli(&["INFO", "errorstats"]);
        let line = errors.lines().find(|line| line.starts_with(&format!("errorstat_{code}:")));
        line.map(str::to_owned)
    };
    let before = told();
    let (granted, ()) = soon(futures::future::join(lock.try_acquire(), async {
        eventually(|| told() != before).await;
        cluster.move_keys(slot, to);
        cluster.finish_move(slot, to);
    }))
    .await;
    let guard = granted.unwrap().expect("it is free");
    assert!(guard.fencing_token() > token);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn many_holds_are_renewed_while_their_slots_move() {
    let cluster = SlotCluster::start(3);
    let client = client(&cluster).await;
    let names: Vec<_> = (0..60).map(|n| format!("{{{}}}{n}", n % 6)).collect();
    let locks: Vec<_> = names.iter().map(|name| client.lock(name)).collect();
    let held = soon(join_all(locks.iter().map(|lock| lock.acquire()))).await;
    let held: Vec<LockGuard> = held.into_iter().map(Result::unwrap).collect();
    for round in 0..2 {
        for tag in 0..6 {
            let name = format!("{{{tag}}}{tag}");
            let (slot, to) = (cluster.slot_of(&name), another(&cluster, &name));
            cluster.begin_move(slot, to);
            cluster.move_key(&name, to);
            if round == 0 {
                renewed(&cluster, to, &name).await;
            }
            cluster.move_keys(slot, to);
            cluster.finish_move(slot, to);
        }
    }
    cluster.wait_until_ok();
    for guard in held {
        assert!(guard.ensure_valid().is_ok(), "{}", guard.name());
        soon(guard.release()).await.unwrap();
    }
    eventually(|| cluster.keys().is_empty()).await;
}

#[tokio::test]
async fn least_rights_are_enough_while_a_slot_moves() {
    let cluster = SlotCluster::start(3);
    soon(settings(&cluster).failover(Failover::Wait).connect())
        .await
        .unwrap()
        .bless()
        .await
        .unwrap();
    let rights = Rights::new().with_pattern(Use::Lock, "*").in_cluster();
    for n in 0..3 {
        let rules = rights.rules();
        let user = ["ACL", "SETUSER", "app", "on", ">pw"].into_iter();
        let words: Vec<&str> = user.chain(known(&cluster, &rules)).collect();
        assert_eq!(cluster[n].cli(&words), "OK");
    }
    let settings = settings(&cluster).failover(Failover::Wait).user("app").password("pw");
    let client = soon(settings.connect()).await.unwrap();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    let (slot, to) = (cluster.slot_of("x"), another(&cluster, "x"));
    cluster.begin_move(slot, to);
    cluster.move_keys(slot, to);
    renewed(&cluster, to, "x").await;
    cluster.finish_move(slot, to);
    soon(guard.release()).await.unwrap();
    assert!(cluster.keys().iter().all(|key| key.starts_with("palisade_mark:")));
}
