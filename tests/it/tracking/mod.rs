//! Holds that are told at once that their keys were taken away, on real servers. Leases are so long that no renewal
//! comes in time to find it.

mod costs;
mod crowds;
mod moves;
mod streaks;

use std::{sync::mpsc, thread};

use palisade::{Client, LockGuard, error::LostCause};
use testkit::RedisServer;

use crate::{
    fleet::Fleet,
    support::{LONG_LEASE, eventually, fixed, patient, patiently, promptly, soon},
};

/// A client that has changes of its keys told.
async fn tracking(server: &RedisServer) -> Client {
    let settings = patient(server).redisson_watchdog(LONG_LEASE).tracking(true);
    settings.connect().await.unwrap()
}

/// How many keys the server is to tell about.
fn tracked_keys(server: &RedisServer) -> u64 {
    let info = server.cli(&["INFO", "stats"]);
    let line = info.lines().find_map(|line| line.strip_prefix("tracking_total_keys:"));
    line.unwrap().trim().parse().unwrap()
}

/// Waits until the next change of so many keys is told.
async fn listening(server: &RedisServer, keys: u64) {
    eventually(|| tracked_keys(server) >= keys).await;
}

async fn lost_after(server: &RedisServer, guard: &LockGuard, strike: &[&[&str]]) -> LostCause {
    listening(server, 1).await;
    assert!(guard.is_held());
    for command in strike {
        assert!(!server.command(command).is_error(), "{command:?}");
    }
    promptly(server, guard.lost()).await
}

const STRIKES: [&[&[&str]]; 7] = [
    &[&["DEL", "x"]],
    &[&["UNLINK", "x"]],
    &[&["FLUSHALL"]],
    &[&["PEXPIRE", "x", "1"]],
    &[&["SET", "x", "foreign"]],
    &[&["RENAME", "x", "y"]],
    // As Redisson forces a lock open, but for that it says so.
    &[&["DEL", "x"], &["HSET", "x", "other:1", "1"]],
];

#[tokio::test]
async fn hold_of_any_kind_is_told_however_its_key_goes() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    for strike in STRIKES {
        let (rw, fresh) = (client.rw_lock("x"), || server.flush());
        let guard = client.lock("x").acquire().await.unwrap();
        lost_after(&server, &guard, strike).await;
        fresh();
        let guard = client.lock("x").with_lease(fixed(100_000)).acquire().await.unwrap();
        lost_after(&server, &guard, strike).await;
        fresh();
        let guard: LockGuard = client.fenced_lock("x").acquire().await.unwrap().into();
        lost_after(&server, &guard, strike).await;
        fresh();
        let guard = client.fair_lock("x").acquire().await.unwrap();
        lost_after(&server, &guard, strike).await;
        fresh();
        let guard: LockGuard = rw.read().acquire().await.unwrap().into();
        lost_after(&server, &guard, strike).await;
        fresh();
        let guard: LockGuard = rw.write().acquire().await.unwrap().into();
        lost_after(&server, &guard, strike).await;
        fresh();
    }
}

/// It has changed, and stands: the next change is told, too.
#[tokio::test]
async fn key_is_read_again_behind_a_change() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").with_lease(fixed(100_000)).acquire().await.unwrap();
    for ttl in ["90000", "80000"] {
        listening(&server, 1).await;
        server.command(&["PEXPIRE", "x", ttl]);
    }
    lost_after(&server, &guard, &[&["DEL", "x"]]).await;
}

#[tokio::test]
async fn permit_with_a_lease_is_told_that_it_is_gone() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let leases = "{x}:timeout";
    for strike in [&["DEL", leases][..], &["FLUSHALL"], &["ZREMRANGEBYRANK", leases, "0", "-1"]] {
        let semaphore = client.expirable_semaphore("x");
        semaphore.set_permits(2).await.unwrap();
        let permit = semaphore.acquire().await.unwrap();
        listening(&server, 1).await;
        assert!(!server.command(strike).is_error());
        promptly(&server, permit.lost()).await;
        server.flush();
    }
}

/// What is thrown away since memory is full.
#[tokio::test]
async fn evicted_hold_is_told() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    listening(&server, 1).await;
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-random"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    server.command(&["SET", "y", "1"]);
    promptly(&server, guard.lost()).await;
}

#[tokio::test]
async fn lease_that_was_cut_short_is_renewed_at_once() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    listening(&server, 1).await;
    server.command(&["PEXPIRE", "x", "30000"]);
    eventually(|| server.command(&["PTTL", "x"]).int() > 40_000).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
}

/// It is not renewed, so it ends when the server says.
#[tokio::test]
async fn fixed_lease_that_was_cut_short_ends_as_early() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").with_lease(fixed(100_000)).acquire().await.unwrap();
    listening(&server, 1).await;
    let before = guard.deadline();
    server.command(&["PEXPIRE", "x", "40000"]);
    eventually(|| guard.deadline() < before).await;
    assert!(guard.is_held());
}

/// Whatever runs where it was acquired.
#[tokio::test]
async fn hold_of_a_blocked_runtime_is_told() {
    let server = RedisServer::start();
    let (hand, guards) = mpsc::channel();
    let (unblock, blocked) = mpsc::channel::<()>();
    let url = server.url();
    let user = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let settings = patiently(Client::builder().url(&url)).tracking(true);
            let client = settings.connect().await.unwrap();
            hand.send(client.lock("x").acquire().await.unwrap()).unwrap();
            blocked.recv().unwrap();
        });
    });
    let guard = guards.recv().unwrap();
    listening(&server, 1).await;
    server.command(&["DEL", "x"]);
    eventually(|| !guard.is_held()).await;
    unblock.send(()).unwrap();
    user.join().unwrap();
}

/// What changes a key and leaves the hold as it is ends nothing.
#[tokio::test]
async fn what_is_told_is_no_verdict() {
    let server = RedisServer::start();
    let client = tracking(&server).await;
    let guard = client.lock("x").acquire().await.unwrap();
    for change in [&["PERSIST", "x"][..], &["PEXPIRE", "x", "500000"], &["HSET", "x", "a:1", "1"]] {
        listening(&server, 1).await;
        let looks = server.calls_of("hlen");
        server.command(change);
        eventually(|| server.calls_of("hlen") > looks).await;
    }
    listening(&server, 1).await;
    assert!(guard.is_held());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn lock_of_several_masters_is_told_by_each() {
    let fleet = Fleet::tracking(3).await;
    let all = fleet.masters.multi_lock("x").acquire().await.unwrap();
    for server in fleet.servers.iter() {
        listening(server, 1).await;
    }
    fleet.servers[1].command(&["DEL", "x"]);
    promptly(&fleet.servers[1], all.lost()).await;
    drop(all);
}

#[tokio::test]
async fn majority_goes_on_while_it_stands_and_wins_back_what_was_taken() {
    let fleet = Fleet::tracking(3).await;
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    for server in fleet.servers.iter() {
        listening(server, 1).await;
    }
    fleet.servers[0].command(&["DEL", "x"]);
    soon(async {
        while guard.votes() == 3 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(guard.is_held());
    fleet.servers[1].command(&["DEL", "x"]);
    let lost = promptly(&fleet.servers[1], guard.lost()).await;
    assert!(!matches!(lost, LostCause::Expired), "{lost:?}");
}
