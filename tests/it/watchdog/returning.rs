//! What holders learn when a server is back: at once, and not when the next renewal is due.

use std::time::{Duration, Instant};

use palisade::{Lease, LostCause, RedLock, embedded::Server};
use testkit::{Cluster, FaultProxy, RedisServer};

use crate::{
    fleet::{client, eventually, within},
    outside::ask,
    support::{acquired, promptly},
};

/// Down for so long that attempts to connect are rare by then.
const OUTAGE: Duration = Duration::from_secs(3);

#[tokio::test]
async fn lock_is_lost_as_soon_as_its_server_is_back_without_it() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    // Renewed after minutes, or not at all.
    let guards = [
        acquired(&client.lock("x")).await,
        acquired(&client.lock("y").with_lease(Lease::Fixed(Duration::from_secs(600)))).await,
    ];
    server.kill();
    tokio::time::sleep(OUTAGE).await;
    server.restart_empty();
    let back = Instant::now();
    for guard in &guards {
        assert_eq!(promptly(&server, guard.lost()).await, LostCause::Gone);
    }
    println!("lost {:?} after the server answered", back.elapsed());
}

#[tokio::test]
async fn lock_is_lost_as_soon_as_a_majority_is_back_without_it() {
    let servers = Cluster::start(5);
    let mut locks = Vec::new();
    for url in servers.urls() {
        locks.push(client(&url).connect().await.unwrap().lock("x"));
    }
    let lock = RedLock::new(locks).unwrap();
    let guard = within(OUTAGE * 10, "the lock", lock.acquire()).await.unwrap();
    eventually("all granted", || guard.votes() == 5).await;
    (0..3).for_each(|i| servers.kill(i));
    tokio::time::sleep(OUTAGE).await;
    (0..3).for_each(|i| servers.restart_empty(i));
    let back = Instant::now();
    let last = servers.iter().nth(2).unwrap();
    promptly(last, guard.cancellation_token().cancelled()).await;
    println!("lost {:?} after the last server answered", back.elapsed());
    assert_eq!(guard.lost().await, LostCause::QuorumGone);
}

/// Connections that are made to break again and again do not make renewals a burden.
#[tokio::test]
async fn broken_connections_bring_renewals_forward_once_a_second() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = client(&proxy.url()).connect().await.unwrap();
    let mut guards = Vec::new();
    for i in 0..20 {
        guards.push(acquired(&client.lock(format!("x:{i}"))).await);
    }
    // Each of them sets a ttl.
    let renewals = || server.calls_of("pexpire");
    let (granted, began) = (renewals(), Instant::now());
    while renewals() < granted + 40 {
        proxy.cut();
        eventually("it is connected again", || server.connected_clients() > 0).await;
        assert!(began.elapsed() < OUTAGE * 10, "{} renewals", renewals() - granted);
        // Ten breaks a second, each of which leaves renewals time to be executed.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(began.elapsed() >= Duration::from_millis(900), "{:?}", began.elapsed());
    assert!(guards.iter().all(palisade::LockGuard::is_held));
}

/// A short lease is renewed several times a second, whatever is brought forward to the next one.
#[tokio::test(start_paused = true)]
async fn broken_connections_put_off_no_renewal() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    let lock = lock.with_lease(Lease::WatchdogOf(Duration::from_millis(600)));
    let guard = lock.acquire().await.unwrap();
    for _ in 0..50 {
        let list: String = ask(&server, &["CLIENT", "LIST"]).await;
        for line in list.lines() {
            let id = line.strip_prefix("id=").and_then(|rest| rest.split(' ').next()).unwrap();
            let _is_closed: i64 = ask(&server, &["CLIENT", "KILL", "ID", id]).await;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(guard.is_held());
    }
    guard.release().await.unwrap();
}
