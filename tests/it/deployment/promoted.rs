//! A Redis Cluster whose masters are replaced by replicas that may not have what was granted last.

use std::time::Duration;

use palisade::{
    AcquireError, AnyGuard, Client, ClientBuilder, Lease, MultiLock, OnOutage,
    error::{BlessError, NodeError},
    settings::Failover,
};
use testkit::SlotCluster;

use super::sentinel::{LEASE, bless, is_quarantined};
use crate::support::{Look, causes, eventually, soon};

fn settings(cluster: &SlotCluster) -> ClientBuilder {
    Client::builder()
        .cluster(cluster.hosts())
        .fleet_max_lease(LEASE)
        .clock_skew(Duration::from_millis(200))
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
}

async fn client(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).connect()).await.unwrap()
}

/// One with replicas whose masters grant at once.
async fn replicated() -> SlotCluster {
    let cluster = SlotCluster::replicated(3);
    bless(&client(&cluster).await).await;
    cluster
}

fn owner(cluster: &SlotCluster, key: &str) -> usize {
    cluster.owner_of(cluster.slot_of(key))
}

/// One that is not told that the replica has lost what it had: it stands for one that never had it.
async fn untold(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).tracking(false).connect()).await.unwrap()
}

/// The master of this key dies, and its replica takes its place, without what `lost` names.
fn lose_master_of(cluster: &SlotCluster, key: &str, lost: &[&str]) {
    let master = owner(cluster, key);
    cluster.kill(master);
    cluster.wait_until_replaced(master);
    for key in lost {
        cluster[owner(cluster, key)].cli(&["DEL", key]);
    }
}

/// A server that cannot be asked at the moment is asked again.
async fn refused(client: &Client, name: &str) -> AcquireError {
    loop {
        match soon(client.lock(name).try_acquire()).await {
            Err(error) if is_quarantined(&error) => return error,
            Err(error) => {
                eprintln!("{error:?}");
                assert!(!causes(&error).is_empty(), "{error:?}")
            }
            Ok(granted) => panic!("{granted:?}"),
        }
    }
}

#[tokio::test]
async fn grants_nothing_that_it_may_have_forgotten() {
    let cluster = replicated().await;
    let (here, there) = (untold(&cluster).await, client(&cluster).await);
    let guard = soon(here.lock("x").with_lease(Lease::Fixed(LEASE)).acquire()).await.unwrap();
    lose_master_of(&cluster, "x", &["x"]);
    let refused_at_once = refused(&there, "x").await;
    assert!(refused_at_once.to_string().contains("may have forgotten"), "{refused_at_once}");
    // A process that comes only now knows nothing of the master before.
    refused(&client(&cluster).await, "x").await;
    let next = soon(there.lock("x").acquire()).await.unwrap();
    assert!(guard.ensure_valid().is_err(), "two held it");
    soon(next.release()).await.unwrap();
}

/// What the wait is for.
#[tokio::test]
async fn grants_what_is_held_where_it_is_trusted() {
    let cluster = SlotCluster::replicated(3);
    let trusting =
        settings(&cluster).failover(Failover::Trust).fleet_max_lease(Duration::from_secs(60));
    let here = soon(trusting.clone().tracking(false).connect()).await.unwrap();
    let there = soon(trusting.connect()).await.unwrap();
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    lose_master_of(&cluster, "x", &["x"]);
    let _second = soon(there.lock("x").acquire()).await.unwrap();
    assert!(guard.ensure_valid().is_ok(), "both hold it");
}

#[tokio::test]
async fn hold_that_it_has_not_is_written_again_there() {
    let cluster = replicated().await;
    let (here, there) = (untold(&cluster).await, client(&cluster).await);
    let guard = soon(here.fenced_lock("x").acquire()).await.unwrap();
    let token = guard.fencing_token();
    lose_master_of(&cluster, "x", &["x", "redisson_lock_token:{x}"]);
    let promoted = &cluster[owner(&cluster, "x")];
    eventually(|| promoted.exists("x")).await;
    assert_eq!(promoted.hash("x").keys().collect::<Vec<_>>(), [guard.holder_id()]);
    let written = guard.deadline();
    eventually(|| guard.deadline() > written).await;
    refused(&there, "x").await;
    soon(guard.release()).await.unwrap();
    let next = soon(there.fenced_lock("x").acquire()).await.unwrap();
    assert!(next.fencing_token() > token, "{} after {token}", next.fencing_token());
    soon(next.release()).await.unwrap();
}

#[tokio::test]
async fn holds_of_several_slots_live_through_it() {
    let cluster = replicated().await;
    let (here, there) = (untold(&cluster).await, client(&cluster).await);
    let names = ["a", "b", "c"];
    let all = MultiLock::new(names.map(|name| here.lock(name))).unwrap();
    let guard = soon(all.acquire()).await.unwrap();
    lose_master_of(&cluster, "a", &["a"]);
    eventually(|| cluster.keys().contains(&"a".to_owned())).await;
    let before = guard.deadline();
    eventually(|| guard.deadline() > before).await;
    // None of the masters that live on makes a lock wait.
    let elsewhere = |name: &&&str| owner(&cluster, name) != owner(&cluster, "a");
    let free = ["d", "e", "f", "g"].iter().find(elsewhere).unwrap();
    let beside = soon(there.lock(free).try_acquire()).await.unwrap().unwrap();
    soon(beside.release()).await.unwrap();
    soon(guard.release()).await.unwrap();
}

