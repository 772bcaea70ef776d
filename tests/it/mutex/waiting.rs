//! Waiters: woken by a release, by the end of a lease, and in order.

use std::sync::{Arc, Mutex};

use futures::future::join_all;
use palisade::{Client, LockGuard};
use testkit::{FaultProxy, RedisServer, Reply};
use tokio::task::JoinHandle;

use crate::support::{HANG, Look, client, eventually, fixed, ms, patient, promptly, soon, within};

type Acquired = Result<LockGuard, palisade::AcquireError>;

/// Waits for the lock in a task; returns when it listens.
async fn waiter(server: &RedisServer, client: &Client) -> JoinHandle<Acquired> {
    eventually(|| server.subscribers("x") == 0).await;
    let lock = client.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually(|| server.subscribers("x") == 1).await;
    waiter
}

#[tokio::test]
async fn release_by_another_client_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    for _ in 0..5 {
        let guard = one.lock("x").acquire().await.unwrap();
        let waiter = waiter(&server, &other).await;
        guard.release().await.unwrap();
        promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn dropped_guard_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let guard = one.lock("x").acquire().await.unwrap();
    let waiter = waiter(&server, &other).await;
    drop(guard);
    drop(promptly(&server, waiter).await.unwrap().unwrap());
}

// proves: wake-up-is-hint
#[tokio::test]
async fn end_of_the_holders_lease_wakes_the_waiter_although_nothing_is_published() {
    let server = RedisServer::start();
    let client = client(&server).await;
    server.command(&["HSET", "x", "somebody:1", "1"]);
    server.command(&["PEXPIRE", "x", "1500"]);
    let guard = promptly(&server, client.lock("x").acquire()).await.unwrap();
    assert_eq!(server.hash("x").keys().collect::<Vec<_>>(), [guard.holder_id()]);
}

#[tokio::test]
async fn holder_without_a_ttl_is_waited_for_too() {
    let server = RedisServer::start();
    let client = client(&server).await;
    server.command(&["HSET", "x", "somebody:1", "1"]);
    let lock = client.lock("x");
    assert!(lock.try_acquire_for(ms(100)).await.unwrap().is_none());
    let waiter = waiter(&server, &client).await;
    assert!(lock.force_release().await.unwrap());
    drop(promptly(&server, waiter).await.unwrap().unwrap());
}

// proves: wake-up-is-hint
#[tokio::test]
async fn waiter_whose_subscription_was_cut_is_served_all_the_same() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    for _ in 0..5 {
        let guard = one.lock("x").acquire().await.unwrap();
        let waiter = waiter(&server, &other).await;
        server.command(&["CLIENT", "KILL", "TYPE", "pubsub"]);
        // Announced without a listener.
        guard.release().await.unwrap();
        promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn waiter_that_may_not_listen_gets_the_lock_by_asking() {
    let server = RedisServer::start();
    server.cli(&["ACL", "SETUSER", "deaf", "on", ">pw", "~*", "resetchannels", "+@all"]);
    let deaf = patient(&server).url(&server.url_with("deaf", "pw")).connect().await.unwrap();
    let holders = client(&server).await;
    let guard = holders.lock("x").acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = deaf.lock("x");
        async move { lock.acquire().await }
    });
    let refused = || server.cli(&["ACL", "LOG"]).contains("redisson_lock__channel:{x}");
    eventually(refused).await;
    guard.release().await.unwrap();
    let guard = promptly(&server, waiter).await.unwrap().unwrap();
    // It may not announce its release either; the lock is free all the same.
    guard.release().await.unwrap();
    assert_eq!(server.size(), 0);
}

