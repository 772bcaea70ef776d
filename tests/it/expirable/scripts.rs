//! Every return path of the scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, LEASES, WISH, leases, left};
use crate::{
    scripts::{NEVER, OVER, eval, eval_on, now, refusal, restricted},
    sources::{
        EXPIRABLE_ACQUIRE, EXPIRABLE_COUNT, EXPIRABLE_HOLDERS, EXPIRABLE_RELEASE, EXPIRABLE_RENEW,
        EXPIRABLE_UPDATE,
    },
    support::Look,
};

const KEYS: [&str; 2] = ["x", LEASES];
/// Those of a holder that comes or goes.
const ALL: [&str; 3] = ["x", LEASES, WISH];
const SKEW: &str = "5000";

/// So many permits of a holder.
fn ids(holder: char, permits: u8) -> String {
    (0..permits).map(|i| format!("{holder:->15}{i}")).collect()
}

fn outcome(reply: &Reply) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, 30_000),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
}

fn acquire(server: &RedisServer, stamp: &str, ids: &str) -> (i64, i64) {
    let args = ["30000", stamp, SKEW, ids, CHANNEL, "0"];
    outcome(&eval(server, EXPIRABLE_ACQUIRE, &ALL, &args))
}

fn count(server: &RedisServer, ids: &str) -> (i64, i64) {
    outcome(&eval(server, EXPIRABLE_COUNT, &ALL, &[ids, CHANNEL]))
}

fn renew(server: &RedisServer, lease: &str, ids: &str) -> (i64, i64) {
    outcome(&eval(server, EXPIRABLE_RENEW, &KEYS, &[lease, SKEW, ids]))
}

fn release(server: &RedisServer, once: &str, id: &str) -> (i64, i64) {
    outcome(&eval(server, EXPIRABLE_RELEASE, &["x", once, LEASES], &[NEVER, CHANNEL, id]))
}

fn update(server: &RedisServer, once: &str, id: &str, lease: &str) -> (i64, i64) {
    let args = [NEVER, id, lease, SKEW];
    outcome(&eval(server, EXPIRABLE_UPDATE, &["x", once, LEASES], &args))
}

/// When a permit ends, in ms from now.
fn ends_in(server: &RedisServer, id: &str) -> i64 {
    server.cli(&["ZSCORE", LEASES, id]).parse::<i64>().unwrap() - now(server) / 1_000
}

fn set_end(server: &RedisServer, id: &str, in_ms: i64) {
    let at = now(server) / 1_000 + in_ms;
    server.cli(&["ZADD", LEASES, &at.to_string(), id]);
}

#[track_caller]
fn assert_about(value: i64, expected: i64) {
    assert!((expected - 3_000..=expected).contains(&value), "{value}, not about {expected}");
}

#[test]
fn permits_are_taken_for_the_lease_and_the_skew() {
    let server = RedisServer::start();
    assert_eq!(acquire(&server, NEVER, &ids('a', 1)), (0, -1), "none are set");
    server.cli(&["SET", "x", "3"]);
    assert_eq!(acquire(&server, NEVER, &ids('a', 2)), (1, 30_000));
    assert_eq!((left(&server).as_str(), leases(&server)), ("1", 2));
    assert_about(ends_in(&server, &ids('a', 1)), 35_000);
    let (code, next) = acquire(&server, NEVER, &ids('b', 2));
    assert_eq!(code, 0);
    assert_about(next, 40_001);
    assert_eq!(acquire(&server, NEVER, &ids('b', 1)), (1, 30_000));
    assert_eq!((left(&server).as_str(), leases(&server)), ("0", 3));
}

#[test]
fn acquire_that_is_repeated_is_confirmed_whatever_is_left_and_shortens_nothing() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "2"]);
    let mine = ids('a', 2);
    for _ in 0..3 {
        assert_eq!(acquire(&server, NEVER, &mine), (1, 30_000));
        assert_eq!((left(&server).as_str(), leases(&server)), ("0", 2));
    }
    set_end(&server, &mine[..16], 100_000);
    set_end(&server, &mine[16..], 10);
    assert_eq!(acquire(&server, NEVER, &mine), (1, 30_000));
    assert_about(ends_in(&server, &mine[..16]), 100_000);
    assert_about(ends_in(&server, &mine[16..]), 35_000);
}

