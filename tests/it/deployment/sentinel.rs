//! A replicated master that sentinels watch over.

use std::{sync::Arc, time::Duration};

use palisade::{
    AcquireError, Client, ClientBuilder, Lease, OnOutage,
    error::{BlessError, ConnectError, NodeError},
    settings::{Failover, Sentinels as Watched, Tls},
};
use testkit::{Authority, FaultProxy, RedisServer, Sentinels, TlsPort};

use crate::support::{causes, eventually, soon};

/// A master, a replica of it, and the sentinels of both.
pub(crate) struct Replicated {
    pub(super) master: RedisServer,
    pub(crate) replica: RedisServer,
    /// Further replicas.
    others: Vec<RedisServer>,
    pub(crate) sentinels: Sentinels,
}

/// As if the master had been running for long, which on a busy machine it may have been by now.
pub(super) async fn bless(client: &Client) {
    match client.bless().await {
        Ok(()) | Err(BlessError::Old { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}

/// The longest lease. No hold of these tests ends before a failover is over.
pub(crate) const LEASE: Duration = Duration::from_secs(15);

impl Replicated {
    pub(crate) async fn start() -> Self {
        Self::start_of(1).await
    }

    async fn start_of(replicas: usize) -> Self {
        let (master, replica) = (RedisServer::start(), RedisServer::start());
        let others: Vec<_> = (1..replicas).map(|_| RedisServer::start()).collect();
        others.iter().chain([&replica]).for_each(|replica| replica.follow(&master));
        let sentinels = Sentinels::over(master.addr(), replicas, 3);
        let redis = Self { master, replica, others, sentinels };
        bless(&redis.client().await).await;
        redis
    }

    pub(crate) fn settings(&self) -> ClientBuilder {
        Client::builder()
            .sentinels(Watched::new(self.sentinels.hosts(), Sentinels::SERVICE))
            .fleet_max_lease(LEASE)
            .clock_skew(Duration::from_millis(200))
            .connect_timeout(Duration::from_secs(5))
    }

    /// Once the replica has all that was written until now.
    pub(crate) async fn replicated(&self) {
        let mut connection = self.master.connect();
        connection.command(&["SET", "the last", "1"]).unwrap();
        eventually(|| connection.command(&["WAIT", "1", "100"]).unwrap().int() == 1).await;
    }

    pub(crate) async fn client(&self) -> Client {
        self.settings().connect().await.unwrap()
    }

    /// One that is not told that the replica has lost what it had: it stands for one that never had it.
    async fn untold(&self) -> Client {
        self.settings().tracking(false).connect().await.unwrap()
    }

    /// The master dies, and the replica takes its place, without what `lost` names.
    fn lose_master(&self, lost: &[&str]) {
        self.master.kill();
        self.sentinels.replace(self.master.port());
        for key in lost {
            self.replica.cli(&["DEL", key]);
        }
    }
}

pub(super) fn is_quarantined(error: &AcquireError) -> bool {
    matches!(causes(error)[..], [NodeError::Quarantined { .. }])
}

#[tokio::test]
async fn master_is_found_while_a_sentinel_answers() {
    let mut redis = Replicated::start().await;
    redis.sentinels.kill(0);
    redis.sentinels.freeze(1);
    let client = redis.client().await;
    let guard = client.lock("x").acquire().await.unwrap();
    assert_eq!(redis.master.keys(), ["x"]);
    guard.release().await.unwrap();
    assert!(client.node_id().as_str().starts_with("orders@127.0.0.1:"), "{}", client.node_id());
}

#[tokio::test]
async fn nobody_who_knows_the_master_is_an_error_that_says_so() {
    let master = RedisServer::start();
    let mut sentinels = Sentinels::over(master.addr(), 0, 1);
    let refused = async |hosts: &[String], service: &str| {
        let error = soon(Client::sentinel(hosts, service)).await.unwrap_err();
        let ConnectError::Node { source, .. } = error else { panic!("{error:?}") };
        source
    };
    let unreachable = async |hosts: &[String], service: &str| {
        let source = refused(hosts, service).await;
        assert!(matches!(source, NodeError::Unreachable { .. }), "{source:?}");
        source.to_string()
    };
    let hosts = sentinels.hosts();
    let unknown = unreachable(&hosts, "invoices").await;
    assert!(unknown.contains("it does not know the service"), "{unknown}");
    let server = master.addr().to_string();
    let no_sentinel = refused(std::slice::from_ref(&server), "orders").await;
    assert!(matches!(no_sentinel, NodeError::Unsupported { .. }), "{no_sentinel:?}");
    let no_sentinel = no_sentinel.to_string();
    assert!(no_sentinel.contains("no sentinel tells where orders is"), "{no_sentinel}");
    assert!(no_sentinel.contains("it is no sentinel, but a server"), "{no_sentinel}");
    sentinels.kill(0);
    let down = unreachable(&hosts, "orders").await;
    assert!(down.contains("Connection refused"), "{down}");
    // The one that is down may be a sentinel, and come back.
    let down = unreachable(&[hosts, vec![server]].concat(), "orders").await;
    assert!(down.contains("it is no sentinel, but a server"), "{down}");
}

#[tokio::test]
async fn sentinels_may_have_a_password_of_their_own() {
    let master = RedisServer::builder().password("of the master").start();
    let sentinels = Sentinels::guarded(master.addr(), "of-sentinels");
    let watched = Watched::new(sentinels.hosts(), Sentinels::SERVICE);
    let settings = Client::builder().password("of the master").failover(Failover::Trust);
    let client = settings.clone().sentinels(watched.clone().password("of-sentinels"));
    let guard = client.connect().await.unwrap().lock("x").acquire().await.unwrap();
    guard.release().await.unwrap();
    let error = soon(settings.sentinels(watched).connect()).await.unwrap_err();
    assert!(format!("{error:?}").contains("NOAUTH"), "{error:?}");
}

#[tokio::test]
async fn hold_lives_through_a_planned_failover_and_nobody_else_gets_in() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.client().await, redis.client().await);
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    redis.sentinels.fail_over();
    eventually(|| redis.replica.calls_of("pexpire") > 0).await;
    assert!(guard.ensure_valid().is_ok());
    // The old master says that it is held until it is told that it is a replica.
    loop {
        match soon(other.lock("x").try_acquire()).await {
            Ok(None) => {}
            Err(refused) if is_quarantined(&refused) => break,
            not_yet_asked => assert!(not_yet_asked.is_err(), "{not_yet_asked:?}"),
        }
    }
    let waiter = tokio::spawn({
        let lock = other.lock("x");
        async move { lock.acquire().await }
    });
    guard.release().await.unwrap();
    let guard = soon(waiter).await.unwrap().unwrap();
    assert_eq!(redis.replica.keys(), ["x"]);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn promoted_replica_grants_nothing_that_it_may_have_forgotten() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.untold().await, redis.client().await);
    let guard = client.lock("x").with_lease(Lease::Fixed(LEASE)).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = other.lock("x");
        async move { lock.acquire().await }
    });
    redis.lose_master(&["x"]);
    assert!(guard.ensure_valid().is_ok(), "it outlives the failover");
    // A process that comes only now knows nothing of the master before.
    let late = redis.client().await;
    let refused = soon(late.lock("x").try_acquire()).await.unwrap_err();
    assert!(is_quarantined(&refused), "{refused:?}");
    let next = soon(waiter).await.unwrap().unwrap();
    assert!(guard.ensure_valid().is_err(), "two held it");
    next.release().await.unwrap();
}

