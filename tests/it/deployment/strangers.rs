//! A cluster beside one of its servers.

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
