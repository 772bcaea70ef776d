//! Servers of a cluster that are not what they were: one that has left it, one that was demoted, one that serves
//! slots whose keys are lost.

use std::time::Duration;

use palisade::{Client, ClientBuilder, RedLock, error::ConnectError};
use testkit::{FaultProxy, RedisServer, SlotCluster};

use super::{
    cluster::another,
    sentinel::{LEASE, bless, is_quarantined},
};
use crate::support::{eventually, eventually_blocking, patient, patiently, soon};

fn settings(hosts: impl IntoIterator<Item = String>) -> ClientBuilder {
    Client::builder()
        .cluster(hosts)
        .max_lease(LEASE)
        .clock_skew(Duration::from_millis(200))
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
}

/// It knows the newest changes of all, as one does that has left by itself.
fn cluster_of_its_own() -> SlotCluster {
    let stranger = SlotCluster::start(2);
    let epoch = || {
        let info = stranger[0].cli(&["CLUSTER", "INFO"]);
        let epoch = info.lines().find_map(|line| line.strip_prefix("cluster_current_epoch:"));
        epoch.unwrap().trim().parse::<u64>().unwrap()
    };
    // One has the greatest already, and the other overtakes it.
    eventually_blocking(|| {
        for n in 0..2 {
            drop(stranger[n].command(&["CLUSTER", "BUMPEPOCH"]));
        }
        epoch() >= 10
    });
    stranger
}

#[tokio::test]
async fn servers_of_two_clusters_are_followed_by_nobody() {
    let (cluster, stranger) = (SlotCluster::start(3), cluster_of_its_own());
    let hosts = [&stranger.hosts()[..1], &cluster.hosts()[..2]].concat();
    let refused = soon(settings(hosts).connect()).await.unwrap_err();
    let ConnectError::Node { source, .. } = &refused else { panic!("{refused:?}") };
    let text = source.to_string();
    let names = |host: &str| text.contains(host);
    assert!(text.contains("different clusters") && names(&stranger.hosts()[0]), "{text}");
    assert!(cluster.hosts().iter().any(|host| names(host)), "{text}");
}

#[tokio::test]
async fn one_that_has_left_its_cluster_is_not_followed_by_those_who_know_that() {
    let (cluster, stranger) = (SlotCluster::start(3), cluster_of_its_own());
    let proxy = FaultProxy::before(&cluster[1]);
    let hosts = [cluster.hosts()[0].clone(), proxy.addr().to_string()];
    let client = soon(settings(hosts).connect()).await.unwrap();
    bless(&client).await;
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    proxy.lead_to(&stranger[0]);
    let asked = || -> u64 {
        let calls = stranger[0].calls();
        calls.iter().filter(|(name, _)| name.starts_with("cluster")).map(|(_, times)| times).sum()
    };
    let before = asked();
    while asked() == before {
        // Whatever comes of it, it asks all of them for their slots, unless they just were.
        drop(soon(client.bless()).await);
    }
    assert!(soon(client.lock("x").try_acquire()).await.unwrap().is_none());
    assert!(stranger.keys().is_empty());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn cluster_and_one_of_its_servers_are_no_two_votes() {
    let (cluster, third) = (SlotCluster::start(3), RedisServer::start());
    let owner = &cluster[cluster.owner_of(cluster.slot_of("x"))];
    let all = soon(settings(cluster.hosts()).connect()).await.unwrap();
    bless(&all).await;
    // Others are told at once that it is one of a cluster.
    owner.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-cluster"]);
    let one = patiently(Client::builder().url(&owner.url_with("app", "pw"))).connect();
    let third = patient(&third).connect();
    let (one, third) = (soon(one).await.unwrap(), soon(third).await.unwrap());
    let clients = [&one, &all, &third];
    let most = RedLock::new(clients.map(|client| client.lock("x"))).unwrap();
    let refused = format!("{:?}", soon(most.try_acquire()).await.unwrap_err());
    assert!(refused.contains("SameServer"), "{refused}");
    eventually(|| cluster.keys().iter().all(|key| key != "x")).await;
}

#[tokio::test]
async fn slots_that_another_covers_after_their_master_died_grant_nothing_that_may_be_held() {
    let cluster = SlotCluster::start(3);
    let [here, there] = [(); 2].map(|()| settings(cluster.hosts()).connect());
    let (here, there) = (soon(here).await.unwrap(), soon(there).await.unwrap());
    bless(&here).await;
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    assert!(soon(there.lock("x").try_acquire()).await.unwrap().is_none());
    let (slot, next) = (cluster.slot_of("x"), another(&cluster, "x"));
    let lost = cluster.owner_of(slot);
    cluster.kill(lost);
    let living: Vec<_> = (0..3).filter(|n| *n != lost).map(|n| &cluster[n]).collect();
    cover(&living, slot, &cluster[next]);
    loop {
        match soon(there.lock("x").try_acquire()).await {
            Err(error) if is_quarantined(&error) => break,
            // Not all know of it yet.
            Err(_) => {}
            Ok(granted) => panic!("{granted:?}"),
        }
    }
    soon(guard.lost()).await;
}

/// As `redis-cli --cluster fix` does. What the dead master said last may come behind that.
fn cover(living: &[&RedisServer], slot: u16, next: &RedisServer) {
    let slot = slot.to_string();
    eventually_blocking(|| {
        for server in living {
            server.cli(&["CONFIG", "SET", "cluster-require-full-coverage", "no"]);
            server.cli(&["CLUSTER", "DELSLOTS", &slot]);
        }
        next.cli(&["CLUSTER", "ADDSLOTS", &slot]).trim() == "OK"
    });
    next.cli(&["CLUSTER", "BUMPEPOCH"]);
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
    // All that were connected are to come again.
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
