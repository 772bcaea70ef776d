//! Grants of a cluster's masters that are on their replicas before they count.

use std::time::Duration;

use palisade::{
    Client, ClientBuilder, LockGuard,
    acl::{Rights, Use},
    error::NodeError,
    settings::Failover,
};
use testkit::SlotCluster;

use super::cluster::known;
use crate::support::{causes, eventually, soon};

/// In three slots, of three masters out of three.
const NAMES: [&str; 3] = ["a", "b", "c"];

fn settings(cluster: &SlotCluster) -> ClientBuilder {
    Client::builder()
        .cluster(cluster.hosts())
        .failover(Failover::Trust)
        .watchdog_lease(Duration::from_secs(6))
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
        .replicas(1)
        .replicas_timeout(Duration::from_secs(2))
}

async fn client(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).connect()).await.unwrap()
}

fn owner(cluster: &SlotCluster, key: &str) -> usize {
    cluster.owner_of(cluster.slot_of(key))
}

/// Whether it is on the replica that this master has had from the beginning.
fn is_replicated(cluster: &SlotCluster, master: usize, key: &str) -> bool {
    let mut replica = cluster[master + 3].connect();
    replica.command(&["READONLY"]).unwrap();
    replica.command(&["EXISTS", key]).unwrap().int() == 1
}

/// Whether no replica had it in time.
fn is_short(error: &palisade::AcquireError) -> bool {
    matches!(causes(error)[..], [NodeError::NotReplicated { wanted: 1, replicas: 0, .. }])
}

async fn extended(guard: &LockGuard) {
    let before = guard.deadline();
    eventually(|| guard.deadline() > before).await;
}

#[tokio::test]
async fn grant_is_on_the_replica_of_its_master_when_it_counts() {
    let cluster = SlotCluster::replicated(3);
    let client = client(&cluster).await;
    for round in 0..20 {
        for name in NAMES.map(|name| format!("{{{name}}}{round}")) {
            let guard = soon(client.fenced_lock(&name).acquire()).await.unwrap();
            assert!(is_replicated(&cluster, owner(&cluster, &name), &name), "{name}");
            guard.release().await.unwrap();
        }
    }
    // What was written for replicas only does not stay.
    let ours = || cluster.keys().iter().any(|key| key.starts_with("palisade_replicas:"));
    eventually(|| !ours()).await;
}

#[tokio::test]
async fn replica_that_stands_still_fails_acquires_of_its_master_only() {
    let cluster = SlotCluster::replicated(3);
    let client = settings(&cluster).replicas_timeout(Duration::from_millis(300)).connect();
    let client = soon(client).await.unwrap();
    let master = owner(&cluster, "a");
    cluster[master + 3].freeze();
    let error = soon(client.lock("a").try_acquire()).await.unwrap_err();
    assert!(is_short(&error), "{error:?}");
    eventually(|| !cluster.keys().contains(&"a".to_owned())).await;
    let other = NAMES.into_iter().find(|name| owner(&cluster, name) != master).unwrap();
    soon(client.lock(other).acquire()).await.unwrap().release().await.unwrap();
    cluster[master + 3].thaw();
    let guard = soon(client.lock("a").on_outage(palisade::OnOutage::Wait).acquire()).await.unwrap();
    guard.release().await.unwrap();
}

/// A renewal counts only on the replica, too.
#[tokio::test]
async fn hold_is_renewed_where_its_slot_goes_to_and_half_way() {
    let cluster = SlotCluster::replicated(3);
    let client = client(&cluster).await;
    let guard = soon(client.lock("a").acquire()).await.unwrap();
    extended(&guard).await;
    let (slot, from) = (cluster.slot_of("a"), owner(&cluster, "a"));
    let to = (from + 1) % 3;
    cluster.begin_move(slot, to);
    extended(&guard).await;
    cluster.move_keys(slot, to);
    extended(&guard).await;
    cluster.finish_move(slot, to);
    extended(&guard).await;
    eventually(|| is_replicated(&cluster, to, "a")).await;
    guard.release().await.unwrap();
    soon(client.lock("a").acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn promoted_replica_has_what_was_granted_last() {
    let cluster = SlotCluster::replicated(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let lease = palisade::Lease::Fixed(Duration::from_secs(45));
    let guard = soon(here.lock("a").with_lease(lease).acquire()).await.unwrap();
    let master = owner(&cluster, "a");
    cluster.kill(master);
    cluster.wait_until_replaced(master);
    let other = there.lock("a").on_outage(palisade::OnOutage::Wait);
    let taken = soon(other.try_acquire()).await;
    assert!(!matches!(taken, Ok(Some(_))), "{taken:?}");
    guard.ensure_valid().unwrap();
}

#[tokio::test]
async fn least_rights_are_enough() {
    let cluster = SlotCluster::replicated(3);
    let rights = Rights::new().with(Use::Lock, "a").in_cluster();
    for (rules, may) in [(rights.rules(), false), (rights.replicated().rules(), true)] {
        let mut words = vec!["ACL", "SETUSER", "app", "reset", "on", ">pw"];
        words.extend(known(&cluster, &rules));
        (0..6).for_each(|n| drop(cluster[n].cli(&words)));
        let client = soon(settings(&cluster).user("app").password("pw").connect()).await.unwrap();
        let granted = soon(client.lock("a").try_acquire()).await;
        assert_eq!(granted.is_ok(), may, "{granted:?}");
        if let Err(error) = granted {
            assert!(matches!(causes(&error)[..], [NodeError::Permission { .. }]), "{error:?}");
        }
    }
}
