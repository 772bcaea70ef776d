//! A Redis Cluster, whose slots move and whose masters die.

use std::{
    future::Future,
    sync::{Arc, mpsc},
    thread,
    time::Duration,
};

use futures::future::join_all;
use palisade::{
    AnyGuard, AnyLock, Client, ClientBuilder, Lease, LockGuard, MultiLock, RedLock,
    error::{ChangeError, ConfigError, ConnectError, InspectError, NodeError},
    settings::Failover,
};
use testkit::{Fault, FaultProxy, SlotCluster, Way};

use crate::support::{HANG, causes, eventually, soon};

/// In three slots, of three masters out of three.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// What has to be renewed while a test goes on.
const SHORT: Duration = Duration::from_secs(6);

pub(crate) fn settings(cluster: &SlotCluster) -> ClientBuilder {
    Client::builder()
        .cluster(cluster.hosts())
        .failover(Failover::Trust)
        .watchdog_lease(SHORT)
        .node_timeout(Duration::from_secs(2))
        .connect_timeout(Duration::from_secs(5))
}

pub(super) async fn client(cluster: &SlotCluster) -> Client {
    soon(settings(cluster).connect()).await.unwrap()
}

/// Another master than the one that has the key's slot.
pub(super) fn another(cluster: &SlotCluster, key: &str) -> usize {
    (cluster.owner_of(cluster.slot_of(key)) + 1) % 3
}

fn ttl(cluster: &SlotCluster, server: usize, key: &str) -> i64 {
    cluster[server].command(&["PTTL", key]).int()
}

/// Those of the rules whose words its servers know: before 7.0 nothing is announced by shard.
pub(super) fn known<'a>(
    cluster: &SlotCluster,
    rules: &'a [String],
) -> impl Iterator<Item = &'a str> {
    let is_new = cluster[0].version() >= (7, 0);
    let sharded = ["+spublish", "+ssubscribe", "+sunsubscribe", "+pubsub|shardnumsub"];
    rules.iter().map(String::as_str).filter(move |rule| is_new || !sharded.contains(rule))
}

/// Waits until the key was renewed there.
pub(super) async fn renewed(cluster: &SlotCluster, server: usize, key: &str) {
    let mut connection = cluster[server].connect();
    let mut least = i64::MAX;
    eventually(|| {
        // Its slot may be on its way.
        connection.command(&["ASKING"]).unwrap();
        let left = connection.command(&["PTTL", key]).unwrap().int();
        left > std::mem::replace(&mut least, left)
    })
    .await;
}

/// A few of those that are refused, as the server words it.
pub(super) fn codes(errors: &[&NodeError]) -> Vec<String> {
    let code = |error: &&NodeError| match error {
        NodeError::Server { code, .. } => code.to_string(),
        other => format!("{other:?}"),
    };
    errors.iter().map(code).collect()
}

/// Held under all names at once, waited for, and passed on.
async fn works<L: AnyLock>(of: impl Fn(&Client, &str) -> L) {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let held: Vec<_> = NAMES.iter().map(|name| of(&here, name)).collect();
    let wanted: Vec<_> = NAMES.iter().map(|name| of(&there, name)).collect();
    let guards: Vec<_> = soon(join_all(held.iter().map(AnyLock::acquire))).await;
    for refused in join_all(wanted.iter().map(AnyLock::try_acquire)).await {
        assert!(refused.unwrap().is_none());
    }
    let waits = join_all(wanted.iter().map(AnyLock::acquire));
    let releases = async {
        for guard in guards {
            soon(guard.unwrap().release()).await.unwrap();
        }
    };
    let (granted, ()) = soon(futures::future::join(waits, releases)).await;
    for guard in granted {
        soon(guard.unwrap().release()).await.unwrap();
    }
    eventually(|| cluster.keys().iter().all(|key| key.contains("token"))).await;
}

/// It has begun to look which server has which slots, and its runtime is not run any more.
#[test]
fn caller_that_stands_still_keeps_nobody_from_looking() {
    let cluster = SlotCluster::start(3);
    let [run, not_run] = [(); 2]
        .map(|()| tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap());
    let client = settings(&cluster).build().unwrap();
    let lock = client.lock("a");
    let mut parked = Box::pin(lock.acquire());
    not_run.block_on(async { assert!(futures::poll!(&mut parked).is_pending()) });
    run.block_on(async {
        soon(client.lock("b").acquire()).await.unwrap().release().await.unwrap();
    });
    drop(parked);
}

