//! Servers of a cluster that are named by themselves as well, and one that was demoted.

use std::time::Duration;

use palisade::{Client, ClientBuilder, RedLock};
use testkit::{RedisServer, SlotCluster};

use super::sentinel::{LEASE, bless};
use crate::support::{eventually, patient, soon};

fn settings(hosts: impl IntoIterator<Item = String>) -> ClientBuilder {
    Client::builder()
        .cluster(hosts)
        .max_lease(LEASE)
        .clock_skew(Duration::from_millis(200))
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
}

#[tokio::test]
async fn cluster_and_one_of_its_servers_are_no_two_votes() {
    let (cluster, third) = (SlotCluster::start(3), RedisServer::start());
    let owner = &cluster[cluster.owner_of(cluster.slot_of("x"))];
    let all = soon(settings(cluster.hosts()).connect()).await.unwrap();
    bless(&all).await;
    let (one, third) = (patient(owner), patient(&third).connect());
    let (one, third) = (soon(one.connect()).await.unwrap(), soon(third).await.unwrap());
    let clients = [&one, &all, &third];
    let most = RedLock::new(clients.map(|client| client.lock("x"))).unwrap();
    let refused = format!("{:?}", soon(most.try_acquire()).await.unwrap_err());
    assert!(refused.contains("SameServer"), "{refused}");
    eventually(|| cluster.keys().iter().all(|key| key != "x")).await;
}

#[tokio::test]
async fn master_that_was_demoted_is_not_dialled_again_and_again() {
    let cluster = SlotCluster::replicated(3);
    let settings = settings(cluster.hosts()).watchdog_lease(Duration::from_secs(6));
    let client = soon(settings.connect()).await.unwrap();
    bless(&client).await;
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    let before = cluster.owner_of(cluster.slot_of("x"));
    let replica_of = |replica: &usize| {
        let role = cluster[*replica].cli(&["INFO", "replication"]);
        role.contains(&format!("master_port:{}", cluster[before].port()))
    };
    cluster.fail_over_to((3..6).find(replica_of).unwrap());
    let renewed = async |times| {
        for _ in 0..times {
            let before = guard.deadline();
            eventually(|| guard.deadline() > before).await;
        }
    };
    renewed(1).await;
    // Whoever was connected is to come again.
    drop(cluster[before].cli(&["CLIENT", "KILL", "TYPE", "normal"]));
    renewed(2).await;
    let dialled = || {
        let stats = cluster[before].cli(&["INFO", "stats"]);
        let count = stats.lines().find_map(|it| it.strip_prefix("total_connections_received:"));
        count.unwrap().trim().parse::<u64>().unwrap()
    };
    let from = dialled();
    renewed(2).await;
    // Some four seconds, a connection of the test's own, and two runtimes that try once in one or two of these.
    let times = dialled() - from;
    assert!(times < 20, "{times}");
    guard.release().await.unwrap();
}