#[test]
fn acquire_of_which_a_part_stands_begins_anew() {
    let server = RedisServer::start();
    let mine = ids('a', 2);
    for (permits, code, left_after, stand) in [("3", 1, "1", 2), ("2", 1, "0", 2)] {
        server.flush();
        server.cli(&["SET", "x", permits]);
        assert_eq!(acquire(&server, NEVER, &mine).0, 1);
        assert_eq!(release(&server, "once", &mine[..16]), (1, 0));
        assert_eq!(acquire(&server, NEVER, &mine).0, code);
        assert_eq!((left(&server).as_str(), leases(&server)), (left_after, stand));
    }
    assert_eq!(release(&server, "again", &mine[..16]), (1, 0));
    assert_eq!(acquire(&server, NEVER, &ids('b', 1)).0, 1);
    assert_eq!(acquire(&server, NEVER, &mine).0, 0);
    assert_eq!(
        (left(&server).as_str(), leases(&server)),
        ("1", 1),
        "refused: nothing is left of it"
    );
}

#[test]
fn permits_are_had_from_others_only_past_their_end_and_the_skew() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "0"]);
    for (id, end) in [("b", -4_000), ("c", -5_500), ("d", -6_000), ("e", -7_000)] {
        set_end(&server, id, end);
    }
    // No more than are wanted, the oldest first.
    assert_eq!(acquire(&server, NEVER, &ids('a', 1)), (1, 30_000));
    assert_eq!((left(&server).as_str(), leases(&server)), ("0", 4));
    assert_eq!(server.cli(&["ZSCORE", LEASES, "e"]), "");
    let (code, next) = acquire(&server, NEVER, &ids('f', 3));
    assert_eq!((code, left(&server).as_str(), leases(&server)), (0, "2", 2));
    assert!((1..=1_001).contains(&next), "{next}");
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "2");
}

/// One of ours, written 4,984 ms longer than it is held.
fn ours(name: &str) -> String {
    format!("{name:->8}plsade\u{13}x")
}

#[test]
fn permits_of_ours_end_by_the_clock_of_the_server() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "0"]);
    let (over, held) = (ours("over"), ours("held"));
    set_end(&server, &over, 4_980);
    set_end(&server, &held, 14_984);
    set_end(&server, "another's", 4_980);
    assert_eq!(update(&server, "once", &over, "90000"), (0, 0));
    let told = eval(&server, EXPIRABLE_HOLDERS, &KEYS, &[SKEW]);
    assert_eq!((told.array()[1].int(), told.array().len()), (1, 6), "{told:?}");
    assert_about(told.array()[5].int(), 10_000);
    assert_eq!(acquire(&server, NEVER, &ids('a', 1)), (1, 30_000));
    assert_eq!(server.cli(&["ZSCORE", LEASES, &over]), "");
    let (code, next) = acquire(&server, NEVER, &ids('b', 1));
    assert_eq!((code, leases(&server)), (0, 3));
    assert_about(next, 9_981);
    server.cli(&["ZREM", LEASES, "another's"]);
    assert_about(acquire(&server, NEVER, &ids('b', 1)).1, 10_001);
    assert_eq!(update(&server, "again", &held, "90000"), (1, 0));
    assert_about(ends_in(&server, &held), 94_984);
}

#[test]
fn permit_without_an_end_is_nobody_elses() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "0"]);
    server.cli(&["ZADD", LEASES, "922337203685477", "b"]);
    assert_eq!(acquire(&server, NEVER, &ids('a', 1)), (0, -1));
}

#[test]
fn acquire_after_its_stamp_changes_nothing() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    assert_eq!(acquire(&server, OVER, &ids('a', 1)), (-1, 0));
    assert_eq!((server.size(), left(&server).as_str()), (1, "3"));
}

#[test]
fn leases_live_as_long_as_the_semaphore() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3", "PX", "600000"]);
    assert_eq!(acquire(&server, NEVER, &ids('a', 1)).0, 1);
    let ttl = server.pttl(LEASES);
    assert!((500_000..=600_000).contains(&ttl), "{ttl}");
}