#[tokio::test]
async fn simple_locks_work() {
    works(|client, name| client.lock(name)).await;
}

#[tokio::test]
async fn fenced_locks_work() {
    works(|client, name| client.fenced_lock(name)).await;
}

#[tokio::test]
async fn fair_locks_work() {
    works(|client, name| client.fair_lock(name)).await;
}

#[tokio::test]
async fn writers_work() {
    works(|client, name| client.rw_lock(name).write()).await;
}

#[tokio::test]
async fn locks_of_several_slots_are_held_together() {
    works(|client, name| {
        let names = NAMES.map(|other| format!("{name} and {other}"));
        MultiLock::new(names.map(|name| client.lock(name))).unwrap()
    })
    .await;
}

#[tokio::test]
async fn readers_permits_and_latches_work() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    for name in NAMES {
        let (one, two) = (here.rw_lock(name).read(), there.rw_lock(name).read());
        let guards = [soon(one.acquire()).await.unwrap(), soon(two.acquire()).await.unwrap()];
        for guard in guards {
            guard.release().await.unwrap();
        }
        let (ours, theirs) = (here.semaphore(name), there.semaphore(name));
        assert!(soon(ours.try_set_permits(1)).await.unwrap());
        let permit = soon(theirs.acquire()).await.unwrap();
        assert!(ours.try_acquire().await.unwrap().is_none());
        let (next, released) = soon(futures::future::join(ours.acquire(), permit.release())).await;
        released.unwrap();
        next.unwrap().release().await.unwrap();
        let latch = here.count_down_latch(format!("{name} latch"));
        assert!(soon(latch.try_set_count(1)).await.unwrap());
        let waits = there.count_down_latch(format!("{name} latch"));
        let (waited, down) = soon(futures::future::join(waits.wait(), latch.count_down())).await;
        assert!(waited.is_ok() && down.unwrap());
    }
}

#[tokio::test]
async fn one_server_that_is_named_is_enough_also_a_replica_and_by_an_url() {
    let cluster = SlotCluster::replicated(3);
    let replica = cluster[4].addr();
    let url = format!("redis+cluster://127.0.0.1:1,{replica}");
    let client = Client::builder().url(&url).failover(Failover::Trust);
    let client = soon(client.connect()).await.unwrap();
    for name in NAMES {
        let guard = soon(client.lock(name).acquire()).await.unwrap();
        assert_eq!(cluster.keys(), [name]);
        guard.release().await.unwrap();
    }
    assert_eq!(client.node_id().as_str(), format!("cluster@127.0.0.1:1,{replica}/0"));
}

#[tokio::test]
async fn nobody_of_a_cluster_is_an_error_that_says_so() {
    let (server, cluster) = (testkit::RedisServer::start(), SlotCluster::start(1));
    let refused = async |host: String| {
        let client = Client::builder().cluster([host]).failover(Failover::Trust);
        let error = soon(client.connect()).await.unwrap_err();
        let ConnectError::Node { source, .. } = error else { panic!("{error:?}") };
        source.to_string()
    };
    let plain = refused(server.addr().to_string()).await;
    assert!(plain.contains("it is one by itself, and in no cluster"), "{plain}");
    cluster.kill(0);
    let dead = refused(cluster[0].addr().to_string()).await;
    assert!(dead.contains("Connection refused"), "{dead}");
}

/// A client that reaches each master through a proxy.
async fn through_proxies(cluster: &SlotCluster) -> (Client, Vec<Arc<FaultProxy>>) {
    let proxies: Vec<_> = (0..3).map(|n| Arc::new(FaultProxy::before(&cluster[n]))).collect();
    let behind: Vec<_> =
        proxies.iter().enumerate().map(|(n, it)| (cluster[n].port(), it.addr().port())).collect();
    let settings = settings(cluster).node_timeout(Duration::from_secs(30));
    let mapped = settings.address_map(move |host, port| {
        let (_, reached) = behind.iter().find(|(told, _)| *told == port).unwrap();
        (host.to_owned(), *reached)
    });
    (soon(mapped.connect()).await.unwrap(), proxies)
}

