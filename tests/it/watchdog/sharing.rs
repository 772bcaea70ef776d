//! Locks that are renewed in one call: what a server says of one is not said of another.

use std::time::Duration;

use palisade::{
    Client, Lease, LockGuard,
    clock::{BootClock, Clock},
};
use testkit::{Fault, FaultProxy, RedisServer};

use crate::{
    fleet::{HANG, client, eventually, within},
    support::acquired,
};

/// Renewed every second.
const LEASE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn locks_in_different_slots_of_a_cluster_are_all_renewed() {
    let server = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    server.serve_slots(0..16_384);
    let is_up = || server.cli(&["CLUSTER", "INFO"]).starts_with("cluster_state:ok");
    eventually("all slots are served", is_up).await;
    let client = client(&server.url()).connect().await.unwrap();
    let mut guards = Vec::new();
    for name in ["a", "b", "c", "{a}:d"] {
        guards.push(held(&client, name).await);
    }
    outlive(&guards).await;
    for guard in guards {
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn lock_that_a_user_may_no_longer_touch_is_lost_alone() {
    let server = RedisServer::start();
    let client = user(&server, "app").await;
    let mut guards = Vec::new();
    for name in ["a", "b", "c", "d"] {
        guards.push(held(&client, name).await);
    }
    let hit = guards.remove(1);
    server.cli(&["ACL", "SETUSER", "app", "resetkeys", "~a", "~c", "~d"]);
    outlive(&guards).await;
    assert!(within(HANG, "the loss", hit.lost()).await.is_expiry());
    drop((hit, guards));
}

#[tokio::test]
async fn user_that_is_deleted_takes_no_lock_of_another_along() {
    let server = RedisServer::start();
    let (deleted, other) = (user(&server, "a").await, user(&server, "b").await);
    let doomed = held(&deleted, "x").await;
    let spared = [held(&other, "y").await];
    server.cli(&["ACL", "DELUSER", "a"]);
    outlive(&spared).await;
    assert!(within(HANG, "the loss", doomed.lost()).await.is_expiry());
}

#[tokio::test]
async fn client_in_a_hurry_does_not_hurry_the_renewals_of_another() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let hasty = client(&proxy.url()).node_timeout(Duration::from_millis(50));
    let (hasty, patient) = (hasty.connect().await.unwrap(), client(&proxy.url()).build().unwrap());
    let doomed = held(&hasty, "x").await;
    let spared = [held(&patient, "y").await];
    // There and back.
    proxy.set(Fault::Delay(Duration::from_millis(100)));
    outlive(&spared).await;
    assert!(within(HANG, "the loss", doomed.lost()).await.is_expiry());
}

/// Waits until `guards` would have been lost if none of them had been renewed.
pub(super) async fn outlive(guards: &[LockGuard]) {
    let last = guards.iter().map(LockGuard::deadline).max().unwrap();
    BootClock.sleep_until(last + LEASE).await;
    for guard in guards {
        guard.ensure_valid().unwrap();
    }
}

/// A client of a user that may do everything.
pub(super) async fn user(server: &RedisServer, name: &str) -> Client {
    server.cli(&["ACL", "SETUSER", name, "reset", "on", ">pw", "~*", "&*", "+@all"]);
    client(&server.url_with(name, "pw")).connect().await.unwrap()
}

pub(super) async fn held(client: &Client, name: &str) -> LockGuard {
    acquired(&client.lock(name).with_lease(Lease::WatchdogOf(LEASE))).await
}
