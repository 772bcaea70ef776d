//! Servers whose wall clock is set, by an hour forth or back.

use std::sync::Arc;

use futures::future::join_all;
use palisade::{Client, OnOutage};
use testkit::{RedisServer, WallClocks};

use crate::{
    rw,
    support::{Look, eventually, soon},
};

const HOUR: i64 = 3_600_000;

fn server() -> RedisServer {
    let clocks = Arc::new(WallClocks::build().unwrap());
    RedisServer::builder().settable_clock(&clocks).start()
}

/// Whatever there is, once.
async fn all_work(client: &Client) {
    let fair = client.fair_lock("fair").on_outage(OnOutage::Wait);
    soon(fair.acquire()).await.unwrap().release().await.unwrap();
    let write = client.rw_lock("rw").write().on_outage(OnOutage::Wait);
    let writer = soon(write.acquire()).await.unwrap();
    soon(writer.downgrade()).await.unwrap().release().await.unwrap();
    let (permits, leases) = (client.semaphore("permits"), client.expirable_semaphore("leases"));
    soon(permits.acquire()).await.unwrap().release().await.unwrap();
    soon(leases.acquire()).await.unwrap().release().await.unwrap();
    assert!(soon(client.count_down_latch("latch").count_down()).await.unwrap());
}

#[tokio::test]
async fn all_kinds_work_on_before_and_after_a_step_of_the_clock() {
    let server = server();
    let client = rw::client(&server).await;
    assert!(client.semaphore("permits").try_set_permits(1).await.unwrap());
    assert!(client.expirable_semaphore("leases").try_set_permits(1).await.unwrap());
    assert!(client.count_down_latch("latch").try_set_count(9).await.unwrap());
    for ahead in [HOUR, -HOUR, 0] {
        all_work(&client).await;
        server.set_clock(ahead);
        all_work(&client).await;
    }
    assert_eq!(client.count_down_latch("latch").count().await.unwrap(), 3);
    for name in ["permits", "leases"] {
        assert_eq!(server.cli(&["GET", name]), "1");
    }
    client.count_down_latch("latch").delete().await.unwrap();
    eventually(|| {
        let keys = server.keys();
        let stays =
            |key: &&String| key.starts_with("palisade_once:") || key.ends_with(":palisade_zero");
        keys.iter().filter(|key| !stays(key)).count() == 2
    })
    .await;
}

#[tokio::test]
async fn all_who_wait_for_a_fair_lock_are_served_whatever_the_clock_does() {
    for ahead in [HOUR, -HOUR] {
        let server = server();
        let held = rw::client(&server).await.fair_lock("x").acquire().await.unwrap();
        let client = rw::client(&server).await;
        let waits: Vec<_> = (0..5)
            .map(|_| {
                let lock = client.fair_lock("x").on_outage(OnOutage::Wait);
                tokio::spawn(async move { lock.acquire().await.unwrap().release().await })
            })
            .collect();
        eventually(|| server.command(&["LLEN", "redisson_lock_queue:{x}"]).int() == 5).await;
        server.set_clock(ahead);
        // Ahead, its lease is over by then.
        let _released = held.release().await;
        for wait in soon(join_all(waits)).await {
            let _is_confirmed = wait.unwrap();
        }
        eventually(|| server.size() == 0).await;
    }
}