// proves: no-blind-resend
/// A socket that breaks says nothing of what was executed, wherever the slot is by then.
#[tokio::test]
async fn lock_that_may_have_been_forced_open_is_not_forced_open_again() {
    let cluster = SlotCluster::start(3);
    let (here, there) = (client(&cluster).await, client(&cluster).await);
    let (cut_off, proxies) = through_proxies(&cluster).await;
    let lock = cut_off.lock("x");
    assert!(!soon(lock.is_locked()).await.unwrap());
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let waiter = tokio::spawn({
        let lock = there.lock("x");
        async move { lock.acquire().await }
    });
    eventually(|| there.subscriptions() == 1).await;
    let owner = cluster.owner_of(cluster.slot_of("x"));
    proxies[owner].set(Fault::Stall(Way::Replies));
    let forcing = tokio::spawn(async move { lock.force_release().await });
    // It was done, and the waiter is next.
    let next = soon(waiter).await.unwrap().unwrap();
    proxies[owner].cut();
    proxies[owner].heal();
    let InspectError::Node { source, .. } = soon(forcing).await.unwrap().unwrap_err() else {
        panic!("it is a matter of the server");
    };
    assert!(source.is_unknown(), "{source:?}");
    assert_eq!(cluster.keys(), ["x"], "the next one's was forced open");
    drop(guard);
    soon(next.release()).await.unwrap();
}

#[tokio::test]
async fn master_that_dies_without_a_replica_takes_its_slots_and_no_others_holds() {
    let cluster = SlotCluster::start(3);
    let settings = settings(&cluster).watchdog_lease(Duration::from_secs(30));
    let client = soon(settings.connect()).await.unwrap();
    let locks = NAMES.map(|name| client.lock(name));
    let held = soon(join_all(locks.iter().map(AnyLock::acquire))).await;
    let held: Vec<LockGuard> = held.into_iter().map(Result::unwrap).collect();
    let owner = cluster.owner_of(cluster.slot_of("x"));
    cluster.kill(owner);
    let alive = (owner + 1) % 3;
    eventually(|| cluster[alive].cli(&["CLUSTER", "INFO"]).contains("cluster_state:fail")).await;
    // A slot that lives: the cluster as a whole serves no client.
    let other = NAMES.iter().find(|name| cluster.owner_of(cluster.slot_of(name)) == alive);
    let refused = soon(client.lock(other.unwrap()).try_acquire()).await.unwrap_err();
    assert_eq!(codes(&causes(&refused)), ["CLUSTERDOWN"]);
    cluster.restart(owner);
    cluster.wait_until_ok();
    // What it had is gone; what others have is renewed.
    for guard in &held {
        let owner_of_it = cluster.owner_of(cluster.slot_of(guard.name()));
        if owner_of_it == owner {
            soon(guard.lost()).await;
        } else {
            assert!(guard.ensure_valid().is_ok() && ttl(&cluster, owner_of_it, guard.name()) > 0);
        }
    }
    // It was down a moment ago, and may not have been called again yet.
    let lock = client.lock("x").on_outage(palisade::OnOutage::Wait);
    let guard = soon(lock.acquire()).await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn hold_lives_through_the_death_of_its_master_and_is_passed_on_by_the_next() {
    let cluster = SlotCluster::replicated(3);
    let lease = Duration::from_secs(45);
    let clients =
        [settings(&cluster), settings(&cluster)].map(|it| it.watchdog_lease(lease).connect());
    let [here, there] = clients.map(soon);
    let (here, there) = (here.await.unwrap(), there.await.unwrap());
    let guard = soon(here.lock("x").acquire()).await.unwrap();
    let waiter = tokio::spawn({
        let lock = there.lock("x").on_outage(palisade::OnOutage::Wait);
        async move { lock.acquire().await }
    });
    eventually(|| there.subscriptions() == 1).await;
    let owner = cluster.owner_of(cluster.slot_of("x"));
    let has_it = |replica: usize| cluster[replica].command(&["DBSIZE"]).int() == 1;
    eventually(|| (3..6).any(has_it)).await;
    cluster.kill(owner);
    cluster.wait_until_replaced(owner);
    let next = cluster.owner_of(cluster.slot_of("x"));
    renewed(&cluster, next, "x").await;
    guard.ensure_valid().unwrap();
    assert!(!waiter.is_finished());
    soon(guard.release()).await.unwrap();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert_eq!(cluster[next].keys(), ["x"]);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn majority_takes_no_two_locks_of_one_cluster() {
    let cluster = SlotCluster::start(3);
    let one = client(&cluster).await;
    let same = RedLock::new([one.lock("a"), one.lock("b")]).unwrap_err();
    assert!(matches!(same, ConfigError::SameServer { .. }), "{same:?}");
    // By another server of it: only they can tell.
    let other = Client::builder().cluster(&cluster.hosts()[1..2]).build().unwrap();
    let hosts = &cluster.hosts()[..1];
    let first = Client::builder().cluster(hosts).build().unwrap();
    let two = RedLock::new([first.lock("a"), other.lock("b")]).unwrap();
    let refused = soon(two.try_acquire()).await.unwrap_err();
    let text = format!("{refused:?}");
    assert!(text.contains("SameServer"), "{text}");
    eventually(|| cluster.keys().is_empty()).await;
}

#[tokio::test]
async fn what_cannot_be_promised_is_refused_before_anything_is_sent() {
    let cluster = || Client::builder().cluster(["127.0.0.1:1"]);
    let refused = |builder: ClientBuilder| match builder.build().unwrap_err() {
        ConfigError::InvalidSetting { setting, .. } => setting,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(cluster().database(1)), "database");
    assert_eq!(refused(Client::builder().cluster(["redis://a"])), "cluster");
}

#[tokio::test]
async fn password_is_that_of_all_servers() {
    let cluster = SlotCluster::start_of(3, |server| server.password("a/b"));
    let url = |login: &str| format!("redis+cluster://{login}{}", cluster.hosts()[1]);
    let trusting = Client::builder().failover(Failover::Trust);
    let client = soon(trusting.clone().url(&url(":a%2Fb@")).connect()).await.unwrap();
    for name in NAMES {
        let guard = soon(client.lock(name).acquire()).await.unwrap();
        guard.release().await.unwrap();
    }
    let untold = soon(trusting.url(&url("")).connect()).await.unwrap_err();
    let ConnectError::Node { source, .. } = &untold else { panic!("{untold:?}") };
    assert!(matches!(source, NodeError::Authentication { .. }), "{untold:?}");
}

/// The output of `work`, on a thread of its own: what never waits would let no time pass, and no runtime end.
fn apart<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tell.send(runtime.block_on(work)).unwrap();
    });
    told.recv_timeout(HANG).expect("it does not end")
}

