//! Several masters, and clusters.

use palisade::{
    Client,
    inspect::ListOptions,
    settings::{Failover, Presence},
};
use testkit::SlotCluster;

use super::{all, found, ids, names, only};
use crate::{
    fleet::{HANG, client, masters},
    support::{eventually, patiently, soon},
};

#[tokio::test]
async fn what_several_masters_have_is_put_together_by_name() {
    let servers = testkit::Cluster::start(3);
    let masters = masters(servers.urls().iter().map(|url| client(url))).await;
    let guard = soon(masters.red_lock("x").acquire()).await.unwrap();
    let alone = soon(masters.clients()[1].lock("y").acquire()).await.unwrap();
    eventually(|| servers.iter().all(|server| server.keys().contains(&"x".to_owned()))).await;
    servers[2].command(&["DEL", "x"]);
    let options = ListOptions::new().fast();
    // On whichever thread.
    let spawned = tokio::spawn({
        let (masters, options) = (masters.clone(), options.clone());
        async move { (masters.list_processes(&options).await, masters.list(&options).await) }
    });
    let (processes, list) = soon(spawned).await.unwrap();
    assert_eq!(processes.unwrap().answered, 3);
    let list = list.unwrap();
    assert_eq!((names(&list), list.asked), (vec!["x", "y"], 3));
    assert_eq!(list.locks.iter().map(|it| it.votes).collect::<Vec<_>>(), [2, 1]);
    assert_eq!(ids(&list.locks[0]), [guard.holder_id()]);
    assert_eq!(list.locks[0].holders[0].votes, 2);

    servers.kill(0);
    let list = soon(masters.list(&options)).await.unwrap();
    assert_eq!((names(&list), list.failed.len()), (vec!["x", "y"], 1));
    assert_eq!(list.failed[0].0, *masters.clients()[0].node_id());
    assert_eq!(list.locks[0].votes, 1);
    assert!(!list.is_complete());
    drop((guard, alone));
}

/// Each lock is with one of the masters, and the record of its process with another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_masters_of_a_cluster_are_asked_and_no_replica() {
    let cluster = SlotCluster::replicated(3);
    let client = patiently(Client::builder().cluster(cluster.hosts())).failover(Failover::Trust);
    let client = client.presence(Presence::EachHold).connect().await.unwrap();
    let mut guards = Vec::new();
    for name in ["a", "b", "c", "d"] {
        guards.push(soon(client.lock(name).acquire()).await.unwrap());
    }
    let told = async {
        loop {
            let list = all(&client).await;
            if list.locks.iter().all(|lock| lock.held_for().is_some()) {
                return list;
            }
        }
    };
    let list = soon(told).await;
    assert_eq!((names(&list), list.asked), (vec!["a", "b", "c", "d"], 1));
    assert!(list.is_complete() && list.locks.iter().all(|it| it.votes == 1), "{list:?}");
    let serving = cluster.serving();
    for (number, server) in cluster.servers().enumerate() {
        let is_asked = server.calls_of("scan") > 0;
        assert_eq!(is_asked, serving.contains(&number), "{number}");
    }
    assert_eq!(ids(only(&found(&client, "c").await)), [guards[2].holder_id()]);
    drop(guards);
    soon(client.shutdown(HANG)).await.unwrap();
}
