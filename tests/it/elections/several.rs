//! Elections over several masters, and on a cluster.

use palisade::{Client, Masters, election::Election, settings::Failover};
use testkit::{Cluster, SlotCluster};

use super::{next, patiently, soon, text, until_value};
use crate::{
    fleet::{Fleet, masters},
    support::{eventually, ms},
};

/// Clients that give a server up soon.
async fn hasty(servers: &Cluster) -> Masters {
    let urls = servers.urls();
    masters(
        urls.iter()
            .map(|url| crate::fleet::client(url).node_timeout(ms(500)).connect_timeout(ms(500))),
    )
    .await
}

#[tokio::test]
async fn a_leader_is_the_one_that_a_majority_names() {
    let fleet = Fleet::start(3).await;
    let other = fleet.another_process().await;
    for (ours, theirs) in [
        (fleet.masters.election("x"), other.election("x")),
        (
            Election::new(fleet.masters.fenced_multi_lock("y")),
            Election::new(other.fenced_multi_lock("y")),
        ),
    ] {
        let mut observer = theirs.observe();
        assert_eq!(next(&mut observer).await, None);
        let leadership = soon(ours.campaign()).await.unwrap();
        soon(leadership.proclaim("v")).await.unwrap();
        let leader = until_value(&mut observer, "v").await;
        assert_eq!(leader.token, Some(leadership.token()));
        assert_eq!(leader.holder, leadership.guard().holder_id());
        assert!(soon(theirs.try_campaign_for(ms(0))).await.unwrap().is_none());
        soon(leadership.resign()).await.unwrap();
        let second = soon(theirs.campaign()).await.unwrap();
        assert!(Some(second.token()) > leader.token);
        soon(second.resign()).await.unwrap();
    }
}

#[tokio::test]
async fn a_minority_that_is_down_is_not_noticed() {
    let servers = Cluster::start(3);
    let masters = hasty(&servers).await;
    let election = masters.election("x");
    servers.kill(2);
    let leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("v")).await.unwrap();
    let mut observer = election.observe();
    assert_eq!(text(next(&mut observer).await).as_deref(), Some("v"));
    // With one more it cannot be told, and says so.
    servers.kill(1);
    soon(election.leader()).await.unwrap_err();
    let unconfirmed = soon(leadership.proclaim("w")).await.unwrap_err();
    assert!(!unconfirmed.to_string().is_empty());
}

/// A server that has another leader, or none, is outvoted; what it has of the same leader counts.
#[tokio::test]
async fn one_server_that_says_otherwise_is_outvoted() {
    let fleet = Fleet::start(3).await;
    let election = fleet.masters.election("x");
    let leadership = soon(election.campaign()).await.unwrap();
    soon(leadership.proclaim("v")).await.unwrap();
    eventually(|| leadership.guard().votes() == 3).await;
    let theirs = &fleet.servers;
    theirs.iter().next().unwrap().cli(&["DEL", "x"]);
    assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some("v"));
    crate::fleet::hold_as_stranger(theirs.iter().next().unwrap(), "x");
    assert_eq!(text(soon(election.leader()).await.unwrap()).as_deref(), Some("v"));
    // It has lost what was announced, and another never had it.
    theirs.iter().nth(1).unwrap().cli(&["DEL", super::ANNOUNCED]);
    let leader = soon(election.leader()).await.unwrap().unwrap();
    assert_eq!(leader.holder, leadership.guard().holder_id());
}

/// What is announced is published where its slot is, in the way that its subscribers listen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_election_of_a_cluster_is_followed_wherever_its_slot_is() {
    let cluster = SlotCluster::start(3);
    for sharded in [None, Some(false)] {
        let connect = async || {
            let client =
                patiently(Client::builder().cluster(cluster.hosts())).failover(Failover::Trust);
            let client = match sharded {
                Some(sharded) => client.sharded_pubsub(sharded),
                None => client,
            };
            client.connect().await.unwrap()
        };
        let [ours, theirs] = [connect().await, connect().await];
        for name in ["a", "b", "c"] {
            let mut observer = theirs.election(name).observe();
            assert_eq!(next(&mut observer).await, None);
            let leadership = soon(ours.election(name).campaign()).await.unwrap();
            soon(leadership.proclaim("v")).await.unwrap();
            until_value(&mut observer, "v").await;
            soon(leadership.resign()).await.unwrap();
            assert_eq!(next(&mut observer).await, None);
        }
    }
}