/// The first sentinel leads. It announces the new master to clients that connected before when it has made
/// all other replicas follow that. Until then the old one lives, and would grant what the new one never hears
/// of.
#[tokio::test]
async fn old_master_is_left_when_its_successor_is_promoted() {
    let redis = Replicated::start_of(2).await;
    let client = redis.client().await;
    let guard = client.lock("x").acquire().await.unwrap();
    let waiter = tokio::spawn({
        let lock = redis.client().await.lock("x").on_outage(OnOutage::Wait);
        async move { lock.acquire().await }
    });
    redis.sentinels.begin_failover();
    let is_master =
        |server: &RedisServer| server.cli(&["INFO", "replication"]).contains("role:master");
    let replicas = || redis.others.iter().chain([&redis.replica]);
    eventually(|| replicas().any(is_master)).await;
    let promoted = replicas().find(|server| is_master(server)).unwrap();
    eventually(|| promoted.calls_of("pexpire") > 0).await;
    assert_eq!(redis.sentinels.master(), redis.master.port(), "it was told before");
    guard.release().await.unwrap();
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
}

/// What the wait is for.
#[tokio::test]
async fn promoted_replica_that_is_trusted_grants_what_is_held() {
    let redis = Replicated::start().await;
    let trusting = redis.settings().failover(Failover::Trust);
    let client = trusting.clone().tracking(false).connect().await.unwrap();
    let guard = client.lock("x").with_lease(Lease::Fixed(LEASE)).acquire().await.unwrap();
    redis.lose_master(&["x"]);
    let other = trusting.connect().await.unwrap();
    let _second = soon(other.lock("x").acquire()).await.unwrap();
    assert!(guard.ensure_valid().is_ok(), "both hold it");
}

