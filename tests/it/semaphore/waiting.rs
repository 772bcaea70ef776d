//! Waiters for permits.

use std::time::Duration;

use palisade::{Semaphore, embedded::Server, semaphore::SemaphoreGuard as Guard};
use testkit::RedisServer;
use tokio::{task::JoinHandle, time::Instant};

use super::{CHANNEL, listeners, semaphore};
use crate::{
    names::Events,
    support::{eventually, ms, promptly, soon},
};

/// Waits for permits in a task; returns when it listens.
async fn waiter(server: &RedisServer, semaphore: &Semaphore, permits: u32) -> JoinHandle<Guard> {
    let semaphore = semaphore.clone();
    let waiter = tokio::spawn(async move { semaphore.acquire_many(permits).await.unwrap() });
    eventually(|| listeners(server) > 0).await;
    waiter
}

#[tokio::test]
async fn release_by_another_client_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (semaphore(&server, 2).await, semaphore(&server, 2).await);
    for _ in 0..5 {
        eventually(|| listeners(&server) == 0).await;
        let guard = soon(one.acquire_many(2)).await.unwrap();
        let waiter = waiter(&server, &other, 1).await;
        guard.release().await.unwrap();
        promptly(&server, waiter).await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn whatever_brings_permits_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (semaphore(&server, 0).await, semaphore(&server, 0).await);
    for way in 0..4 {
        eventually(|| listeners(&server) == 0).await;
        let waiter = waiter(&server, &other, 2).await;
        match way {
            0 => one.add(2).await.unwrap(),
            1 => one.release(2).await.unwrap(),
            2 => assert!(one.release_if_exists(2).await.unwrap()),
            _ => {
                assert!(one.delete().await.unwrap());
                assert!(one.try_set_permits(2).await.unwrap());
            }
        }
        promptly(&server, waiter).await.unwrap().release().await.unwrap();
        assert_eq!(one.drain().await.unwrap(), 2);
    }
}

/// A message says how many there are now, and nothing more.
#[tokio::test]
async fn message_lets_nobody_in_while_there_are_too_few() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    let waiter = waiter(&server, &semaphore, 3).await;
    for (count, message) in [("1", "5"), ("2", "nonsense")] {
        let looks = server.calls_of("hget");
        server.cli(&["SET", "x", count]);
        server.cli(&["PUBLISH", CHANNEL, message]);
        eventually(|| server.calls_of("hget") > looks).await;
        assert!(!waiter.is_finished());
    }
    server.cli(&["SET", "x", "3"]);
    server.cli(&["PUBLISH", CHANNEL, "3"]);
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn permits_that_nobody_announced_are_seen_all_the_same() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    let began = Instant::now();
    let set = async {
        tokio::time::sleep(ms(100)).await;
        let _: () = crate::outside::ask(&server, &["SET", "x", "1"]).await;
    };
    let (guard, ()) = tokio::join!(semaphore.acquire(), set);
    guard.unwrap().release().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn large_request_is_not_passed_by_small_ones_of_the_same_client() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    semaphore.try_set_permits(3).await.unwrap();
    let held = semaphore.acquire().await.unwrap();
    let large = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { (semaphore.acquire_many(3).await.unwrap(), Instant::now()) }
    });
    tokio::time::sleep(ms(50)).await;
    let small: Vec<_> = (0..3)
        .map(|_| {
            let semaphore = semaphore.clone();
            tokio::spawn(async move { (semaphore.acquire().await.unwrap(), Instant::now()) })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(
        small.iter().all(|small| !small.is_finished()),
        "there are two, and who waits is first"
    );
    held.release().await.unwrap();
    let (guard, first) = large.await.unwrap();
    guard.release().await.unwrap();
    for small in small {
        assert!(small.await.unwrap().1 >= first);
    }
}

/// One message brings several: each waiter that is granted lets the next one look.
#[tokio::test(start_paused = true)]
async fn many_who_wait_are_let_in_together() {
    let server = Server::start_here();
    let (one, other) =
        (server.client().unwrap().semaphore("x"), server.client().unwrap().semaphore("x"));
    let waiters: Vec<_> = (0..16)
        .map(|i| {
            let semaphore = if i % 2 == 0 { one.clone() } else { other.clone() };
            tokio::spawn(async move { (semaphore.acquire().await.unwrap(), Instant::now()) })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let set = Instant::now();
    one.try_set_permits(16).await.unwrap();
    let mut guards = Vec::new();
    for waiter in waiters {
        let (guard, at) = waiter.await.unwrap();
        assert!(at - set < ms(200), "{:?}", at - set);
        guards.push(guard);
    }
    assert!(one.try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn try_acquire_for_gives_up_when_its_time_is_over() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 1).await;
    let began = std::time::Instant::now();
    assert!(soon(semaphore.try_acquire_many_for(2, ms(150))).await.unwrap().is_none());
    assert!(began.elapsed() >= ms(150));
    assert!(soon(semaphore.try_acquire_for(ms(0))).await.unwrap().is_some());
    eventually(|| listeners(&server) == 0).await;
}

/// Releases are everyday: no holder doubts its own permits for that.
#[tokio::test]
async fn releases_of_others_cost_holders_no_question() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 3).await;
    let _guard = semaphore.acquire_many(2).await.unwrap();
    let waiter = waiter(&server, &semaphore, 2).await;
    let other = super::semaphore(&server, 0).await;
    for _ in 0..5 {
        other.acquire().await.unwrap().release().await.unwrap();
    }
    assert_eq!(server.calls_of("hexists"), 0);
    waiter.abort();
}

/// Permits have no lease: no end of them is expected.
#[tokio::test(start_paused = true)]
async fn wait_for_permits_that_do_not_end_is_nothing_to_warn_of() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    assert!(semaphore.try_set_permits(1).await.unwrap());
    let _held = semaphore.acquire().await.unwrap();
    Events::keep();
    assert!(semaphore.try_acquire_for(ms(300)).await.unwrap().is_none());
    assert_eq!(Events::kept_values("why"), [""; 0]);
}