/// The socket lives through both, and so does the run: the history of the data alone shows it.
#[tokio::test]
async fn over_and_back_is_noticed_on_a_socket_that_was_idle_meanwhile() {
    let cluster = replicated().await;
    let here = client(&cluster).await;
    let before = soon(here.lock("x").acquire()).await.unwrap();
    soon(before.release()).await.unwrap();
    let master = owner(&cluster, "x");
    let connected = || cluster[master].cli(&["INFO", "stats"]);
    let connections = |info: String| {
        let line = info.lines().find(|line| line.starts_with("total_connections_received"));
        line.unwrap().to_owned()
    };
    cluster.fail_over_to(master + 3);
    cluster.fail_over_to(master);
    let before = connections(connected());
    let error = refused(&here, "x").await;
    assert!(error.to_string().contains("may have forgotten"), "{error}");
    assert_eq!(connections(connected()), before, "it was the old socket");
}

#[tokio::test]
async fn young_masters_grant_nothing_unless_they_are_blessed_together() {
    let cluster = SlotCluster::start(3);
    let here = client(&cluster).await;
    // They were started moments ago, and show nothing else that speaks for them.
    let young = refused(&here, "x").await;
    let causes = causes(&young);
    assert!(matches!(causes[..], [NodeError::Quarantined { .. }]), "{causes:?}");
    assert!(cluster.keys().is_empty(), "{:?}", cluster.keys());
    soon(here.bless()).await.unwrap();
    let marks = cluster.keys();
    assert_eq!(marks.len(), 3, "{marks:?}");
    assert!(marks.iter().all(|key| key.starts_with("palisade_mark:")), "{marks:?}");
    let again = soon(here.bless()).await.unwrap_err();
    assert!(matches!(again, BlessError::BlessedBefore { .. }), "{again:?}");
    for name in ["a", "b", "c"] {
        for client in [&here, &client(&cluster).await] {
            soon(client.lock(name).acquire()).await.unwrap().release().await.unwrap();
        }
    }
    assert_eq!(cluster.keys(), marks);
}

#[tokio::test]
async fn master_that_came_back_without_its_data_grants_nothing_at_first() {
    let cluster = SlotCluster::start(3);
    let here = client(&cluster).await;
    soon(here.bless()).await.unwrap();
    let lock = here.lock("x").with_lease(Lease::Fixed(LEASE));
    let guard = soon(lock.acquire()).await.unwrap();
    let master = owner(&cluster, "x");
    cluster.kill(master);
    cluster.restart(master);
    cluster.wait_until_ok();
    refused(&client(&cluster).await, "x").await;
    assert!(guard.ensure_valid().is_ok());
}

/// The mark of a master is on another one, and moves like any key.
#[tokio::test]
async fn mark_is_found_wherever_its_slot_is() {
    let cluster = SlotCluster::start(3);
    soon(client(&cluster).await.bless()).await.unwrap();
    for mark in cluster.keys() {
        let (slot, from) = (cluster.slot_of(&mark), owner(&cluster, &mark));
        let to = (from + 1) % 3;
        cluster.begin_move(slot, to);
        let half = soon(client(&cluster).await.lock("half").acquire()).await.unwrap();
        soon(half.release()).await.unwrap();
        cluster.move_keys(slot, to);
        for name in ["a", "b", "c"] {
            let guard = soon(client(&cluster).await.lock(name).acquire()).await.unwrap();
            soon(guard.release()).await.unwrap();
        }
        cluster.finish_move(slot, to);
    }
    let guard = soon(client(&cluster).await.lock("x").acquire()).await.unwrap();
    soon(guard.release()).await.unwrap();
}

/// Of waiters that left while the replica did not hear of it, or with the master.
#[tokio::test]
async fn dead_places_that_came_back_with_a_replica_keep_nobody_out_one_by_one() {
    const QUEUE: &str = "redisson_lock_queue:{x}";
    let cluster = SlotCluster::replicated(3);
    let client = soon(settings(&cluster).failover(Failover::Trust).connect()).await.unwrap();
    let lock = client.fair_lock("x").on_outage(OnOutage::Wait);
    let held = soon(lock.acquire()).await.unwrap();
    let (process, _) = held.holder_id().split_once(':').unwrap();
    for place in 1..=5 {
        let server = &cluster[owner(&cluster, "x")];
        let (end, dead) = (format!("900000000000{place}"), format!("{process}:90{place}"));
        server.cli(&["ZADD", "redisson_lock_timeout:{x}", &end, &dead]);
        server.cli(&["RPUSH", QUEUE, &dead]);
        assert_eq!(server.cli(&["WAIT", "1", "10000"]).trim(), "1");
    }
    soon(held.release()).await.unwrap();
    lose_master_of(&cluster, "x", &[]);
    assert_eq!(cluster[owner(&cluster, "x")].cli(&["LLEN", QUEUE]).trim(), "5");
    let began = std::time::Instant::now();
    let guard = soon(lock.acquire()).await.unwrap();
    // Ten seconds for all of them, not for each.
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    assert_eq!(soon(lock.waiting()).await.unwrap(), Vec::<String>::new());
    soon(guard.release()).await.unwrap();
}