#[tokio::test]
async fn over_and_back_is_two_failovers() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.client().await, redis.client().await);
    let guard = client.lock("x").acquire().await.unwrap();
    redis.sentinels.fail_over();
    redis.sentinels.fail_over();
    redis.master.cli(&["DEL", "x"]);
    // It was not told that it was not the master for a while: its data has the mark of this very run.
    let refused = loop {
        match soon(other.lock("y").try_acquire()).await {
            Err(refused) if is_quarantined(&refused) => break refused,
            // One of both was not the master at that moment.
            Err(_) => {}
            Ok(granted) => panic!("{granted:?}"),
        }
    };
    assert!(refused.to_string().contains("may have forgotten"), "{refused}");
    // Whether it was renewed on the other one in between decides whether it was forced open or forgotten.
    drop(guard);
}

#[tokio::test]
async fn tokens_rise_though_the_counter_was_lost() {
    let redis = Replicated::start().await;
    let (client, other) = (redis.client().await, redis.client().await);
    let guard = client.fenced_lock("x").acquire().await.unwrap();
    let before = guard.fencing_token();
    redis.lose_master(&["x", "redisson_lock_token:{x}"]);
    drop(guard);
    let next = soon(other.fenced_lock("x").acquire()).await.unwrap();
    assert!(next.fencing_token() > before, "{} after {before}", next.fencing_token());
    next.release().await.unwrap();
}

#[tokio::test]
async fn address_of_the_master_may_be_another_from_here() {
    let master = RedisServer::start();
    let sentinels = Sentinels::over(master.addr(), 0, 1);
    let proxy = Arc::new(FaultProxy::before(&master));
    let (told, reached) = (master.port(), proxy.addr().port());
    let settings = Client::builder()
        .sentinels(Watched::new(sentinels.hosts(), Sentinels::SERVICE))
        .failover(Failover::Trust);
    let mapped = settings.clone().address_map(move |host, port| {
        assert_eq!(port, told);
        (host.to_owned(), reached)
    });
    let client = mapped.connect().await.unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    proxy.cut();
    guard.release().await.unwrap();
    let panics = settings.address_map(|_, _| panic!("a map panics"));
    let error = soon(panics.connect()).await.unwrap_err();
    assert!(format!("{error:?}").contains("the address_map panicked"), "{error:?}");
}

#[tokio::test]
async fn everything_may_be_said_by_an_url_and_over_tls() {
    let authority = Authority::new();
    let tls_port = TlsPort::new(&authority.issue(&["127.0.0.1"]));
    let master = RedisServer::builder().password("a/b").tls(tls_port).start();
    let sentinels = Sentinels::guarded(master.addr(), "of-sentinels");
    let hosts = sentinels.hosts().join(",");
    let query = "sentinel_password=of-sentinels";
    let settings = Client::builder().failover(Failover::Trust);
    let url = format!("redis+sentinel://:a%2Fb@{hosts}/orders/3?{query}");
    let plain = settings.clone().url(&url).connect().await.unwrap();
    let guard = plain.lock("x").acquire().await.unwrap();
    assert!(plain.node_id().as_str().ends_with("/3"), "{}", plain.node_id());
    // Sentinels tell the plain port.
    let tls_port = master.tls_port();
    let secured = settings.clone().address_map(move |host, _| (host.to_owned(), tls_port));
    let secured = secured.url(&url.replace("redis+", "rediss+"));
    let secured = secured.tls(Tls::new().ca_file(authority.root())).connect().await.unwrap();
    assert!(secured.lock("x").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    let asked_over_tls = settings.url(&format!("{url}&sentinel_tls=true"));
    let asked_over_tls = asked_over_tls.tls(Tls::new().ca_file(authority.root()));
    let error = soon(asked_over_tls.connect()).await.unwrap_err();
    assert!(format!("{error:?}").contains("127.0.0.1:"), "sentinels speak none: {error:?}");
}

#[test]
fn sentinels_that_cannot_be_asked_are_refused_before() {
    for (hosts, service) in [
        (vec![], "orders"),
        (vec!["a", "b:port"], "orders"),
        (vec!["redis://a"], "orders"),
        (vec!["a"], ""),
    ] {
        let error = Client::builder().sentinels(Watched::new(&hosts, service)).build().unwrap_err();
        assert!(error.to_string().starts_with("sentinels: "), "{hosts:?}: {error}");
    }
}
