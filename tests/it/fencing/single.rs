//! Tokens of a lock on one server.

use std::sync::Arc;

use palisade::{FencedGuard, FencedLock, FencingToken, OnOutage, error::NodeError};
use testkit::RedisServer;

use super::{Off, calls_since, counter, value};
use crate::support::{Look, causes, client, eventually, fixed, patient, soon, watchdog};

/// Acquires and releases.
async fn turn(lock: &FencedLock) -> FencingToken {
    let guard = soon(lock.acquire()).await.unwrap();
    let token = guard.fencing_token();
    guard.release().await.unwrap();
    token
}

#[tokio::test]
async fn tokens_increase_over_successive_holders() {
    let server = RedisServer::start();
    let clients = [client(&server).await, client(&server).await];
    let mut last = None;
    for i in 0..50 {
        let token = turn(&clients[i % 2].fenced_lock("x")).await;
        assert!(Some(token) > last, "{token} after {last:?}");
        assert_eq!(value(&server, &counter("x")), token.get());
        last = Some(token);
    }
    assert_eq!(server.keys(), [counter("x")]);
}

#[tokio::test]
async fn tokens_increase_while_many_contend() {
    let server = RedisServer::start();
    let clients = [client(&server).await, client(&server).await];
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let contenders = (0..8).map(|i| {
        let (lock, seen) = (clients[i % 2].fenced_lock("x"), seen.clone());
        tokio::spawn(async move {
            for _ in 0..10 {
                let note =
                    async |guard: &FencedGuard| seen.lock().unwrap().push(guard.fencing_token());
                soon(lock.with(note)).await.unwrap();
            }
        })
    });
    for contender in contenders.collect::<Vec<_>>() {
        contender.await.unwrap();
    }
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 80);
    assert!(seen.is_sorted_by(|one, next| one < next), "{seen:?}");
}

#[tokio::test]
async fn tokens_increase_on_a_clock_that_stands() {
    let server = RedisServer::start();
    let time = palisade::clock::Clock::unix_time(&palisade::clock::BootClock);
    let client = patient(&server).clock(Arc::new(Off::At(time))).connect().await.unwrap();
    let first = turn(&client.fenced_lock("x")).await;
    assert_eq!(u128::from(first.get()), time.as_micros());
    for further in 1..=20 {
        assert_eq!(turn(&client.fenced_lock("x")).await.get(), first.get() + further);
    }
}

#[tokio::test]
async fn token_is_kept_through_renewals() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x").with_lease(watchdog(9_000)).on_outage(OnOutage::Wait);
    let guard = soon(lock.acquire()).await.unwrap();
    let token = guard.fencing_token();
    for _ in 0..2 {
        let before = guard.deadline();
        eventually(|| guard.deadline() != before).await;
    }
    assert_eq!(guard.fencing_token(), token);
    assert_eq!(value(&server, &counter("x")), token.get());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn hold_that_expired_is_followed_by_a_greater_token() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x").with_lease(fixed(2_000)).on_outage(OnOutage::Wait);
    let stopped = soon(lock.acquire()).await.unwrap();
    let next = soon(lock.acquire()).await.unwrap();
    assert!(!stopped.is_held());
    assert!(next.fencing_token() > stopped.fencing_token());
}

/// Redisson's `lockAndGetToken` does not heed it.
#[tokio::test]
async fn fixed_lease_is_the_ttl() {
    let server = RedisServer::start();
    let lock = client(&server).await.fenced_lock("x").with_lease(fixed(60_000));
    let _guard = soon(lock.acquire()).await.unwrap();
    let ttl = server.pttl("x");
    assert!((1..=60_000).contains(&ttl), "{ttl}");
}

#[tokio::test]
async fn fenced_and_plain_locks_exclude_and_wake_each_other() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let (plain, fenced) = (client.lock("x"), client.fenced_lock("x"));
    let guard = fenced.acquire().await.unwrap();
    assert!(plain.try_acquire().await.unwrap().is_none());
    for holder in [plain.holder().await, fenced.holder().await] {
        assert_eq!(holder.unwrap().unwrap().id, guard.holder_id());
    }
    let waiter = tokio::spawn(async move { plain.acquire().await });
    eventually(|| server.subscribers("x") == 1).await;
    guard.release().await.unwrap();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert!(fenced.try_acquire().await.unwrap().is_none());
    assert!(fenced.is_locked().await.unwrap());
    let waiter = tokio::spawn(async move { fenced.acquire().await });
    eventually(|| server.subscribers("x") == 1).await;
    guard.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn fenced_lock_costs_a_get_and_a_set_more_than_a_plain_one() {
    let server = RedisServer::start();
    let client = client(&server).await;
    client.lock("warm").acquire().await.unwrap().release().await.unwrap();
    client.fenced_lock("warm").acquire().await.unwrap().release().await.unwrap();
    // Each connection names itself last, and the watchdog has its own from the first hold on.
    eventually(|| server.calls_of("client") == 2).await;
    let plain = ["evalsha", "hdel", "hset", "pexpire", "pttl", "publish", "time"];
    let plain = plain.map(|command| (command, 1)).into_iter();
    let fenced = plain.clone().chain([("get", 1), ("set", 1)]);

    let before = server.calls();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(calls_since(&server, &before), named(plain));

    let before = server.calls();
    client.fenced_lock("x").acquire().await.unwrap().release().await.unwrap();
    assert_eq!(calls_since(&server, &before), named(fenced));
}

fn named<'a>(
    calls: impl Iterator<Item = (&'a str, u64)>,
) -> std::collections::BTreeMap<String, u64> {
    calls.map(|(command, count)| (command.to_owned(), count)).collect()
}

#[tokio::test]
async fn what_is_no_counter_is_an_error_that_waiting_does_not_cure() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x").on_outage(OnOutage::Wait);
    for command in [
        ["SET", &counter("x"), "not a number"].as_slice(),
        ["SET", &counter("x"), "9007199254740991"].as_slice(),
        ["HSET", &counter("x"), "a", "b"].as_slice(),
    ] {
        server.flush();
        server.cli(command);
        let error = soon(lock.acquire()).await.unwrap_err();
        assert!(matches!(causes(&error)[..], [NodeError::ForeignCounter]), "{error}");
        assert_eq!(server.keys(), [counter("x")]);
    }
    // The plain lock does not care.
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn force_release_keeps_the_order() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x");
    let guard = lock.acquire().await.unwrap();
    assert!(lock.force_release().await.unwrap());
    let next = soon(lock.acquire()).await.unwrap();
    assert!(next.fencing_token() > guard.fencing_token());
    next.release().await.unwrap();
}
