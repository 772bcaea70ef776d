//! `kill -9`, of holders and of waiters.

use std::time::{Duration, Instant};

use testkit::{RedisServer, Reply};

use crate::peers::{HANG, LONG_MS, SHORT_MS, Servers, Side, both_ways, eventually, listeners};

#[test]
fn plain_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["lock", "lock"], sides));
}

#[test]
fn fenced_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["fenced", "fenced"], sides));
}

#[test]
fn fair_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["fair", "fair"], sides));
}

#[test]
fn multi_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["multi", "multi"], sides));
}

#[test]
fn write_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["write", "write"], sides));
    both_ways(|sides| holder_dies(["write", "read"], sides));
}

#[test]
fn read_lock_of_a_killed_holder_is_the_other_languages_when_the_lease_ends() {
    both_ways(|sides| holder_dies(["read", "write"], sides));
}

#[test]
fn killed_waiter_for_a_plain_lock_disturbs_nobody() {
    both_ways(|sides| waiter_dies("lock", sides));
}

#[test]
fn killed_waiter_for_a_fenced_lock_disturbs_nobody() {
    both_ways(|sides| waiter_dies("fenced", sides));
}

#[test]
fn killed_waiter_for_a_multi_lock_disturbs_nobody() {
    both_ways(|sides| waiter_dies("multi", sides));
}

#[test]
fn killed_waiter_for_a_write_lock_disturbs_nobody() {
    both_ways(|sides| waiter_dies("write", sides));
}

/// One kind is held, and the other is waited for.
fn holder_dies([kind, wanted]: [&str; 2], [dies, waits]: [Side; 2]) {
    let servers = Servers::start_for(kind);
    let mut dies = dies.start(&servers, SHORT_MS);
    let mut waits = waits.start(&servers, SHORT_MS);
    assert!(dies.ask(&format!("acquire {kind} x a -1 0")).starts_with("granted"));
    waits.tell(&format!("acquire {wanted} x a -1 {LONG_MS}"));
    eventually(|| waiters(&servers) > 0);
    servers.iter().for_each(wait_for_a_renewal);
    let end = servers.iter().map(end_of_the_lease).max().unwrap();
    let before: Vec<_> = servers.iter().map(holders).collect();
    dies.kill();
    assert_eq!(servers.iter().map(holders).collect::<Vec<_>>(), before, "its lease goes on");
    assert!(waits.answer(HANG).starts_with("granted"));
    assert!(Instant::now() >= end, "it did not wait for the end of the lease");
    for (server, before) in servers.iter().zip(before) {
        let now = holders(server);
        assert!(now.len() == 1 && now != before, "{now:?} after {before:?}");
    }
}

/// The holder and the waiter that lives on are of two languages: a write lock of Redisson may miss the `1`
/// of Redisson.
fn waiter_dies(kind: &str, [dies, waits]: [Side; 2]) {
    let servers = Servers::start_for(kind);
    let [mut holds, mut dies] = [(); 2].map(|()| dies.start(&servers, LONG_MS));
    let mut waits = waits.start(&servers, LONG_MS);
    let acquire = format!("acquire {kind} x a -1 {LONG_MS}");
    assert!(holds.ask(&acquire).starts_with("granted"));
    dies.tell(&acquire);
    eventually(|| waiters(&servers) == 1);
    waits.tell(&acquire);
    eventually(|| waiters(&servers) == 2);
    dies.kill();
    eventually(|| waiters(&servers) == 1);
    assert_eq!(holds.ask(&format!("held {kind} x a")), "held");
    assert_eq!(holds.ask(&format!("release {kind} x a")), "released");
    assert!(waits.answer_promptly(&servers[0]).starts_with("granted"));
    assert_eq!(waits.ask(&format!("release {kind} x a")), "released");
    assert!(servers.iter().all(|server| holders(server).is_empty()));
}

/// How many processes wait for `x`. A composite listens wherever it was refused: where most do counts.
fn waiters(servers: &Servers) -> i64 {
    servers.iter().map(listeners).max().unwrap()
}

fn holders(server: &RedisServer) -> Vec<String> {
    let fields = server.command(&["HKEYS", "x"]);
    let fields = fields.array().iter().map(Reply::to_string);
    fields.filter(|field| field != "mode").collect()
}

/// Not before this, unless it is renewed; the clock of a server counts in milliseconds.
fn end_of_the_lease(server: &RedisServer) -> Instant {
    let now = Instant::now();
    let ttl = server.command(&["PTTL", "x"]).int().try_into().unwrap();
    now + Duration::from_millis(ttl) - Duration::from_millis(1)
}

/// Returns when the ttl of the lock was seen to grow.
fn wait_for_a_renewal(server: &RedisServer) {
    let ttl = || server.command(&["PTTL", "x"]).int();
    let mut last = ttl();
    eventually(|| ttl() > std::mem::replace(&mut last, ttl()));
}