/// Why a semaphore was not set up.
fn why_not_made(settings: ClientBuilder) -> String {
    let error = apart(async move {
        let client = settings.build().unwrap();
        client.semaphore("x").try_set_permits(1).await.unwrap_err()
    });
    let ChangeError::NotMade { source, .. } = &error else { panic!("{error:?}") };
    codes(&[source]).concat()
}

#[tokio::test]
async fn change_is_not_made_if_the_cluster_is_down_for_too_long() {
    let cluster = SlotCluster::start(3);
    let settings = settings(&cluster).node_timeout(Duration::from_millis(500));
    let owner = cluster.owner_of(cluster.slot_of("x"));
    cluster.kill((owner + 1) % 3);
    eventually(|| cluster[owner].cli(&["CLUSTER", "INFO"]).contains("cluster_state:fail")).await;
    assert_eq!(why_not_made(settings), "CLUSTERDOWN");
}

/// It has some of the keys only, and others after each failover.
#[tokio::test]
async fn one_server_of_a_cluster_by_itself_is_refused_and_names_the_way_to_all() {
    let cluster = SlotCluster::start(3);
    cluster[0].cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"]);
    let error = soon(Client::connect(&cluster[0].url_with("app", "pw"))).await.unwrap_err();
    let ConnectError::Node { source, .. } = &error else { panic!("{error:?}") };
    assert!(matches!(source, NodeError::Unsupported { .. }), "{error:?}");
    assert!(source.to_string().contains("redis+cluster://"), "{error:?}");
}

/// Without the right to ask how large the cluster is, the first key that is elsewhere tells.
#[tokio::test]
async fn one_server_of_a_cluster_by_itself_refuses_what_is_elsewhere() {
    let cluster = SlotCluster::start(3);
    let elsewhere = &cluster[another(&cluster, "x")];
    elsewhere.cli(&["ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-cluster"]);
    let client = soon(Client::connect(&elsewhere.url_with("app", "pw"))).await.unwrap();
    let lock = client.lock("x").with_lease(Lease::Fixed(SHORT));
    let refused = soon(lock.try_acquire()).await.unwrap_err();
    assert!(matches!(causes(&refused)[..], [NodeError::Unsupported { .. }]), "{refused:?}");
    assert!(refused.to_string().contains("redis+cluster://"), "{refused}");
}