/// New connections get no answer; that by which it asks goes on.
#[tokio::test]
async fn waiter_whose_subscription_is_not_answered_gets_the_lock_by_asking() {
    let (server, silent) = (RedisServer::start(), RedisServer::start());
    let proxy = FaultProxy::before(&server);
    let guard = client(&server).await.lock("x").acquire().await.unwrap();
    let far = patient(&server).url(&proxy.url()).connect().await.unwrap();
    silent.freeze();
    proxy.lead_to(&silent);
    let asked = || server.calls_of("evalsha");
    let before = asked();
    let lock = far.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    // The second time it has waited for the subscription, as long as it does.
    eventually(|| asked() >= before + 2).await;
    guard.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn waiter_that_is_dropped_passes_its_wake_up_on() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    for round in 0..20 {
        let guard = one.lock("x").acquire().await.unwrap();
        let first = waiter(&server, &other).await;
        let lock = other.lock("x");
        let second = tokio::spawn(async move { lock.acquire().await });
        tokio::task::yield_now().await;
        guard.release().await.unwrap();
        // Before, while or after it is woken, asks, and is granted.
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        first.abort();
        drop(first.await);
        promptly(&server, second).await.unwrap().unwrap().release().await.unwrap();
        eventually(|| server.size() == 0 && server.subscribers("x") == 0).await;
    }
}

#[tokio::test]
async fn waiters_of_two_clients_are_all_served() {
    let server = RedisServer::start();
    let clients = [client(&server).await, client(&server).await];
    let guard = clients[0].lock("x").acquire().await.unwrap();
    let waits = clients.iter().flat_map(|client| std::iter::repeat_n(client.lock("x"), 25));
    let waits: Vec<_> = waits
        .map(|lock| {
            tokio::spawn(async move {
                lock.acquire().await?.release().await.unwrap();
                Ok::<_, palisade::AcquireError>(())
            })
        })
        .collect();
    eventually(|| server.subscribers("x") == 2).await;
    guard.release().await.unwrap();
    for wait in soon(join_all(waits)).await {
        wait.unwrap().unwrap();
    }
    // The last one to wait for its turn gives that up in the background: the server has to learn how, the first time.
    eventually(|| server.keys().is_empty()).await;
}

#[tokio::test]
async fn try_acquire_passes_those_who_wait() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = client.lock("x").with_lease(fixed(60_000)).acquire().await.unwrap();
    let waiter = waiter(&server, &client).await;
    assert!(soon(client.lock("x").try_acquire()).await.unwrap().is_none());
    guard.release().await.unwrap();
    drop(soon(waiter).await.unwrap().unwrap());
}

#[tokio::test]
async fn thousand_waiters_of_one_client_are_served_in_order_over_one_subscription() {
    const WAITERS: usize = 1_000;
    let server = RedisServer::start();
    let client = client(&server).await;
    let served = Arc::new(Mutex::new(Vec::new()));
    let wait = |i: usize| {
        let (lock, served) = (client.lock("x"), served.clone());
        tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            served.lock().unwrap().push(i);
            guard.release().await.unwrap();
        })
    };
    let guard = client.lock("x").acquire().await.unwrap();
    // With one in line, the others take their places when they are polled first: in this order.
    let mut waits = vec![wait(0)];
    eventually(|| server.subscribers("x") == 1).await;
    waits.extend((1..WAITERS).map(wait));
    tokio::task::yield_now().await;
    let channels = server.command(&["PUBSUB", "CHANNELS", "redisson*"]);
    assert_eq!(channels.array().len(), 1);
    assert_eq!(server.subscribers("x"), 1);

    let before = server.top_level_commands();
    guard.release().await.unwrap();
    for wait in within(4 * HANG, join_all(waits)).await {
        wait.unwrap();
    }
    let commands = server.top_level_commands() - before;
    assert!(served.lock().unwrap().is_sorted(), "not first come, first served");
    assert!(commands <= 4 * WAITERS as u64, "{commands} commands");
    eventually(|| client.subscriptions() == 0).await;
    eventually(|| server.command(&["PUBSUB", "CHANNELS"]) == Reply::Array(Vec::new())).await;
    assert_eq!(server.size(), 0);
}
