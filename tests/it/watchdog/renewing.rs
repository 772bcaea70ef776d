//! Renewals that get through, that do not, and that are answered with no.

use std::{thread, time::Duration};

use futures::future::{Either, select};
use palisade::{
    Client, Lease, LockGuard, LostCause,
    clock::{BootClock, Clock},
};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use crate::{
    fleet::{HANG, client, eventually, within},
    support::{acquired, promptly},
};

/// Renewed every three seconds; what stands still for less than twice that does no harm.
const LEASE: Duration = Duration::from_secs(9);

#[tokio::test]
async fn renewed_lock_is_held_beyond_its_lease() {
    let server = RedisServer::start();
    let client = connect(&server.url()).await;
    let guard = held(&client, "x").await;
    BootClock.sleep_until(guard.deadline() + LEASE / 10).await;
    guard.ensure_valid().unwrap();
    guard.release().await.unwrap();
    client.shutdown(HANG).await.unwrap();
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn fixed_lease_ends_when_it_says() {
    let server = RedisServer::start();
    let client = connect(&server.url()).await;
    let lock = client.lock("x").with_lease(Lease::Fixed(LEASE / 3));
    let guard = acquired(&lock).await;
    // Before the server lets another in.
    let deadline = guard.deadline();
    assert!(deadline < BootClock.now() + LEASE / 3);
    let before_it = BootClock.sleep_until(deadline - LEASE / 30);
    let first = select(before_it, Box::pin(guard.lost())).await;
    assert!(matches!(first, Either::Left(_)), "too early");
    BootClock.sleep_until(deadline).await;
    assert_eq!(promptly(&server, guard.lost()).await, LostCause::Expired);
}

#[test]
fn runtime_blocked_for_longer_than_a_lease_does_not_lose_its_lock() {
    const WORKERS: usize = 2;
    let server = RedisServer::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_all()
        .build()
        .unwrap();
    let (client, guard) = runtime.block_on(async {
        let client = connect(&server.url()).await;
        let guard = held(&client, "x").await;
        (client, guard)
    });
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(WORKERS + 1));
    for _ in 0..WORKERS {
        let barrier = barrier.clone();
        runtime.spawn(async move {
            barrier.wait();
            thread::sleep(LEASE * 3 / 2);
            barrier.wait();
        });
    }
    // Every worker is blocked between the two.
    barrier.wait();
    barrier.wait();
    guard.ensure_valid().unwrap();
    assert!(!server.keys().is_empty());
    runtime.block_on(guard.release()).unwrap();
    runtime.block_on(client.shutdown(HANG)).unwrap();
}

#[tokio::test]
async fn frozen_node_does_not_delay_the_renewals_of_others() {
    let [frozen, healthy] = [(); 2].map(|()| RedisServer::start());
    let [ill, well] = [connect(&frozen.url()).await, connect(&healthy.url()).await];
    let doomed = held(&ill, "x").await;
    let mut spared = Vec::new();
    for i in 0..50 {
        spared.push(held(&well, &format!("y:{i}")).await);
    }
    frozen.freeze();
    let cause = within(HANG, "the loss", doomed.lost()).await;
    let LostCause::NotRenewed(trouble) = &cause else { panic!("{cause}") };
    assert_eq!(trouble.node, *ill.node_id());
    assert!(trouble.reason.as_str().contains("timed out"), "{cause}");
    // As much later as it takes to lose those as well.
    BootClock.sleep_until(doomed.deadline() + LEASE / 2).await;
    assert!(spared.iter().all(LockGuard::is_held));
    frozen.thaw();
    drop((doomed, spared));
    for client in [ill, well] {
        client.shutdown(HANG).await.unwrap();
    }
    assert!(frozen.keys().is_empty());
    assert!(healthy.keys().is_empty());
}

