//! A master that is cut off together with some of its clients. They go on there, while the others go on with
//! the replica that takes its place.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use palisade::{Client, ClientBuilder, LockGuard, OnOutage, settings::Sentinels as Watched};
use testkit::{Fault, FaultProxy, RedisServer, RedisServerBuilder, Sentinels, Way};

use super::sentinel::bless;
use crate::support::{eventually, soon};

/// The longest lease.
const LEASE: Duration = Duration::from_secs(6);

/// How old the last word of a replica may be, in seconds.
const LAG: &str = "1";

/// The master behind a line that can be cut: all but the clients beside it are on the other side.
struct Parted {
    master: RedisServer,
    _replicas: [RedisServer; 2],
    line: FaultProxy,
    sentinels: Sentinels,
    /// Between the clients beside the master and the sentinels.
    lines_to_sentinels: Vec<FaultProxy>,
}

impl Parted {
    async fn start(master: RedisServerBuilder) -> Self {
        let (master, replicas) = (master.start(), [RedisServer::start(), RedisServer::start()]);
        let line = FaultProxy::before(&master);
        for replica in &replicas {
            replica.cli(&["REPLICAOF", "127.0.0.1", &line.addr().port().to_string()]);
            let told = || replica.cli(&["INFO", "replication"]);
            eventually(|| told().contains("master_link_status:up")).await;
        }
        let sentinels = Sentinels::over(line.addr(), 2, 3);
        let lines_to_sentinels = sentinels.addrs().into_iter().map(FaultProxy::to).collect();
        let parted = Self { master, _replicas: replicas, line, sentinels, lines_to_sentinels };
        bless(&parted.beside_the_replica().connect().await.unwrap()).await;
        parted
    }

    fn settings(hosts: Vec<String>) -> ClientBuilder {
        Client::builder()
            .sentinels(Watched::new(hosts, Sentinels::SERVICE))
            .fleet_max_lease(LEASE)
            .watchdog_lease(LEASE)
            .clock_skew(Duration::from_millis(200))
            .connect_timeout(Duration::from_secs(2))
    }

    fn beside_the_replica(&self) -> ClientBuilder {
        Self::settings(self.sentinels.hosts())
    }

    fn beside_the_master(&self) -> ClientBuilder {
        let hosts = self.lines_to_sentinels.iter().map(|line| line.addr().to_string()).collect();
        let (line, direct): (SocketAddr, u16) = (self.line.addr(), self.master.port());
        let map = move |host: &str, port: u16| {
            (host.to_owned(), if port == line.port() { direct } else { port })
        };
        Self::settings(hosts).address_map(map)
    }

    fn part(&self) {
        self.lines_to_sentinels.iter().for_each(|line| line.set(Fault::Blackhole(Way::Both)));
        self.line.set(Fault::Blackhole(Way::Both));
    }

    /// A lock that is held beside the master when that is cut off; whether it still is when the same is granted
    /// on the other side.
    async fn is_held_twice(&self, settings: impl Fn(ClientBuilder) -> ClientBuilder) -> bool {
        let here = soon(settings(self.beside_the_master()).connect()).await.unwrap();
        let there = soon(settings(self.beside_the_replica()).connect()).await.unwrap();
        let held: LockGuard = soon(here.lock("x").acquire()).await.unwrap();
        // Renewals have a socket of their own, which the sentinels are asked for.
        let before = held.deadline();
        eventually(|| held.deadline() > before).await;
        self.part();
        let parted = Instant::now();
        let next = soon(there.lock("x").on_outage(OnOutage::Wait).acquire()).await.unwrap();
        let is_held = held.ensure_valid().is_ok();
        assert!(parted.elapsed() >= LEASE, "granted after {:?}", parted.elapsed());
        soon(next.release()).await.unwrap();
        is_held
    }
}

/// What the documentation warns of: the old master does not know that it is one.
#[tokio::test]
async fn holder_beside_it_goes_on_beside_another() {
    let parted = Parted::start(RedisServer::builder()).await;
    assert!(parted.is_held_twice(|settings| settings).await);
}

#[tokio::test]
async fn holder_beside_it_ends_if_replicas_are_waited_for() {
    let parted = Parted::start(RedisServer::builder()).await;
    let replicated = |settings: ClientBuilder| settings.replicas(1);
    assert!(!parted.is_held_twice(replicated).await);
}

/// It refuses to write soon, and the other waits for so much longer.
#[tokio::test]
async fn holder_beside_it_ends_if_the_master_wants_replicas() {
    let master = RedisServer::builder()
        .arg("--min-replicas-to-write", "1")
        .arg("--min-replicas-max-lag", LAG);
    let parted = Parted::start(master).await;
    let lagging = |settings: ClientBuilder| settings.failover_lag(Duration::from_secs(2));
    assert!(!parted.is_held_twice(lagging).await);
}
