//! Readers of both languages on one lock, with leases and timers of their own.

use testkit::{RedisServer, Reply};

use crate::peers::{LONG_MS, SHORT_MS, Servers, Side, eventually};

/// Redisson's renewal would: it writes its watchdog's ttl, whatever stands there.
#[test]
fn renewal_of_palisade_leaves_a_longer_lease_of_redisson() {
    let servers = Servers::start_for("read");
    let server = &servers[0];
    let mut java = Side::Java.start(&servers, SHORT_MS);
    let mut rust = Side::Rust.start(&servers, SHORT_MS);
    assert_eq!(java.ask("acquire read x a 100000 0"), "granted");
    let before = server.command(&["PEXPIRETIME", "x"]);
    assert_eq!(rust.ask("acquire read x a -1 0"), "granted");
    wait_for_two_renewals(server, |ttl| ttl <= i64::from(SHORT_MS));
    assert_eq!(server.command(&["PEXPIRETIME", "x"]), before);
    assert_eq!(rust.ask("release read x a"), "released");
    assert_eq!(server.command(&["PEXPIRETIME", "x"]), before);
    assert_eq!(java.ask("held read x a"), "held");
}

/// Its unlock takes readers for dead that have no timer.
#[test]
fn unlock_of_redisson_spares_readers_of_palisade_that_renew_and_were_entered_twice() {
    let servers = Servers::start_for("read");
    let server = &servers[0];
    let mut java = Side::Java.start(&servers, SHORT_MS);
    let mut rust = Side::Rust.start(&servers, SHORT_MS);
    for _ in 0..2 {
        assert_eq!(rust.ask("acquire read x a -1 0"), "granted");
    }
    assert_eq!(java.ask("acquire read x a -1 0"), "granted");
    wait_for_two_renewals(server, |_| true);
    assert_eq!(java.ask("release read x a"), "released");
    assert_eq!(java.ask("acquire write x a -1 0"), "refused");
    assert_eq!(rust.ask("held read x a"), "held");
    for _ in 0..2 {
        assert_eq!(rust.ask("release read x a"), "released");
    }
    assert_eq!(java.ask("acquire write x a -1 0"), "granted");
}

/// `RedissonMultiLock` leaves timers that end before the lease: as if its readers were dead by then.
#[test]
fn release_of_palisade_leaves_readers_of_redisson_whose_timers_are_over() {
    let servers = Servers::start_for("multi-read");
    let mut java = Side::Java.start(&servers, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(java.ask("acquire multi-read x a 100000 5000"), "granted");
    eventually(|| servers.iter().all(|server| timers(server).is_empty()));
    assert_eq!(rust.ask("acquire multi-read x a -1 0"), "granted");
    assert_eq!(rust.ask("release multi-read x a"), "released");
    assert_eq!(rust.ask("acquire write x a -1 0"), "refused");
    assert_eq!(java.ask("held read x a"), "held");
    assert_eq!(java.ask("release multi-read x a"), "released");
    assert_eq!(rust.ask("acquire write x a -1 0"), "granted");
}

fn timers(server: &RedisServer) -> Vec<String> {
    let keys = server.command(&["KEYS", "*:rwlock_timeout:*"]);
    keys.array().iter().map(Reply::to_string).collect()
}

/// Returns when each timer with such a ttl was seen to grow twice.
fn wait_for_two_renewals(server: &RedisServer, concerns: impl Fn(i64) -> bool) {
    let ttl = |key: &str| server.command(&["PTTL", key]).int();
    for timer in timers(server).iter().filter(|timer| concerns(ttl(timer))) {
        for _ in 0..2 {
            let mut last = ttl(timer);
            eventually(|| ttl(timer) > std::mem::replace(&mut last, ttl(timer)));
        }
    }
}