#[test]
fn renewal_extends_all_or_says_that_they_are_gone() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 2);
    assert_eq!(renew(&server, "30000", &mine), (0, 0));
    acquire(&server, NEVER, &mine);
    set_end(&server, &mine[..16], 7_000);
    let (code, ms) = renew(&server, "0", &mine);
    assert_eq!(code, 1);
    assert!((1_000..=2_000).contains(&ms), "{ms}");
    assert_eq!(renew(&server, "30000", &mine), (1, 30_000));
    assert_about(ends_in(&server, &mine[..16]), 35_000);
    set_end(&server, &mine[..16], 100_000);
    assert_eq!(renew(&server, "30000", &mine), (1, 30_000));
    assert_about(ends_in(&server, &mine[..16]), 100_000);
    release(&server, "once", &mine[16..]);
    assert_eq!(renew(&server, "30000", &mine), (0, 0));
    server.cli(&["DEL", "x"]);
    assert_eq!(renew(&server, "30000", &mine[..16]), (0, 0));
}

#[test]
fn permits_are_given_back_once_and_announced() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 2);
    acquire(&server, NEVER, &mine);
    assert_eq!(count(&server, &mine), (1, 1));
    assert_eq!(count(&server, &mine), (0, 0));
    assert_eq!((left(&server).as_str(), server.size()), ("3", 1));
    // As many as there are, and not as many as came back.
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "3");
    acquire(&server, NEVER, &mine);
    assert_eq!(release(&server, "once", &mine[..16]), (1, 0));
    assert_eq!(count(&server, &mine), (0, 0), "a part was gone");
    assert_eq!((left(&server).as_str(), leases(&server)), ("3", 0));
    acquire(&server, NEVER, &mine);
    server.cli(&["DEL", "x"]);
    assert_eq!(count(&server, &mine), (0, 0));
    assert_eq!((server.exists("x"), leases(&server)), (false, 0));
}

#[test]
fn permit_is_released_by_its_id_once() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 1);
    acquire(&server, NEVER, &mine);
    for _ in 0..2 {
        assert_eq!(release(&server, "one", &mine), (1, 0));
        assert_eq!(left(&server), "3");
    }
    assert_eq!(release(&server, "two", &mine), (0, 0));
    acquire(&server, NEVER, &mine);
    // It was not ended, so this does it.
    set_end(&server, &mine, -9_000);
    assert_eq!(release(&server, "over", &mine), (1, 0));
    assert_eq!(left(&server), "3");
    acquire(&server, NEVER, &mine);
    server.cli(&["DEL", "x"]);
    assert_eq!(release(&server, "three", &mine), (0, 0));
    assert!(!server.exists("x"));
}

#[test]
fn lease_of_a_permit_is_updated_if_it_is_held() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 1);
    assert_eq!(update(&server, "a", &mine, "1000"), (0, 0));
    acquire(&server, NEVER, &mine);
    for (once, lease, ends) in [("b", "90000", 95_000), ("c", "1000", 6_000)] {
        assert_eq!(update(&server, once, &mine, lease), (1, 0));
        assert_about(ends_in(&server, &mine), ends);
    }
    set_end(&server, &mine, -6_000);
    assert_eq!(update(&server, "d", &mine, "1000"), (0, 0));
    server.cli(&["DEL", "x"]);
    assert_eq!(update(&server, "e", &mine, "1000"), (0, 0));
}

#[test]
fn permits_are_told_in_hexadecimal_digits() {
    let server = RedisServer::start();
    let told = || eval(&server, EXPIRABLE_HOLDERS, &KEYS, &[SKEW]);
    assert_eq!(told().array().len(), 1);
    server.cli(&["SET", "x", "3"]);
    set_end(&server, "0123456789abcde\n", 4_000);
    set_end(&server, "over", -6_000);
    let reply = told();
    assert_eq!((reply.array().len(), reply.array()[1].int()), (4, 4));
    assert_eq!(reply.array()[2].to_string(), "3031323334353637383961626364650a");
    assert!((1..=4_000).contains(&reply.array()[3].int()), "{reply:?}");
}

#[test]
fn no_script_touches_a_key_of_another_type() {
    let server = RedisServer::start();
    let mine = ids('a', 1);
    for (key, write) in [
        ("x", ["SET", "x", "text"].as_slice()),
        ("x", &["HSET", "x", "a", "b"]),
        (LEASES, &["SET", LEASES, "text"]),
    ] {
        server.flush();
        server.cli(write);
        if key == LEASES {
            server.cli(&["SET", "x", "3"]);
        }
        let before = server.command(&["DUMP", key]);
        assert_eq!(acquire(&server, NEVER, &mine), (-2, 0), "{write:?}");
        assert_eq!(count(&server, &mine), (-2, 0), "{write:?}");
        assert_eq!(release(&server, "a", &mine), (-2, 0), "{write:?}");
        assert_eq!(update(&server, "b", &mine, "1000"), (-2, 0), "{write:?}");
        assert!(eval(&server, EXPIRABLE_HOLDERS, &KEYS, &[SKEW]).is_error(), "{write:?}");
        assert_eq!(server.command(&["DUMP", key]), before, "{write:?}");
    }
    assert_eq!(renew(&server, "30000", &mine), (-2, 0));
}

