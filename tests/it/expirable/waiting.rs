//! Waiters for permits.

use std::time::Duration;

use palisade::embedded::Server;
use testkit::RedisServer;
use tokio::time::Instant;

use super::{listeners, semaphore};
use crate::support::{eventually, ms, promptly, soon};

#[tokio::test]
async fn whatever_brings_permits_wakes_the_waiter() {
    let server = RedisServer::start();
    let (one, other) = (semaphore(&server, 2).await, semaphore(&server, 2).await);
    for way in 0..3 {
        eventually(|| listeners(&server) == 0).await;
        let guard = soon(one.acquire_many(2)).await.unwrap();
        let waiter = tokio::spawn({
            let semaphore = other.clone();
            async move { semaphore.acquire().await.unwrap() }
        });
        eventually(|| listeners(&server) > 0).await;
        match way {
            0 => guard.release().await.unwrap(),
            1 => assert!(one.release_permit(guard.holder_id()).await.unwrap()),
            _ => one.add(1).await.unwrap(),
        }
        promptly(&server, waiter).await.unwrap().release().await.unwrap();
    }
}

/// It is not announced.
#[tokio::test(start_paused = true)]
async fn end_of_a_lease_is_not_slept_through() {
    let server = Server::start_here();
    let client = server.client_builder().clock_skew(ms(5_000)).build().unwrap();
    let semaphore = client.expirable_semaphore("x");
    semaphore.try_set_permits(1).await.unwrap();
    let began = Instant::now();
    let leased = semaphore.clone().with_lease(crate::support::fixed(700));
    leased.acquire().await.unwrap().orphan();
    let guard = semaphore.acquire().await.unwrap();
    // Not ten seconds later: that is for holders that go by other clocks than the server's.
    assert!((ms(700)..ms(800)).contains(&began.elapsed()), "{:?}", began.elapsed());
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn large_request_is_not_passed_by_small_ones_of_the_same_client() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().expirable_semaphore("x");
    semaphore.try_set_permits(3).await.unwrap();
    let held = semaphore.acquire().await.unwrap();
    let large = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.acquire_many(3).await.unwrap() }
    });
    tokio::time::sleep(ms(50)).await;
    let small = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.acquire().await.unwrap() }
    });
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!small.is_finished(), "there are two, and who waits is first");
    held.release().await.unwrap();
    let large = large.await.unwrap();
    assert!(!small.is_finished());
    large.release().await.unwrap();
    small.await.unwrap().release().await.unwrap();
}
