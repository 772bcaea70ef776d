//! What was granted in vain, late or unknowingly does not stay.

use std::time::{Duration, Instant};

use palisade::{AcquireError, Lease, LostCause, ReleaseError, Released, error::Vote};
use testkit::{Fault, FaultProxy, Way};

use crate::fleet::{
    Fleet, Rule, SOON, client, drained, eventually, hold_as_stranger, holder_on, masters, within,
};

#[tokio::test]
async fn lost_round_leaves_no_key_not_even_on_a_frozen_node() {
    let fleet = Fleet::start(5).await;
    for i in [0, 1, 2] {
        hold_as_stranger(&fleet.servers[i], "x");
    }
    fleet.servers.freeze(4);
    let started = Instant::now();
    assert!(fleet.masters.red_lock("x").try_acquire().await.unwrap().is_none());
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    fleet.servers.thaw(4);
    drained(&fleet.masters).await;
    for i in [3, 4] {
        assert_eq!(holder_on(&fleet.servers[i], "x"), None);
    }
}

/// Waiters that are woken by that ask in vain, and tell others the same: for as long as the lock is held.
#[tokio::test]
async fn lost_round_tells_of_no_release_where_nothing_was_granted() {
    let fleet = Fleet::start(3).await;
    let proxy = FaultProxy::before(&fleet.servers[2]);
    let [one, two] = [0, 1].map(|i| client(&fleet.servers[i].url()));
    let slow = masters([one, two, client(&proxy.url())]).await;
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    eventually("all grant", || fleet.servers.iter().all(|s| holder_on(s, "x").is_some())).await;
    // It is decided before the third has answered.
    proxy.set(Fault::Delay(Duration::from_millis(30)));
    for _ in 0..5 {
        assert!(slow.red_lock("x").try_acquire().await.unwrap().is_none());
    }
    drained(&slow).await;
    let told: u64 = fleet.servers.iter().map(|server| server.calls_of("publish")).sum();
    assert_eq!(told, 0);
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn outage_leaves_no_key_not_even_on_a_frozen_node() {
    // A lease whose tenth, the time of a vote, is short.
    let lease = Lease::WatchdogOf(Duration::from_secs(3));
    let fleet = Fleet::start(3).await;
    let lock = fleet.masters.multi_lock("x").with_lease(lease);
    fleet.servers.freeze(1);
    let error = lock.try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error}");
    fleet.servers.thaw(1);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn late_grant_joins_the_hold_and_carries_it() {
    let fleet = Fleet::start(3).await;
    let proxy = FaultProxy::before(&fleet.servers[2]);
    let [one, two] = [0, 1].map(|i| client(&fleet.servers[i].url()));
    let slow = masters([one, two, client(&proxy.url())]).await;
    proxy.set(Fault::Stall(Way::Requests));
    let guard = slow.red_lock("x").acquire().await.unwrap();
    assert_eq!(holder_on(&fleet.servers[2], "x"), None);
    proxy.heal();
    eventually("the late grant", || {
        holder_on(&fleet.servers[2], "x").as_deref() == Some(guard.holder_id())
    })
    .await;
    // With one of the first two gone the late one is what makes the majority.
    fleet.servers[0].cli(&["DEL", "x"]);
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    drained(&slow).await;
    fleet.end(&[]).await;
}

#[tokio::test]
async fn grant_that_is_later_than_the_release_is_released_too() {
    let fleet = Fleet::start(3).await;
    let proxy = FaultProxy::before(&fleet.servers[2]);
    let [one, two] = [0, 1].map(|i| client(&fleet.servers[i].url()));
    let slow = masters([one, two, client(&proxy.url())]).await;
    proxy.set(Fault::Stall(Way::Requests));
    slow.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    proxy.heal();
    drained(&slow).await;
    fleet.end(&[]).await;
}

#[tokio::test]
async fn grant_whose_answer_is_lost_is_released() {
    let fleet = Fleet::start(2).await;
    let proxy = FaultProxy::before(&fleet.servers[1]);
    let deaf = masters([client(&fleet.servers[0].url()), client(&proxy.url())]).await;
    // A tenth of it is waited for; executed later than that, the acquire is stale.
    let lock = deaf.multi_lock("x").with_lease(Lease::WatchdogOf(Duration::from_secs(60)));
    proxy.set(Fault::Blackhole(Way::Replies));
    let error = lock.try_acquire().await.unwrap_err();
    let AcquireError::Unavailable { ballot, .. } = &error else { panic!("{error}") };
    let (_, cause) = ballot.failures().next().unwrap();
    assert!(cause.is_unknown(), "{cause}");
    assert!(fleet.servers[1].calls_of("hset") > 0, "the server never granted");
    proxy.heal();
    drained(&deaf).await;
    fleet.end(&[]).await;
}

#[tokio::test]
async fn release_does_not_wait_for_a_frozen_minority() {
    let fleet = Fleet::start(3).await;
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    eventually("all grant", || fleet.servers.iter().all(|s| holder_on(s, "x").is_some())).await;
    fleet.servers.freeze(0);
    let started = Instant::now();
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    fleet.servers.thaw(0);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn release_that_one_member_cannot_confirm_frees_all_others() {
    let fleet = Fleet::start(3).await;
    let guard = fleet.masters.multi_lock("x").acquire().await.unwrap();
    fleet.servers.kill(0);
    let error = guard.release().await.unwrap_err();
    let ReleaseError::Unconfirmed { ballot, .. } = &error else { panic!("{error}") };
    let votes: Vec<_> = ballot.iter().map(|(_, vote)| vote).collect();
    let expected = matches!(votes[..], [Vote::Failed(_), Vote::Granted, Vote::Granted]);
    assert!(expected, "{ballot}");
    assert!(fleet.servers[1].keys().is_empty());
    assert!(fleet.servers[2].keys().is_empty());
    fleet.servers.restart(0);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn release_of_a_hold_that_most_servers_forgot_says_that_it_was_lost() {
    let fleet = Fleet::start(3).await;
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    eventually("all grant", || fleet.servers.iter().all(|s| holder_on(s, "x").is_some())).await;
    fleet.servers[0].flush();
    fleet.servers[2].flush();
    let error = guard.release().await.unwrap_err();
    let ReleaseError::Lost(lost) = &error else { panic!("{error}") };
    assert_eq!(lost.cause, LostCause::QuorumGone);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn dropped_guard_frees_every_member() {
    let fleet = Fleet::start(3).await;
    for rule in Rule::BOTH {
        let lock = rule.lock(&fleet.masters, "x");
        drop(lock.acquire().await.unwrap());
        let next = within(SOON, "a drop is a release", lock.acquire()).await;
        drop(next.unwrap());
    }
    fleet.end(&[]).await;
}
