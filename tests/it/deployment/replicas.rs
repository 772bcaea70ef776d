//! Grants that are on replicas before they count.

use std::time::{Duration, Instant};

use palisade::{
    AcquireError, AnyGuard, Client, ClientBuilder, MultiLock, RedLock,
    acl::{Rights, Use},
    error::{ConfigError, NodeError},
    settings::Sentinels as Watched,
};
use testkit::{Fault, FaultProxy, RedisServer, Sentinels};

use super::sentinel::bless;
use crate::support::{Look, causes, eventually, ms, patient, soon, watchdog};

/// What a replica that is there may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(2);

/// A master with a replica.
struct Pair {
    master: RedisServer,
    replica: RedisServer,
}

impl Pair {
    fn start() -> Self {
        let pair = Self { master: RedisServer::start(), replica: RedisServer::start() };
        pair.replica.follow(&pair.master);
        pair
    }

    fn settings(&self) -> ClientBuilder {
        patient(&self.master).replicas(1).replicas_timeout(LIMIT)
    }

    async fn client(&self) -> Client {
        self.settings().connect().await.unwrap()
    }
}

fn short(error: &AcquireError) -> Vec<(u32, u32)> {
    let short = |cause: &NodeError| match cause {
        NodeError::NotReplicated { wanted, replicas, .. } => (*wanted, *replicas),
        other => panic!("{other:?}"),
    };
    causes(error).into_iter().map(short).collect()
}

#[tokio::test]
async fn grant_is_on_the_replica_when_it_counts() {
    let Pair { master, replica } = Pair::start();
    let proxy = FaultProxy::before(&master);
    replica.cli(&["REPLICAOF", "127.0.0.1", &proxy.addr().port().to_string()]);
    eventually(|| master.command(&["WAIT", "1", "10"]).int() == 1).await;
    proxy.set(Fault::Delay(ms(100)));
    let client = patient(&master).replicas(1).replicas_timeout(LIMIT).connect().await.unwrap();
    for (round, name) in ["a", "b"].into_iter().enumerate() {
        let fenced = client.fenced_lock(name);
        let guard = soon(fenced.acquire()).await.unwrap();
        assert!(replica.exists(name), "round {round}");
        guard.release().await.unwrap();
    }
}