#[test]
fn call_that_fails_half_way_takes_nothing_and_leaves_nothing() {
    let server = RedisServer::start();
    let mine = ids('a', 2);
    for rules in [
        ["-zadd"].as_slice(),
        &["-zscore"],
        &["-pttl"],
        &["-decrby"],
        &["-get"],
        &["resetkeys", "~x"],
        &["resetkeys", "~{x}:*"],
    ] {
        server.flush();
        server.cli(&["SET", "x", "3"]);
        let mut user = restricted(&server, rules);
        let args = ["30000", NEVER, SKEW, &mine, CHANNEL, "0"];
        let reply = eval_on(&mut user, EXPIRABLE_ACQUIRE, &ALL, &args);
        assert!(refusal(&reply).is_some(), "{rules:?}: {reply}");
        assert_eq!((server.size(), left(&server).as_str()), (1, "3"), "{rules:?}");
    }
    acquire(&server, NEVER, &mine);
    for rules in [["-incrby"].as_slice(), &["-zrem"], &["-zscore"]] {
        let mut user = restricted(&server, rules);
        let reply = eval_on(&mut user, EXPIRABLE_COUNT, &ALL, &[&mine, CHANNEL]);
        assert!(reply.is_error(), "{rules:?}: {reply}");
        assert_eq!((left(&server).as_str(), leases(&server)), ("1", 2), "{rules:?}");
        assert_about(ends_in(&server, &mine[..16]), 35_000);
    }
    // What others left to end is not lost either.
    server.cli(&["SET", "x", "0"]);
    set_end(&server, &mine[..16], -9_000);
    for rules in [["-incrby"].as_slice(), &["-zrem"], &["-zrangebyscore"]] {
        let mut user = restricted(&server, rules);
        let args = ["30000", NEVER, SKEW, &ids('b', 1), CHANNEL, "0"];
        let reply = eval_on(&mut user, EXPIRABLE_ACQUIRE, &ALL, &args);
        assert!(refusal(&reply).is_some(), "{rules:?}: {reply}");
        assert_eq!((left(&server).as_str(), leases(&server)), ("0", 2), "{rules:?}");
    }
}

#[test]
fn server_out_of_memory_takes_permits_back_and_gives_none() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 2);
    acquire(&server, NEVER, &mine);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let args = ["30000", NEVER, SKEW, &ids('b', 1), CHANNEL, "0"];
    let reply = eval(&server, EXPIRABLE_ACQUIRE, &ALL, &args);
    let told = refusal(&reply).map(Reply::to_string);
    assert!(told.is_some_and(|told| told.contains("OOM")), "{reply}");
    assert_eq!((left(&server).as_str(), leases(&server)), ("1", 2));
    assert_eq!(count(&server, &mine).0, 1);
    assert_eq!((left(&server).as_str(), server.exists(LEASES)), ("3", false));
}

#[test]
fn leases_are_renewed_on_a_server_that_is_out_of_memory() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    let mine = ids('a', 2);
    acquire(&server, NEVER, &mine);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(renew(&server, "90000", &mine), (1, 30_000));
    let ends = ends_in(&server, &mine[..16]);
    assert!(ends > 90_000, "{ends}");
}

#[test]
fn release_of_which_nobody_asks_the_time_answers_with_those_who_heard_of_it_alone() {
    let server = RedisServer::start();
    let brief = |ids: &str| eval(&server, EXPIRABLE_COUNT, &ALL, &[ids, CHANNEL, "1"]);
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "5"]);
    for ids in [ids('a', 1), ids('b', 2)] {
        assert_eq!(acquire(&server, NEVER, &ids).0, 1);
    }
    assert_eq!(brief(&ids('a', 1)), Reply::Int(1));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "3");
    assert_eq!(brief(&ids('a', 1)).array()[1..], [0, 0].map(Reply::Int));
    assert_eq!(brief(&ids('b', 2)).array()[1..], [1, 1].map(Reply::Int), "several");
    assert_eq!(server.cli(&["GET", "x"]), "5");
    assert_eq!(server.keys(), ["x"]);
}
