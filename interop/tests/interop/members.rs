//! Locks over several servers whose members are taken in different orders, or are counted in tokens.

use testkit::RedisServer;

use crate::peers::{HANG, LONG_MS, Servers, Side, Witness};

/// Each keeps what the other wants first, time and again.
#[test]
fn multi_locks_with_opposite_orders_both_make_progress() {
    hammer_in_opposite_orders("multi");
}

/// The same in queues: each is the first in that of the other's first member.
#[test]
fn multi_locks_over_fair_locks_with_opposite_orders_both_make_progress() {
    hammer_in_opposite_orders("multi-fair");
}

fn hammer_in_opposite_orders(kind: &str) {
    let servers = Servers::start_for(kind);
    let witness = Witness::beside(&servers[0]);
    let backward: Vec<_> = servers.urls().into_iter().rev().collect();
    let mut java = Side::Java.start_at(&backward, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    java.wait_until_up();
    rust.wait_until_up();
    for peer in [&mut java, &mut rust] {
        peer.tell(&format!("hammer {kind} x 40 {}", witness.folder()));
    }
    for peer in [java, rust] {
        let answer = peer.answer(HANG * 5);
        assert!(answer.starts_with("0 0 "), "{answer}");
    }
    assert_eq!(witness.count(), 80);
}

/// `RedissonMultiLock` gives a lease to all keys of its members, the counter too: a token after it
/// would begin at 1.
#[test]
fn counter_that_ends_with_a_lease_of_redisson_stays_once_palisade_has_counted() {
    let servers = Servers::start_for("multi-fenced");
    let mut java = Side::Java.start(&servers, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(java.ask("acquire multi-fenced x a 100000 1000"), "granted");
    assert_eq!(java.ask("release multi-fenced x a"), "released");
    assert!(servers.iter().all(|server| ttl_of_counter(server) > 0), "this is what it does");
    assert!(rust.ask("acquire fenced x a 100000 0").starts_with("granted "));
    assert_eq!(rust.ask("release fenced x a"), "released");
    assert_eq!(ttl_of_counter(&servers[0]), -1);
}

#[test]
fn multi_lock_of_palisade_over_fenced_locks_gives_the_counters_of_redisson_no_end() {
    let servers = Servers::start_for("multi-fenced");
    let mut java = Side::Java.start(&servers, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(java.ask("acquire fenced x a -1 0"), "granted 1");
    assert_eq!(java.ask("release fenced x a"), "released");
    assert!(rust.ask("acquire multi-fenced x a 100000 0").starts_with("granted "));
    assert_eq!(java.ask("acquire fenced x a -1 0"), "refused");
    assert_eq!(rust.ask("release multi-fenced x a"), "released");
    assert_eq!(ttl_of_counter(&servers[0]), -1);
    assert_eq!(java.ask("acquire fenced x a -1 0"), "granted 2");
}

fn ttl_of_counter(server: &RedisServer) -> i64 {
    server.command(&["PTTL", "redisson_lock_token:{x}"]).int()
}
