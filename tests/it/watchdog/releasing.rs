//! What is dropped is given back.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;
use palisade::{Client, Masters, clock::BootClock};
use rand::random_range;
use testkit::{Cluster, Fault, FaultProxy, RedisServer, Way};
use tokio::net::TcpStream;

use crate::{
    fleet::{Composite, Fleet, HANG, Rule, client, eventually, masters, within},
    support::{acquired, eventually_blocking},
};

// proves: drop-never-blocks
#[tokio::test]
async fn thousand_guards_dropped_at_once_are_all_released() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    let names: Vec<_> = (0..1_000).map(|i| format!("x:{i}")).collect();
    let guards =
        join_all(names.iter().map(async |name| client.lock(name).acquire().await.unwrap()));
    let guards = guards.await;
    assert_eq!(server.keys().len(), 1_000);
    drop(guards);
    eventually("all are released", || server.keys().is_empty()).await;
    client.shutdown(HANG).await.unwrap();
}

#[test]
fn guard_dropped_outside_a_runtime_after_its_own_has_ended_is_released() {
    let server = RedisServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let guard = runtime.block_on(async {
        let client = client(&server.url()).connect().await.unwrap();
        client.lock("x").acquire().await.unwrap()
    });
    drop(runtime);
    assert_eq!(server.keys(), ["x"]);
    drop(guard);
    let next = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    next.block_on(eventually("it is released", || server.keys().is_empty()));
}

#[test]
fn guard_dropped_in_a_blocked_runtime_is_released() {
    let server = RedisServer::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The releaser takes a connection of its own after the time of a vote.
        let client = client(&server.url()).node_timeout(Duration::from_millis(500));
        drop(acquired(&client.connect().await.unwrap().lock("x")).await);
        // This thread is the runtime, and it does nothing but look.
        eventually_blocking(|| server.keys().is_empty());
    });
}

/// The release of a `RedLock` returns with the majority's confirmations, and then the runtime that
/// was to see to the rest is not run.
#[test]
fn minority_of_a_release_is_seen_to_although_the_runtime_has_stopped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let servers = Cluster::start(3);
    let proxy = FaultProxy::before(&servers[2]);
    let urls = [servers[0].url(), servers[1].url(), proxy.url()];
    let guard = runtime.block_on(async {
        // A clock of its own is a watchdog of its own: what it leaves to runtimes for as long as a
        // vote may take, it leaves for as long as the longest vote of all its clients.
        let clock = Arc::new(BootClock);
        let brief = |url: &String| client(url).node_timeout(Duration::from_secs(5));
        let clients = urls.iter().map(|url| brief(url).clock(clock.clone()));
        let guard = masters(clients).await.red_lock("x").acquire().await.unwrap();
        eventually("all grant", || guard.votes() == 3).await;
        guard
    });
    proxy.set(Fault::Blackhole(Way::Requests));
    runtime.block_on(guard.release()).unwrap();
    proxy.heal();
    eventually_blocking(|| servers[2].keys().is_empty());
    drop(runtime);
}

// proves: final-release
/// A release may arrive on one connection before the acquire that was sent earlier on another one:
/// only a release after the acquire's stamp is final then.
#[test]
fn release_that_overtakes_its_acquire_is_sent_again() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let (direct, slow) = (server.addr(), proxy.addr());
    // The releaser connects by itself, past the proxy.
    let dial = move || {
        let is_releaser = std::thread::current().name() == Some("palisade-theirs");
        TcpStream::connect(if is_releaser { direct } else { slow })
    };
    let client =
        client(&server.url()).connector("two ways", dial).node_timeout(Duration::from_secs(5));
    let client = client.build().unwrap();
    on_a_runtime(async {
        let lock = client.lock("x");
        lock.acquire().await.unwrap().release().await.unwrap();
        proxy.set(Fault::Stall(Way::Requests));
        let given_up = tokio::time::timeout(Duration::from_millis(50), lock.acquire()).await;
        assert!(given_up.is_err());
    });
    // With its runtime the connection of the acquire has ended: the release goes the other way.
    on_a_runtime(async {
        eventually("the release comes first", || server.calls_of("hexists") >= 1).await;
        assert_eq!(server.calls_of("hset"), 1);
        proxy.heal();
        eventually("the acquire is late", || server.calls_of("hset") == 2).await;
        // Long before its lease is over.
        eventually("its key is removed", || server.keys().is_empty()).await;
        client.shutdown(HANG).await.unwrap();
    });
}

/// The output of `work` on a runtime that ends with it.
fn on_a_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

// proves: drop-never-blocks
/// 500 futures dropped at random times, on a free lock and on one that is held by others, at least
/// once each: while connecting, asking, subscribing, standing in line, taking back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_hundred_acquires_dropped_at_random_leave_no_key() {
    let fleet = Fleet::start_to_wait_out(3).await;
    let others = Arc::new(fleet.another_process().await);
    let droppers = (0..5).map(|i| tokio::spawn(drop_acquires(i, others.clone())));
    let droppers: Vec<_> =
        droppers.chain([tokio::spawn(drop_acquires(5, Arc::new(fleet.masters.clone())))]).collect();
    for dropper in within(HANG, "all are dropped", join_all(droppers)).await {
        dropper.unwrap();
    }
    fleet.end(&[Masters::clone(&others)]).await;
}

/// Contends for a few names as a single lock, a `MultiLock` or a `RedLock`, and drops what comes.
async fn drop_acquires(number: usize, masters: Arc<Masters>) {
    for round in 0..100 {
        let patience = Duration::from_micros(random_range(0..5_000));
        // The kinds must not meet on one name: single locks are no members of the others.
        let name = format!("{}:{}", round % 3, random_range(0..2));
        let acquire = async {
            match round % 3 {
                0 => masters.clients()[number % 3].lock(&name).acquire().await,
                1 => composite(Rule::All, &masters, &name).acquire().await,
                _ => composite(Rule::Majority, &masters, &name).acquire().await,
            }
        };
        if let Ok(guard) = tokio::time::timeout(patience, acquire).await {
            let guard = guard.unwrap();
            let release = guard.release();
            let patience = Duration::from_micros(random_range(0..1_000));
            if let Ok(released) = tokio::time::timeout(patience, release).await {
                released.unwrap();
            }
        }
    }
}

fn composite(rule: Rule, masters: &Masters, name: &str) -> Composite {
    rule.lock(masters, name)
}

/// The first thing a client does is dropped: its connection is still being made.
#[tokio::test]
async fn acquires_dropped_while_connecting_leave_no_key() {
    let server = RedisServer::start();
    let mut clients = Vec::new();
    for _ in 0..50 {
        let client = Client::connect_lazy(server.url()).unwrap();
        let lock = client.lock("x");
        let patience = Duration::from_micros(random_range(0..4_000));
        drop(tokio::time::timeout(patience, lock.acquire()).await);
        clients.push(client);
    }
    for client in clients {
        client.shutdown(HANG).await.unwrap();
    }
    assert!(server.keys().is_empty());
}
