//! The same where another server has the key by now: in a cluster whose slots move, and behind sentinels.

use palisade::{Lease, LostCause, settings::Failover};
use testkit::SlotCluster;

use super::listening;
use crate::{
    deployment::{cluster, sentinel},
    support::{LONG_LEASE, promptly, soon},
};

#[tokio::test]
async fn hold_in_a_cluster_is_told_where_its_slot_is_by_now() {
    let servers = SlotCluster::start(3);
    let settings = cluster::settings(&servers).failover(Failover::Trust).tracking(true);
    let settings = settings.max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE);
    let client = soon(settings.connect()).await.unwrap();
    let guards = ["a", "b", "c"].map(|name| client.lock(name));
    for lock in &guards {
        let guard = soon(lock.acquire()).await.unwrap();
        let owner = &servers[servers.owner_of(servers.slot_of(lock.name()))];
        listening(owner, 1).await;
        owner.command(&["DEL", lock.name()]);
        promptly(owner, guard.lost()).await;
    }
    let guard = soon(client.lock("a").acquire()).await.unwrap();
    let slot = servers.slot_of("a");
    let (from, to) = (servers.owner_of(slot), (servers.owner_of(slot) + 1) % 3);
    listening(&servers[from], 1).await;
    servers.move_slot(slot, to);
    listening(&servers[to], 1).await;
    assert!(guard.is_held());
    servers[to].command(&["DEL", "a"]);
    promptly(&servers[to], guard.lost()).await;
}

/// Nothing renews a fixed lease, so nothing but what is told finds it.
#[tokio::test]
async fn hold_is_told_by_the_master_that_a_failover_made() {
    let redis = sentinel::Replicated::start().await;
    let lock = redis.client().await.lock("x").with_lease(Lease::Fixed(sentinel::LEASE));
    let guard = soon(lock.acquire()).await.unwrap();
    redis.replicated().await;
    redis.sentinels.fail_over();
    listening(&redis.replica, 1).await;
    assert!(guard.is_held());
    redis.replica.command(&["DEL", "x"]);
    assert_ne!(promptly(&redis.replica, guard.lost()).await, LostCause::Expired);
}
