//! One owner that waits twice for the same: the second wait is a re-entry as soon as the first is
//! over.

use palisade::{AnyLock, Owner};
use testkit::RedisServer;

use crate::{
    rw,
    support::{Look, eventually, soon},
};

async fn both_waits_end<L: AnyLock>(server: &RedisServer, held: L, lock: L) {
    let owner = Owner::new();
    let guard = held.acquire().await.unwrap();
    let wait = || {
        let (lock, owner) = (lock.clone(), owner.clone());
        tokio::spawn(Owner::scope(owner, async move { lock.acquire().await.unwrap() }))
    };
    let waits = [wait(), wait()];
    eventually(|| !server.command(&["PUBSUB", "CHANNELS"]).array().is_empty()).await;
    drop(guard);
    let mut guards = Vec::new();
    for wait in waits {
        guards.push(soon(wait).await.unwrap());
    }
    drop(guards);
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn both_waits_of_one_owner_end_together() {
    let server = RedisServer::start();
    let (one, other) = (rw::client(&server).await, rw::client(&server).await);
    both_waits_end(&server, one.lock("x"), other.lock("x")).await;
}

#[tokio::test]
async fn both_waits_of_one_owner_for_a_fair_lock_end_together() {
    let server = RedisServer::start();
    let (one, other) = (rw::client(&server).await, rw::client(&server).await);
    both_waits_end(&server, one.fair_lock("x"), other.fair_lock("x")).await;
}

#[tokio::test]
async fn both_waits_of_one_owner_to_write_end_together() {
    let server = RedisServer::start();
    let (one, other) = (rw::client(&server).await, rw::client(&server).await);
    both_waits_end(&server, one.rw_lock("x").write(), other.rw_lock("x").write()).await;
}