#[tokio::test]
async fn stopped_replica_fails_an_acquire_in_time_and_nothing_stands_afterwards() {
    let pair = Pair::start();
    let client = pair.settings().replicas_timeout(ms(300)).connect().await.unwrap();
    pair.replica.freeze();
    let began = Instant::now();
    let error = soon(client.lock("x").try_acquire()).await.unwrap_err();
    assert_eq!(short(&error), [(1, 0)]);
    assert!(began.elapsed() >= ms(300) && began.elapsed() < ms(300) + LIMIT, "{began:?}");
    assert!(error.to_string().contains("0 of the 1 replicas"), "{error}");
    assert!(causes(&error)[0].is_unknown() && causes(&error)[0].is_transient());
    assert!(pair.master.keys().is_empty(), "{:?}", pair.master.keys());
    pair.replica.thaw();
    let guard = soon(client.lock("x").acquire()).await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn acquire_that_waits_is_granted_when_the_replica_is_back() {
    let pair = Pair::start();
    let client = pair.settings().replicas_timeout(ms(100)).connect().await.unwrap();
    pair.replica.freeze();
    let lock = client.lock("x").on_outage(palisade::OnOutage::Wait);
    let waiter = tokio::spawn(async move { lock.acquire().await });
    // Each try publishes once, and so does the socket when it is made.
    eventually(|| pair.master.calls_of("wait") >= 3).await;
    assert!(!waiter.is_finished());
    pair.replica.thaw();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert!(pair.replica.exists("x"));
    guard.release().await.unwrap();
}

#[tokio::test]
async fn replica_that_stops_later_costs_the_hold_at_its_deadline_and_not_earlier() {
    let pair = Pair::start();
    let client = pair.settings().replicas_timeout(ms(100)).connect().await.unwrap();
    let lease = ms(3_000);
    let guard = client.lock("x").with_lease(watchdog(3_000)).acquire().await.unwrap();
    pair.replica.freeze();
    let (began, left) = (Instant::now(), guard.remaining());
    assert!(left > lease / 2, "{left:?}");
    eventually(|| pair.master.calls_of("pexpire") > 2).await;
    assert!(guard.ensure_valid().is_ok(), "renewals are tried again");
    let cause = soon(guard.lost()).await;
    let lived = began.elapsed();
    assert!(cause.is_expiry() && lived + ms(5) >= left, "{cause} after {lived:?}, {left:?}");
    assert!(pair.master.pttl("x") > 0, "the master was told all the while");
}

#[tokio::test]
async fn hold_outlives_a_replica_that_stops_for_a_while() {
    let pair = Pair::start();
    let client = pair.settings().replicas_timeout(ms(100)).connect().await.unwrap();
    let guard = client.lock("x").with_lease(watchdog(6_000)).acquire().await.unwrap();
    pair.replica.freeze();
    let (before, renewals) = (guard.deadline(), pair.master.calls_of("pexpire"));
    eventually(|| pair.master.calls_of("pexpire") > renewals + 1).await;
    assert_eq!(guard.deadline(), before, "nobody has confirmed it");
    pair.replica.thaw();
    eventually(|| guard.deadline() > before).await;
    guard.release().await.unwrap();
}

#[tokio::test]
async fn renewals_that_leave_together_are_waited_for_together() {
    let pair = Pair::start();
    let client = pair.client().await;
    let mut guards = Vec::new();
    for i in 0..300 {
        let lock = client.lock(format!("lock {i}")).with_lease(watchdog(6_000));
        guards.push(soon(lock.acquire()).await.unwrap());
    }
    let (waits, renewals) = (pair.master.calls_of("wait"), pair.master.calls_of("pexpire"));
    let deadlines: Vec<_> = guards.iter().map(palisade::LockGuard::deadline).collect();
    eventually(|| guards.iter().zip(&deadlines).all(|(guard, old)| guard.deadline() > *old)).await;
    let (waits, renewals) =
        (pair.master.calls_of("wait") - waits, pair.master.calls_of("pexpire") - renewals);
    assert!(renewals >= 300 && waits < 60, "{waits} for {renewals}");
}

#[tokio::test]
async fn promoted_replica_has_what_was_granted_right_before_the_master_died() {
    let (master, replicas) = (RedisServer::start(), [RedisServer::start(), RedisServer::start()]);
    for replica in &replicas {
        replica.follow(&master);
        // The one that is not promoted is to follow the other soon.
        replica.cli(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
    }
    let sentinels = Sentinels::over(master.addr(), 2, 3);
    let settings = Client::builder()
        .sentinels(Watched::new(sentinels.hosts(), Sentinels::SERVICE))
        .fleet_max_lease(Duration::from_secs(30))
        .clock_skew(ms(200))
        .connect_timeout(Duration::from_secs(5))
        .replicas(1);
    let client = settings.connect().await.unwrap();
    bless(&client).await;
    let guard = soon(client.fenced_lock("x").acquire()).await.unwrap();
    master.kill();
    sentinels.replace(master.port());
    let port = sentinels.master();
    let promoted = replicas.iter().find(|replica| replica.port() == port).unwrap();
    assert_eq!(promoted.hash("x").keys().collect::<Vec<_>>(), [guard.holder_id()]);
    let before = guard.deadline();
    // The other one follows the new master, so renewals count there, too.
    eventually(|| guard.deadline() > before).await;
    assert!(guard.ensure_valid().is_ok());
    guard.release().await.unwrap();
    assert!(!promoted.exists("x"));
}

#[tokio::test]
async fn member_whose_replica_is_stopped_does_not_vote() {
    let pairs: Vec<_> = (0..3).map(|_| Pair::start()).collect();
    let mut clients = Vec::new();
    for pair in &pairs {
        clients.push(pair.settings().replicas_timeout(ms(300)).connect().await.unwrap());
    }
    pairs[1].replica.freeze();
    let members = || clients.iter().map(|client| client.fenced_lock("x"));
    let all = MultiLock::new(clients.iter().map(|client| client.lock("m"))).unwrap();
    let error = soon(all.try_acquire()).await.unwrap_err();
    assert_eq!(short(&error), [(1, 0)]);
    eventually(|| pairs.iter().all(|pair| !pair.master.exists("m"))).await;
    let red = palisade::FencedRedLock::new(members()).unwrap();
    let guard = soon(red.acquire()).await.unwrap();
    assert_eq!(guard.votes(), 2);
    guard.release().await.unwrap();
    eventually(|| pairs.iter().all(|pair| !pair.master.exists("x"))).await;
    pairs[2].replica.freeze();
    let red = RedLock::new(clients.iter().map(|client| client.lock("r"))).unwrap();
    let error = soon(red.try_acquire()).await.unwrap_err();
    assert_eq!(short(&error), [(1, 0), (1, 0)]);
    eventually(|| pairs.iter().all(|pair| !pair.master.exists("r"))).await;
}

#[tokio::test]
async fn right_that_is_missing_is_known_before_anything_is_written() {
    let pair = Pair::start();
    let rights = Rights::new().with(Use::Lock, "x");
    for (rules, may) in [(rights.rules(), false), (rights.replicated().rules(), true)] {
        let mut words = vec!["ACL", "SETUSER", "app", "reset", "on", ">pw"];
        words.extend(rules.iter().map(String::as_str));
        pair.master.cli(&words);
        let client = pair.settings().user("app").password("pw").connect().await.unwrap();
        let granted = soon(client.lock("x").try_acquire()).await;
        assert_eq!(granted.is_ok(), may, "{granted:?}");
        if let Err(error) = granted {
            assert!(matches!(causes(&error)[..], [NodeError::Permission { .. }]), "{error:?}");
            assert_eq!(pair.master.calls_of("hset"), 0);
        }
    }
}

#[tokio::test]
async fn cluster_is_refused_before_anything_is_written() {
    let server = RedisServer::builder().arg("--cluster-enabled", "yes").start();
    server.serve_slots(0..16_384);
    eventually(|| server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")).await;
    let client = patient(&server).replicas(1).connect().await.unwrap();
    let error = soon(client.lock("x").try_acquire()).await.unwrap_err();
    assert!(matches!(causes(&error)[..], [NodeError::Unsupported { .. }]), "{error:?}");
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn connection_that_broke_costs_no_more_than_a_try() {
    let pair = Pair::start();
    let client = pair.client().await;
    soon(client.lock("x").acquire()).await.unwrap().release().await.unwrap();
    pair.master.cli(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    let lock = client.lock("x").on_outage(palisade::OnOutage::Wait);
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
}

/// What it has granted may be gone, though it is a master again when replicas are counted.
#[tokio::test]
async fn grant_does_not_count_for_who_looked_out_before_the_master_was_a_replica_for_a_while() {
    let pair = Pair::start();
    let client = pair.client().await;
    soon(client.lock("x").acquire()).await.unwrap().release().await.unwrap();
    pair.master.cli(&["REPLICAOF", "127.0.0.1", &pair.master.port().to_string()]);
    pair.master.cli(&["REPLICAOF", "NO", "ONE"]);
    eventually(|| pair.master.command(&["WAIT", "1", "10"]).int() == 1).await;
    let error = soon(client.lock("x").try_acquire()).await.unwrap_err();
    assert_eq!(short(&error), [(1, 0)]);
    assert!(pair.master.keys().is_empty(), "{:?}", pair.master.keys());
    soon(client.lock("x").acquire()).await.unwrap().release().await.unwrap();
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let settings = Client::builder().url("redis://127.0.0.1").replicas(1_000);
    assert!(settings.clone().build().is_ok());
    for (bad, named) in [
        (settings.clone().replicas(1_001), "replicas"),
        (settings.clone().replicas_timeout(Duration::ZERO), "replicas_timeout"),
    ] {
        let error = bad.build().unwrap_err();
        let ConfigError::InvalidSetting { setting, .. } = &error else { panic!("{error:?}") };
        assert_eq!(*setting, named);
    }
}
