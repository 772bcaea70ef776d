//! What ends a hold over several servers, and what does not.

use std::time::Duration;

use palisade::{
    LockGuard, LostCause, Owner, Released,
    clock::{BootClock, Clock},
};

use crate::{
    fleet::{Fleet, HANG, NODE_TIMEOUT, Rule, count_on, eventually, holder_on, within},
    support::promptly,
};

/// Renewed every three seconds; what stands still for less than twice that does no harm.
const LEASE: Duration = Duration::from_secs(9);

#[tokio::test]
async fn losing_a_minority_is_not_a_loss() {
    let fleet = Fleet::start(3).await;
    let guard = held_by_all(&fleet, Rule::Majority).await;
    fleet.servers.kill(1);
    goes_on(&guard).await;
    fleet.servers.restart_empty(1);
    goes_on(&guard).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn frozen_minority_is_not_a_loss() {
    let fleet = Fleet::start(3).await;
    let guard = held_by_all(&fleet, Rule::Majority).await;
    fleet.servers.freeze(0);
    goes_on(&guard).await;
    fleet.servers.thaw(0);
    goes_on(&guard).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn majority_killed_is_lost_by_the_deadline() {
    let fleet = Fleet::start(3).await;
    let guard = held_by_all(&fleet, Rule::Majority).await;
    fleet.servers.kill(0);
    fleet.servers.kill(2);
    let killed = BootClock.now();
    assert!(guard.deadline() < killed + LEASE, "moved by nobody");
    BootClock.sleep_until(killed + LEASE).await;
    let cause = promptly(&fleet.servers[1], guard.lost()).await;
    assert!(cause.is_expiry());
    assert!(guard.ensure_valid().is_err());
    assert!(guard.reenter().is_err());
    drop(guard);
    fleet.servers.restart(0);
    fleet.servers.restart(2);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn majority_that_forgot_is_lost_with_the_quorum() {
    let fleet = Fleet::start(3).await;
    let guard = held_by_all(&fleet, Rule::Majority).await;
    fleet.servers[0].flush();
    fleet.servers[1].flush();
    // Before the deadline, or it would have expired.
    assert_eq!(within(HANG, "the loss", guard.lost()).await, LostCause::QuorumGone);
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn member_of_a_multi_lock_gone_is_lost_with_its_name() {
    let fleet = Fleet::start(3).await;
    let guard = held_by_all(&fleet, Rule::All).await;
    fleet.servers[1].cli(&["DEL", "x"]);
    let cause = within(HANG, "the loss", guard.lost()).await;
    let node = fleet.masters.clients()[1].node_id().clone();
    assert!(matches!(cause, LostCause::MemberGone { .. }), "{cause:?}");
    assert_eq!(cause.to_string(), format!("{node} no longer knows \"x\""));
    // Its work may still be stopping: the other keys stand until the guard is gone.
    assert!(holder_on(&fleet.servers[0], "x").is_some());
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn master_restarted_empty_ends_a_multi_lock() {
    let fleet = Fleet::start(2).await;
    let guard = held_by_all(&fleet, Rule::All).await;
    fleet.servers.restart_empty(0);
    let cause = within(HANG, "the loss", guard.lost()).await;
    let gone = format!("{} no longer knows \"x\"", fleet.masters.clients()[0].node_id());
    assert!(cause.is_expiry() || cause.to_string() == gone, "{cause}");
    drop(guard);
    fleet.end(&[]).await;
}

#[tokio::test]
async fn masters_restarted_with_their_data_in_quick_succession_keep_a_red_lock() {
    // By the caller's word they never forget; `healing::rewritten` has those that may.
    let durable =
        testkit::RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always");
    let servers = testkit::Cluster::start_with(3, &durable);
    let fleet = Fleet::over(servers, NODE_TIMEOUT).await;
    // Longer than two restarts on a busy machine: what is renewed at once when a server is back does not
    // wait for a third of it.
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    eventually("all grant", || fleet.servers.iter().all(|s| holder_on(s, "x").is_some())).await;
    let before = guard.deadline();
    fleet.servers.restart(0);
    fleet.servers.restart(1);
    eventually("they confirm it", || guard.deadline() > before && guard.votes() == 3).await;
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test]
async fn reentry_of_an_owner_counts_on_every_member() {
    let fleet = Fleet::start(3).await;
    let other = fleet.another_process().await;
    for rule in Rule::BOTH {
        let owner = Owner::new();
        let outer = acquire_as(&fleet, rule, &owner).await;
        let inner = acquire_as(&fleet, rule, &owner).await;
        assert_eq!(outer.holder_id(), inner.holder_id());
        let all_count = |count: &'static str| {
            let servers = &fleet.servers;
            move || servers.iter().all(|s| count_on(s, "x").as_deref() == Some(count))
        };
        eventually("a count of two", all_count("2")).await;
        // In the order in which they came, which is not that of a stack.
        assert_eq!(outer.release().await.unwrap(), Released::StillHeld { guards: 1 });
        eventually("a count of one", all_count("1")).await;
        assert!(rule.lock(&other, "x").try_acquire().await.unwrap().is_none());
        assert_eq!(inner.release().await.unwrap(), Released::Freed);
        let fresh = within(HANG, "a new hold", acquire_as(&fleet, rule, &owner)).await;
        fresh.release().await.unwrap();
    }
    fleet.end(&[other]).await;
}

async fn acquire_as(fleet: &Fleet, rule: Rule, owner: &Owner) -> LockGuard {
    match rule {
        Rule::All => fleet.masters.multi_lock("x").acquire_as(owner).await.unwrap(),
        Rule::Majority => fleet.masters.red_lock("x").acquire_as(owner).await.unwrap(),
    }
}

/// The lock `x` with a short lease, granted by every server.
async fn held_by_all(fleet: &Fleet, rule: Rule) -> LockGuard {
    let guard = rule.lock(&fleet.masters, "x").brief(LEASE).acquire().await.unwrap();
    eventually("all grant", || fleet.servers.iter().all(|s| holder_on(s, "x").is_some())).await;
    guard
}

/// Renewals that were sent from now on move the deadline, twice.
async fn goes_on(guard: &LockGuard) {
    for _ in 0..2 {
        let from_now_on = BootClock.now() + LEASE;
        eventually("a renewal", || {
            guard.ensure_valid().unwrap();
            guard.deadline() + DRIFT > from_now_on
        })
        .await;
    }
}

/// By how much a deadline lies before the end of the lease that a renewal has begun.
const DRIFT: Duration = Duration::from_millis(92);
