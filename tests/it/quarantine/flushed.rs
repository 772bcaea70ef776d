//! Masters that lose their data while they run: nothing about their process tells.

use std::time::Duration;

use palisade::{AcquireError, ClientBuilder, Lease, LockGuard, Masters, OnOutage, Quarantine};
use testkit::{Cluster, RedisServer};

use super::{
    D, MAX_LEASE, client, counts_in, marker_on, stranger, wary, wary_masters, wary_strangers,
};
use crate::fleet::{Composite, HANG, Rule, SOON, drained, eventually, masters, within};

/// Three blessed masters, a hold on all of them, and a client that has had votes there before.
struct Field {
    servers: Cluster,
    holder: Masters,
    guard: LockGuard,
    idle: Masters,
}

impl Field {
    async fn start() -> Self {
        let servers = Cluster::start(3);
        let holder = wary_masters(&servers).await;
        holder.bless().await.unwrap();
        let idle = wary_strangers(&servers).await;
        for rule in Rule::BOTH {
            let guard = rule.lock(&idle, "warm-up").try_acquire().await.unwrap();
            guard.expect("it is free").release().await.unwrap();
        }
        let lock = holder.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE));
        let guard = lock.try_acquire().await.unwrap().expect("it is free");
        eventually("all have granted", || guard.votes() == 3).await;
        Self { servers, holder, guard, idle }
    }

    async fn end(self, others: &[&Masters]) {
        drop(self.guard);
        for masters in [&self.holder, &self.idle].into_iter().chain(others.iter().copied()) {
            drained(masters).await;
        }
    }
}

/// The whole of D from now on: what the process of the master has seen does not count. These are
/// young, too, and tell their uptime in whole seconds.
fn is_lost(error: &AcquireError) {
    let left = counts_in(error);
    assert!(left > D - HANG && left <= D + Duration::from_secs(1), "{error}");
    assert!(error.to_string().contains(" lost their data"), "{error}");
}

/// Two of three masters were flushed; the third still knows the holder, and which of them is heard
/// first decides what is told.
async fn is_not_granted(field: &Field, masters: &Masters) {
    let granted = masters.red_lock("x").try_acquire().await;
    assert!(field.guard.is_held(), "it believes");
    match granted {
        Ok(granted) => assert!(granted.is_none(), "two hold it"),
        Err(error) => is_lost(&error),
    }
    is_lost(&masters.red_lock("y").try_acquire().await.unwrap_err());
    for server in [&field.servers[0], &field.servers[1]] {
        assert!(server.keys().is_empty(), "nothing was granted");
        assert!(marker_on(server).starts_with("waits "), "{}", marker_on(server));
    }
}

// proves: no-forgetful-vote
#[tokio::test]
async fn flushed_majority_does_not_grant_again_while_the_first_may_believe() {
    let field = Field::start().await;
    field.servers[0].flush();
    field.servers[1].flush();
    let newcomer = wary_strangers(&field.servers).await;
    for masters in [&field.idle, &newcomer] {
        is_not_granted(&field, masters).await;
    }
    field.end(&[&newcomer]).await;
}

/// Its run goes on and its sockets stay open.
#[tokio::test]
async fn majority_that_was_made_a_replica_of_an_empty_one_and_back_does_not_grant_again() {
    let field = Field::start().await;
    let empty = RedisServer::builder().arg("--repl-diskless-sync-delay", "0").start();
    for server in [&field.servers[0], &field.servers[1]] {
        server.cli(&["REPLICAOF", "127.0.0.1", &empty.port().to_string()]);
        let synced = || server.cli(&["INFO", "replication"]).contains("master_link_status:up");
        eventually("it has its data", synced).await;
        server.cli(&["REPLICAOF", "NO", "ONE"]);
    }
    let newcomer = wary_strangers(&field.servers).await;
    for masters in [&field.idle, &newcomer] {
        is_not_granted(&field, masters).await;
    }
    field.end(&[&newcomer]).await;
}

/// A lock by itself, of clients that say so.
#[tokio::test]
async fn flushed_server_does_not_grant_a_single_lock_again_if_its_client_says_always() {
    let server = RedisServer::start();
    server.bless();
    let always = |builder: ClientBuilder| builder.quarantine(Quarantine::Always).build().unwrap();
    let (holder, other) = (always(client(&server.url())), always(stranger(&server)));
    other.lock("y").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    let guard = holder.lock("x").acquire().await.unwrap();
    server.flush();
    let error = other.lock("x").try_acquire().await.unwrap_err();
    assert!(counts_in(&error) > D - HANG, "{error}");
    assert!(guard.is_held());
    drop(guard);
}

/// With leases so short that D is, since an age of more than D is what misleads. All are asked before they
/// are flushed: the first mark of one that has not answered yet would be written behind that.
#[tokio::test]
async fn newcomer_to_a_master_that_was_flushed_does_not_trust_its_age() {
    let servers = Cluster::start(3);
    old(&servers).await;
    let holder = brief_masters(&servers).await;
    let lock = holder.multi_lock("x").with_lease(Lease::Fixed(SHORT));
    let guard = granted(&Composite::Multi(lock)).await;
    servers.iter().for_each(RedisServer::flush);
    let newcomer = brief_masters(&servers).await;
    let error = decided(&Composite::Red(newcomer.red_lock("x"))).await.unwrap_err();
    assert!(error.to_string().contains(" lost their data"), "{error}");
    drop(guard);
    for masters in [&holder, &newcomer] {
        drained(masters).await;
    }
}

