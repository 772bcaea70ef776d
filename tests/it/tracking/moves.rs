//! The same in a cluster, whose slots move, and where a key may be at another master soon.

use palisade::settings::Failover;
use testkit::SlotCluster;

use super::listening;
use crate::{
    deployment::cluster,
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
