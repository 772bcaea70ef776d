//! What is never healed.

use std::time::Duration;

use palisade::{Lease, LostCause, Masters, Owner, embedded::Server};

use super::{D, Fleet, LEASE, PERIOD, forget, masters, votes_return};

#[tokio::test(start_paused = true)]
async fn fixed_lease_is_not_healed() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let lock = fleet.masters.red_lock("x").with_lease(Lease::Fixed(Duration::from_secs(50)));
    let guard = lock.acquire().await.unwrap();
    fleet.servers[2].restart();
    tokio::time::sleep(Duration::from_secs(49)).await;
    assert_eq!(guard.votes(), 2);
    assert_eq!(guard.lost().await, LostCause::Expired);
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn fixed_lease_that_is_reentered_with_a_renewed_one_is_healed_from_then_on() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let (lock, owner) = (fleet.masters.red_lock("x"), Owner::new());
    let fixed = lock.clone().with_lease(Lease::Fixed(Duration::from_secs(50)));
    let guard = fixed.acquire_as(&owner).await.unwrap();
    fleet.servers[2].restart();
    let again = lock.acquire_as(&owner).await.unwrap();
    votes_return(&guard, 3, D + PERIOD * 3).await;
    drop((guard, again));
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn multi_lock_is_never_healed() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.multi_lock("x").acquire().await.unwrap();
    assert_eq!((guard.votes(), guard.margin()), (3, 2));
    forget(&fleet.servers[1]).await;
    let lost = guard.lost().await;
    assert!(matches!(lost, LostCause::MemberGone { .. }), "{lost:?}");
    assert_eq!((guard.votes(), guard.margin()), (0, 0));
    tokio::time::sleep(D + LEASE).await;
    assert_eq!(fleet.holders("x").await[1], None);
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn hold_past_its_max_hold_is_not_healed() {
    let fleet = Fleet::start(3);
    let limited = |server: &palisade::embedded::Server| {
        server.client_builder().max_hold(Duration::from_secs(1)).build().unwrap()
    };
    let masters = palisade::Masters::new(fleet.servers.iter().map(limited)).unwrap();
    let guard = masters.red_lock("x").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    forget(&fleet.servers[0]).await;
    tokio::time::sleep(LEASE * 4 / 5).await;
    assert_eq!(guard.votes(), 2);
    assert_eq!(guard.lost().await, LostCause::Expired);
    drop(guard);
    fleet.end(&[&masters]).await;
}

// proves: lost-not-healed
#[tokio::test(start_paused = true)]
async fn hold_that_was_lost_is_not_revived_by_a_heal() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    for server in fleet.servers.iter().take(2) {
        forget(server).await;
    }
    assert_eq!(guard.lost().await, LostCause::QuorumGone);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(guard.votes(), 0);
    assert!(guard.ensure_valid().is_err());
    assert!(guard.reenter().is_err());
    // It may be granted to others, although its guard is still there.
    let other = masters(&fleet.servers);
    let next = other.red_lock("x").acquire().await.unwrap();
    assert!(!guard.is_held() && next.is_held());
    drop((guard, next));
    fleet.end(&[&other]).await;
}

/// A short hold has no time for heals: they cost it nothing.
#[tokio::test(start_paused = true)]
async fn short_hold_sends_no_more_than_its_acquire_and_its_release() {
    let mut fleet = Fleet::start(3);
    // What it costs to be told of the keys is another matter.
    let untold = |server: &Server| server.client_builder().tracking(false).build().unwrap();
    fleet.masters = Masters::new(fleet.servers.iter().map(untold)).unwrap();
    let lock = fleet.masters.red_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
    let commands =
        || -> Vec<u64> { fleet.servers.iter().map(|server| server.commands_processed()).collect() };
    let pair = async || {
        let before = commands();
        let guard = lock.acquire().await.unwrap();
        tokio::time::sleep(PERIOD / 2).await;
        guard.release().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        commands().iter().zip(before).map(|(now, before)| now - before).collect::<Vec<_>>()
    };
    let first = pair().await;
    // Each is one script, and each script a few commands: the same for all members.
    assert!(first.iter().all(|n| *n == first[0]), "{first:?}");
    fleet.servers[2].freeze();
    let without_third = pair().await;
    assert_eq!(without_third[..2], first[..2]);
    fleet.servers[2].thaw();
    fleet.end(&[]).await;
}