#[tokio::test]
async fn idle_client_that_wakes_to_another_mark_of_the_run_takes_it_and_writes_nothing() {
    let field = Field::start().await;
    field.servers.iter().for_each(RedisServer::flush);
    let first = wary_strangers(&field.servers).await;
    is_lost(&first.red_lock("y").try_acquire().await.unwrap_err());
    let marks: Vec<_> = field.servers.iter().map(marker_on).collect();
    assert!(marks.iter().all(|mark| mark.starts_with("waits ")), "{marks:?}");
    is_lost(&field.idle.multi_lock("y").try_acquire().await.unwrap_err());
    assert_eq!(field.servers.iter().map(marker_on).collect::<Vec<_>>(), marks);

    first.bless_by_force().await.unwrap();
    let marks: Vec<_> = field.servers.iter().map(marker_on).collect();
    let guard = within(SOON, "it looks again", field.idle.multi_lock("y").acquire()).await;
    guard.unwrap().release().await.unwrap();
    assert_eq!(field.servers.iter().map(marker_on).collect::<Vec<_>>(), marks);
    field.end(&[&first]).await;
}

/// All holds on a master are asked for as soon as any task of their client learns of the loss.
#[tokio::test]
async fn holder_whose_client_learns_that_the_data_is_gone_is_told_at_once() {
    let field = Field::start().await;
    field.servers.iter().for_each(RedisServer::flush);
    is_lost(&field.holder.red_lock("y").try_acquire().await.unwrap_err());
    within(SOON, "it is lost", field.guard.lost()).await;
    field.end(&[]).await;
}

/// A restart is waited out once, by the age of the process.
#[tokio::test]
async fn master_whose_data_survived_a_restart_longer_ago_than_d_is_not_waited_for() {
    let servers = Cluster::start_with(
        3,
        &RedisServer::builder().arg("--appendonly", "yes").arg("--appendfsync", "always"),
    );
    let before = brief_masters(&servers).await;
    let lock = |masters: &Masters| Composite::Multi(masters.multi_lock("x"));
    granted(&lock(&before)).await.release().await.unwrap();
    drained(&before).await;
    let old_marks: Vec<_> = servers.iter().map(marker_on).collect();
    assert!(old_marks.iter().all(|mark| mark.starts_with("epoch ")), "{old_marks:?}");
    for i in 0..servers.len() {
        servers.kill(i);
        servers.restart(i);
    }
    assert_eq!(servers.iter().map(marker_on).collect::<Vec<_>>(), old_marks, "the data survived");
    old(&servers).await;
    let after = brief_masters(&servers).await;
    let guard = decided(&lock(&after)).await.unwrap();
    guard.expect("it is free").release().await.unwrap();
    assert!(servers.iter().all(|server| marker_on(server).starts_with("epoch ")));
    drained(&after).await;
}

/// Completes when all have been running for longer than the brief ones' D, however it is counted.
pub(super) async fn old<'a>(servers: impl IntoIterator<Item = &'a RedisServer> + Clone) {
    let limit = brief_d().as_secs() + 2;
    let are_old = || servers.clone().into_iter().all(|server| uptime(server) > limit);
    eventually("they are old", are_old).await;
}

fn uptime(server: &RedisServer) -> u64 {
    let info = server.cli(&["INFO", "server"]);
    let uptime = info.lines().find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    uptime.unwrap().trim().parse().unwrap()
}

const SHORT: Duration = Duration::from_secs(2);
const SKEW: Duration = Duration::from_millis(10);

/// D of the brief ones.
fn brief_d() -> Duration {
    SHORT + SHORT / 100 + Duration::from_secs(1) + SKEW
}

/// Strangers with leases so short that D is.
pub(super) fn brief(builder: ClientBuilder) -> ClientBuilder {
    wary(builder).fleet_max_lease(SHORT).watchdog_lease(SHORT).clock_skew(SKEW)
}

async fn brief_masters(servers: &Cluster) -> Masters {
    masters(servers.iter().map(|server| brief(stranger(server)))).await
}

/// A vote is late by chance where the lease is so short: that is another outage than a quarantine.
pub(super) async fn granted(lock: &Composite) -> LockGuard {
    let lock = match lock.clone() {
        Composite::Multi(lock) => Composite::Multi(lock.on_outage(OnOutage::Wait)),
        Composite::Red(lock) => Composite::Red(lock.on_outage(OnOutage::Wait)),
    };
    within(HANG, "it is granted", lock.acquire()).await.unwrap()
}

/// The same of one attempt.
pub(super) async fn decided(lock: &Composite) -> Result<Option<LockGuard>, AcquireError> {
    loop {
        match lock.try_acquire().await {
            Err(AcquireError::Unavailable { .. }) => {}
            decided => return decided,
        }
    }
}