// proves: no-answer-no-movement
#[tokio::test]
async fn renewal_without_an_answer_does_not_move_the_deadline() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = connect(&proxy.url()).await;
    let guard = held(&client, "x").await;
    // The watchdog's connection is there once it has renewed.
    let granted = guard.deadline();
    eventually("a renewal", || guard.deadline() != granted).await;
    // Each sets a ttl.
    let renewals = || server.calls_of("pexpire");
    let heard = renewals();
    proxy.set(Fault::Blackhole(Way::Replies));
    // One answer may have been on its way already.
    let first = guard.deadline();
    let mut last = first;
    let mut moved: u64 = 0;
    let watch = async {
        while guard.is_held() {
            let now = guard.deadline();
            if guard.is_held() && now != last {
                (last, moved) = (now, moved + 1);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    within(HANG, "the loss", watch).await;
    assert!(moved <= 1, "moved {moved} times");
    assert!(guard.lost().await.is_expiry());
    // What the server answered to them is not known here.
    assert!(renewals() > heard + moved, "no renewal was heard");
    proxy.heal();
    drop(guard);
    client.shutdown(HANG).await.unwrap();
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn lock_deleted_by_a_stranger_is_lost_at_the_next_renewal() {
    let server = RedisServer::start();
    let client = connect(&server.url()).await;
    let guard = held(&client, "x").await;
    server.flush();
    assert_eq!(within(HANG, "the loss", guard.lost()).await, LostCause::Gone);
}

#[tokio::test]
async fn foreign_key_in_a_batch_of_renewals_ends_that_hold_only() {
    let server = RedisServer::start();
    let client = connect(&server.url()).await;
    let mut guards = Vec::new();
    for i in 0..20 {
        guards.push(held(&client, &format!("x:{i}")).await);
    }
    server.cli(&["SET", "x:7", "not a lock"]);
    let hit = guards.remove(7);
    assert_eq!(within(HANG, "the loss", hit.lost()).await, LostCause::Gone);
    let before: Vec<_> = guards.iter().map(LockGuard::deadline).collect();
    let renewed = || guards.iter().zip(&before).all(|(guard, before)| guard.deadline() != *before);
    eventually("the next renewals", renewed).await;
    assert!(guards.iter().all(LockGuard::is_held));
    drop((hit, guards));
    client.shutdown(HANG).await.unwrap();
    assert_eq!(server.keys(), ["x:7"]);
    assert_eq!(server.cli(&["GET", "x:7"]), "not a lock");
}

#[tokio::test]
async fn scripts_flushed_all_the_time_are_sent_again() {
    let server = RedisServer::start();
    let client = connect(&server.url()).await;
    let guard = held(&client, "x").await;
    let lock = client.lock("y");
    for _ in 0..2 {
        let before = guard.deadline();
        while guard.deadline() == before {
            guard.ensure_valid().unwrap();
            server.cli(&["SCRIPT", "FLUSH"]);
            let other = lock.acquire().await.unwrap();
            server.cli(&["SCRIPT", "FLUSH"]);
            other.release().await.unwrap();
        }
    }
    guard.ensure_valid().unwrap();
    guard.release().await.unwrap();
    client.shutdown(HANG).await.unwrap();
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn connections_cut_again_and_again_do_not_lose_a_lock() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = connect(&proxy.url()).await;
    let guard = held(&client, "x").await;
    for _ in 0..4 {
        let before = guard.deadline();
        proxy.cut();
        eventually("the next renewal", || guard.deadline() != before).await;
        guard.ensure_valid().unwrap();
    }
    guard.ensure_valid().unwrap();
    guard.release().await.unwrap();
    client.shutdown(HANG).await.unwrap();
    eventually("nothing is left", || server.keys().is_empty()).await;
}

async fn connect(url: &str) -> Client {
    client(url).connect().await.unwrap()
}

async fn held(client: &Client, name: &str) -> LockGuard {
    acquired(&client.lock(name).with_lease(Lease::WatchdogOf(LEASE))).await
}
