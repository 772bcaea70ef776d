//! Queues with keys that are deleted, cut or filled up, in the middle.

use palisade::LockGuard;
use testkit::RedisServer;
use tokio::task::JoinHandle;

use super::{DEADLINES, NOTE, QUEUE, nothing_is_left, queue, waiter};
use crate::{
    scripts::{NEVER, eval, now},
    sources::{FAIR_ACQUIRE, FAIR_KEEP, FAIR_RELEASE},
    support::{Look, client, eventually, soon},
};

const KEYS: [&str; 4] = ["x", QUEUE, DEADLINES, NOTE];

/// What an acquire that waits is answered.
fn wait(server: &RedisServer, holder: &str) -> i64 {
    let reply = eval(server, FAIR_ACQUIRE, &KEYS, &["30000", NEVER, holder, "1", "c"]);
    if let testkit::Reply::Int(_) = reply { 1 } else { reply.array()[1].int() }
}

fn release(server: &RedisServer, holder: &str) {
    eval(server, FAIR_RELEASE, &KEYS, &[holder, "c"]);
}

#[test]
fn those_whose_queue_was_deleted_stand_again() {
    let server = RedisServer::start();
    for holder in ["me:0", "me:1", "me:2"] {
        wait(&server, holder);
    }
    server.command(&["DEL", QUEUE]);
    assert_eq!((wait(&server, "me:1"), wait(&server, "me:2"), wait(&server, "me:3")), (-7, -7, -7));
    assert_eq!(queue(&server), ["me:1", "me:2", "me:3"]);
    for holder in ["me:0", "me:1", "me:2", "me:3"] {
        assert_eq!(wait(&server, holder), 1);
        release(&server, holder);
    }
    assert_eq!(server.size(), 0);
}

#[test]
fn who_was_cut_out_of_the_queue_stands_again() {
    let server = RedisServer::start();
    for holder in ["me:0", "me:1", "me:2"] {
        wait(&server, holder);
    }
    server.command(&["LREM", QUEUE, "0", "me:1"]);
    assert_eq!((wait(&server, "me:2"), wait(&server, "me:1")), (-6, -7));
    assert_eq!(queue(&server), ["me:2", "me:1"]);
    for holder in ["me:0", "me:2", "me:1"] {
        assert_eq!(wait(&server, holder), 1);
        release(&server, holder);
    }
    assert_eq!(server.size(), 0);
}

#[test]
fn grant_behind_a_queue_that_was_deleted_leaves_no_deadline() {
    let server = RedisServer::start();
    for holder in ["me:0", "me:1"] {
        wait(&server, holder);
    }
    server.command(&["DEL", QUEUE]);
    release(&server, "me:0");
    assert_eq!(wait(&server, "me:1"), 1);
    release(&server, "me:1");
    assert_eq!(server.size(), 0);
}

#[test]
fn place_is_kept_while_the_server_is_out_of_memory() {
    let server = RedisServer::start();
    for holder in ["me:0", "me:1", "me:2"] {
        wait(&server, holder);
    }
    let soon = now(&server) / 1_000 + 9_000;
    server.command(&["ZADD", DEADLINES, &soon.to_string(), "me:2"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    eval(&server, FAIR_KEEP, &KEYS[..3], &["me:2"]);
    let left = super::deadline(&server, "me:2").unwrap() - now(&server) / 1_000;
    assert!(left > 200_000, "{left}");
}

async fn served(server: &RedisServer, held: LockGuard, waiters: Vec<JoinHandle<LockGuard>>) {
    held.release().await.unwrap();
    let serve = |waiter: JoinHandle<LockGuard>| async {
        soon(waiter).await.unwrap().release().await.unwrap();
    };
    futures::future::join_all(waiters.into_iter().map(serve)).await;
    nothing_is_left(server).await;
}

#[tokio::test]
async fn those_who_wait_are_all_served_whatever_is_deleted() {
    for key in [QUEUE, DEADLINES, NOTE] {
        let server = RedisServer::start();
        let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
        let mut waiters = Vec::new();
        for _ in 0..3 {
            waiters.push(waiter(&server).await.1);
        }
        server.command(&["DEL", key]);
        // The next look mends it.
        eventually(|| {
            queue(&server).len() == 3 && server.command(&["ZCARD", DEADLINES]).int() == 3
        })
        .await;
        served(&server, held, waiters).await;
    }
}

#[tokio::test]
async fn those_who_wait_are_all_served_though_the_queue_had_an_end() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let mut waiters = Vec::new();
    for _ in 0..3 {
        waiters.push(waiter(&server).await.1);
    }
    // As Redisson's MultiLock does, in the moment at which they end.
    for key in [QUEUE, DEADLINES] {
        server.command(&["PEXPIRE", key, "1"]);
    }
    served(&server, held, waiters).await;
}
