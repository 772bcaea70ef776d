//! A lock of very many members costs in proportion to them, and other locks nothing.

use std::{sync::Arc, time::Instant};

use palisade::{Client, Lock, LockGuard, MultiLock, clock::BootClock};
use testkit::RedisServer;

use crate::{
    fleet::{HANG, eventually, within},
    support::{patient, watchdog},
};

fn all(client: &Client, members: usize) -> Vec<Lock> {
    (0..members).map(|i| client.lock(format!("member:{i}"))).collect()
}

async fn held(lock: &MultiLock<Lock>) -> LockGuard {
    within(HANG, "the lock of all", lock.acquire()).await.unwrap()
}

/// Beside it a short lease is renewed in time: a lock of many members does not keep the watchdog to itself.
#[tokio::test]
async fn short_lease_stands_beside_a_lock_of_very_many_members() {
    const MEMBERS: usize = 10_000;
    let server = RedisServer::start();
    // With a watchdog of its own: in a build that is not optimized it is busy for seconds, which is not for the locks of
    // all other tests to bear.
    let settings = patient(&server).clock(Arc::new(BootClock));
    let client = settings.connect().await.unwrap();
    let lock = MultiLock::new(all(&client, MEMBERS)).unwrap().with_lease(watchdog(6_000));
    let of_all = held(&lock).await;
    let beside = client.lock("beside").with_lease(watchdog(3_000));
    let beside = within(HANG, "the lock beside it", beside.acquire()).await.unwrap();
    let renewals = || server.calls_of("pexpire");
    let before = renewals();
    // All of them twice: what the answers of the first time have cost, shows by then.
    eventually("renewals", || beside.ensure_valid().is_err() || renewals() > before + 20_000).await;
    beside.ensure_valid().unwrap();
    of_all.ensure_valid().unwrap();
    within(HANG, "its release", of_all.release()).await.unwrap();
    within(HANG, "the release beside it", beside.release()).await.unwrap();
    assert_eq!(server.keys(), [""; 0]);
}

/// Four times as many take four times as long, and a little, not sixteen times.
#[tokio::test]
async fn making_a_lock_of_many_members_takes_time_in_proportion() {
    let client = Client::connect_lazy("redis://127.0.0.1:1").unwrap();
    let make = |members| {
        let locks = all(&client, members);
        let begun = Instant::now();
        MultiLock::new(locks).unwrap();
        begun.elapsed()
    };
    // Some pairs, since whatever disturbs makes one of two slower.
    let pairs: Vec<_> = (0..5).map(|_| (make(5_000), make(20_000))).collect();
    assert!(pairs.iter().any(|(some, many)| *many < *some * 9), "5,000 and 20,000: {pairs:?}");
}
