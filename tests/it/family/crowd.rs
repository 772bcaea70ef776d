//! Very many waiters in one queue of a server.

use std::time::Instant;

use futures::future::join_all;
use testkit::RedisServer;

use crate::{
    fleet::HANG,
    support::{Look, client, eventually, soon, within},
};

const MANY: i64 = 1_000;

fn queued(server: &RedisServer) -> i64 {
    server.command(&["LLEN", "redisson_lock_queue:{x}"]).int()
}

#[tokio::test]
async fn thousand_who_wait_are_served_one_after_the_other() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let held = client.fair_lock("x").acquire().await.unwrap();
    let waits = (0..MANY).map(|_| {
        let lock = client.fair_lock("x");
        tokio::spawn(async move { lock.acquire().await.unwrap().release().await.unwrap() })
    });
    let waits: Vec<_> = waits.collect();
    eventually(|| queued(&server) == MANY).await;
    let (calls, began) = (server.calls_of("evalsha"), Instant::now());
    held.release().await.unwrap();
    // Two processes take turns a thousand times: on a machine that has much else to do, it takes long.
    within(HANG * 3, join_all(waits)).await;
    let calls = server.calls_of("evalsha") - calls;
    // One that asks anew, is granted, and releases; all look every two seconds beside it.
    let looks = began.elapsed().as_secs() / 2 + 1;
    assert!(calls < (4 + looks) * MANY.unsigned_abs(), "{calls}, {looks} looks");
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn shutdown_withdraws_a_thousand_places_at_once() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let waiters = client(&server).await;
    let waits = (0..MANY).map(|_| {
        let lock = waiters.fair_lock("x");
        tokio::spawn(async move { lock.acquire().await.map(drop) })
    });
    let waits: Vec<_> = waits.collect();
    eventually(|| queued(&server) == MANY).await;
    within(HANG, waiters.shutdown(HANG)).await.unwrap();
    assert_eq!(queued(&server), 0);
    for wait in soon(join_all(waits)).await {
        wait.unwrap().unwrap_err();
    }
    held.release().await.unwrap();
    eventually(|| server.size() == 0).await;
}
