//! Masters that come back.

use palisade::{Lease, Quarantine};
use testkit::Cluster;

use super::{MAX_LEASE, counts_in, marker_on, stranger, wary, wary_masters, wary_strangers};
use crate::fleet::{Rule, drained, eventually, hold_as_stranger, holder_on, masters};

#[tokio::test]
async fn restart_makes_the_blessing_void() {
    let servers = Cluster::start(3);
    let masters = wary_masters(&servers).await;
    masters.bless().await.unwrap();
    masters.multi_lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    let marker = marker_on(&servers[0]);
    servers.restart_empty(0);
    // As if it had been restored from a copy.
    servers[0].cli(&["SET", super::MARKER, &marker]);
    let newcomers = wary_strangers(&servers).await;
    for masters in [&masters, &newcomers] {
        let error = masters.multi_lock("x").try_acquire().await.unwrap_err();
        assert!(error.to_string().contains("1 of 3 masters started "), "{error}");
        assert!(!error.to_string().contains("bless"), "one has come back: {error}");
        // The others are a majority.
        let guard = masters.red_lock("y").try_acquire().await.unwrap().expect("it is free");
        guard.release().await.unwrap();
        drained(masters).await;
    }
}

// proves: no-forgetful-vote
/// The crash that a quorum without a memory does not survive: the hold stands on two of three, and
/// one of them forgets it. With the rule switched off it is granted twice.
#[tokio::test]
async fn master_that_forgot_its_vote_does_not_vote_again_while_it_may_be_counted_on() {
    let servers = Cluster::start(3);
    let holder = wary_masters(&servers).await;
    holder.bless().await.unwrap();
    hold_as_stranger(&servers[2], "x");
    let lock = holder.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE));
    let guard = lock.try_acquire().await.unwrap().expect("two of three grant it");
    // Two are enough: the third may not have been asked yet, and would grant.
    eventually("the third refuses", || servers[2].calls_of("pttl") > 0).await;
    servers[2].cli(&["DEL", "x"]);
    servers.kill(1);
    servers.restart_empty(1);
    assert_eq!(holder_on(&servers[0], "x").as_deref(), Some(guard.holder_id()));
    // It lets the keys stand, and does not write them again where they were forgotten.
    guard.orphan();

    let wary = masters(servers.iter().map(|server| wary(stranger(server)))).await;
    assert!(wary.red_lock("x").try_acquire().await.unwrap().is_none(), "granted twice");
    // What the third granted meanwhile is taken back.
    drained(&wary).await;

    let durable = servers.iter().map(|server| stranger(server).quarantine(Quarantine::Durable));
    let durable = masters(durable).await;
    let twice = durable.red_lock("x").try_acquire().await.unwrap();
    assert!(twice.is_some(), "without the rule the forgetful master votes");
    drop(twice);
    for masters in [&holder, &durable] {
        drained(masters).await;
    }
}

/// Renewals and releases go to a master in quarantine as to any other.
#[tokio::test]
async fn master_in_quarantine_still_renews_and_releases() {
    let servers = Cluster::start(3);
    let careless = masters(servers.iter().map(stranger)).await;
    let wary = wary_masters(&servers).await;
    counts_in(&wary.red_lock("x").try_acquire().await.unwrap_err());
    for rule in Rule::BOTH {
        let guard = rule.lock(&careless, "x").acquire().await.unwrap();
        assert!(guard.is_held());
        guard.release().await.unwrap();
    }
    for masters in [&careless, &wary] {
        drained(masters).await;
    }
    assert!(servers.iter().all(|server| server.keys().is_empty()));
}
