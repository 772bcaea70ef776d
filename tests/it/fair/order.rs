//! Which waiter has the turn.

use futures::future::join_all;
use palisade::Owner;
use testkit::RedisServer;

use super::{nothing_is_left, queue, waiter};
use crate::support::{Look, client, eventually, promptly, soon};

#[tokio::test]
async fn processes_are_granted_in_the_order_in_which_they_asked() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let mut waiters = Vec::new();
    for _ in 0..3 {
        waiters.push(waiter(&server).await);
    }
    let mut last = held;
    for (id, waiter) in waiters {
        last.release().await.unwrap();
        last = promptly(&server, waiter).await.unwrap();
        assert_eq!(last.holder_id(), id);
    }
    last.release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn those_of_one_process_stand_each_by_itself_between_those_of_others() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    let (mut others, mut ours) = (Vec::new(), Vec::new());
    for i in 0..3 {
        let lock = lock.clone();
        ours.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            let id = guard.holder_id().to_owned();
            guard.release().await.unwrap();
            id
        }));
        eventually(|| queue(&server).len() == 2 * i + 1).await;
        others.push(waiter(&server).await.1);
    }
    let expected = queue(&server);
    held.release().await.unwrap();
    let mut seen = Vec::new();
    for (own, other) in ours.into_iter().zip(others) {
        seen.push(promptly(&server, own).await.unwrap());
        let other = promptly(&server, other).await.unwrap();
        seen.push(other.holder_id().to_owned());
        other.release().await.unwrap();
    }
    assert_eq!(seen, expected);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn try_acquire_passes_nobody_and_takes_no_place() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(queue(&server).is_empty());
    // Of a waiter that is told, and does not come before we ask.
    server.command(&["RPUSH", super::QUEUE, "other:1"]);
    server.command(&["ZADD", super::DEADLINES, "9000000000000", "other:1"]);
    held.release().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(!server.exists("x"));
    assert_eq!(lock.waiting().await.unwrap(), ["other:1"]);
}

#[tokio::test]
async fn hundred_waiters_of_four_processes_are_all_served_in_order() {
    let server = RedisServer::start();
    let clients = [client(&server).await, client(&server).await, client(&server).await];
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let mut waiters = Vec::new();
    for i in 0..100 {
        let (lock, served) = (clients[i % 3].fair_lock("x"), served.clone());
        waiters.push(tokio::spawn(async move {
            let guard = lock.acquire().await.unwrap();
            served.send(guard.holder_id().to_owned()).unwrap();
            guard.release().await.unwrap();
        }));
    }
    eventually(|| queue(&server).len() == 100).await;
    let expected = queue(&server);
    held.release().await.unwrap();
    soon(join_all(waiters)).await;
    let mut seen = Vec::new();
    while let Ok(id) = order.try_recv() {
        seen.push(id);
    }
    assert_eq!(seen, expected);
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn owner_enters_again_past_the_queue() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let owner = Owner::new();
    let guard = lock.acquire_as(&owner).await.unwrap();
    let (_, waiter) = waiter(&server).await;
    let again = soon(lock.acquire_as(&owner)).await.unwrap();
    assert_eq!(again.holder_id(), guard.holder_id());
    eventually(|| server.hash("x")[guard.holder_id()] == "2").await;
    again.release().await.unwrap();
    guard.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}
