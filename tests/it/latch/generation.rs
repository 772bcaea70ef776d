//! What is kept of a zero, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, GENERATION};
use crate::{
    scripts::{NEVER, eval, eval_on, now, restricted},
    sources::{COUNT_DOWN, DELETE_LATCH, LOOK_AT_LATCH},
    support::Look,
};

const MINUTE_MS: i64 = 60_000;

/// Brings the latch to zero, from one, in the change `once`.
fn zero(server: &RedisServer, script: &str, once: &str) {
    server.cli(&["SET", "x", "1"]);
    let reply = eval(server, script, &["x", once], &[NEVER, CHANNEL, GENERATION]);
    assert_eq!(reply.array()[1], Reply::Int(1), "{reply}");
    assert!(!server.exists("x"));
}

fn generation(server: &RedisServer) -> i64 {
    server.cli(&["GET", GENERATION]).parse().unwrap()
}

#[test]
fn zero_is_kept_for_ten_minutes_and_no_other_change_is() {
    for script in [COUNT_DOWN, DELETE_LATCH] {
        let server = RedisServer::start();
        let before = now(&server);
        zero(&server, script, "a");
        assert!((before..=now(&server)).contains(&generation(&server)));
        let left = server.pttl(GENERATION);
        assert!((9 * MINUTE_MS..=10 * MINUTE_MS).contains(&left), "{left}");
    }
    let server = RedisServer::start();
    for (i, count) in ["2", "0", "-3"].into_iter().enumerate() {
        server.cli(&["SET", "x", count]);
        let once = format!("once:{i}");
        eval(&server, COUNT_DOWN, &["x", &once], &[NEVER, CHANNEL, GENERATION]);
        assert!(!server.exists(GENERATION), "{count}");
    }
}

#[test]
fn each_zero_is_greater_than_the_one_before_though_the_clock_is_set_back() {
    let server = RedisServer::start();
    for (i, script) in [COUNT_DOWN, DELETE_LATCH, COUNT_DOWN].into_iter().enumerate() {
        server.cli(&["SET", GENERATION, "8999999999999990"]);
        zero(&server, script, &i.to_string());
        assert_eq!(generation(&server), 8_999_999_999_999_991);
    }
}

#[test]
fn change_that_is_repeated_is_no_second_zero() {
    let server = RedisServer::start();
    zero(&server, COUNT_DOWN, "a");
    let first = generation(&server);
    server.cli(&["SET", "x", "1"]);
    eval(&server, COUNT_DOWN, &["x", "a"], &[NEVER, CHANNEL, GENERATION]);
    assert_eq!(generation(&server), first);
}

#[test]
fn what_stands_there_and_is_no_generation_is_not_touched() {
    let server = RedisServer::start();
    for (i, write) in [
        ["SET", GENERATION, "text"].as_slice(),
        &["SET", GENERATION, ""],
        &["SET", GENERATION, "1.5"],
        &["SET", GENERATION, "99999999999999999"],
        &["RPUSH", GENERATION, "1"],
    ]
    .into_iter()
    .enumerate()
    {
        server.cli(&["DEL", GENERATION]);
        server.cli(write);
        let before = server.command(&["DUMP", GENERATION]);
        zero(&server, COUNT_DOWN, &i.to_string());
        assert_eq!(server.command(&["DUMP", GENERATION]), before, "{write:?}");
        let looked = eval(&server, LOOK_AT_LATCH, &["x"], &[GENERATION]);
        assert_eq!((looked.array().len(), &looked.array()[1]), (2, &Reply::Int(0)), "{write:?}");
    }
}

#[test]
fn look_tells_the_time_and_the_generation_and_the_count() {
    let server = RedisServer::start();
    let look = || eval(&server, LOOK_AT_LATCH, &["x"], &[GENERATION]);
    let before = now(&server);
    let nothing = look();
    assert!((before..=now(&server)).contains(&nothing.array()[0].int()));
    assert_eq!(nothing.array()[1..], [Reply::Int(0)]);
    server.cli(&["SET", GENERATION, "1764300000000000"]);
    for count in ["3", "0", "-3"] {
        server.cli(&["SET", "x", count]);
        let seen = look();
        assert_eq!(seen.array()[1], Reply::Int(1_764_300_000_000_000));
        assert_eq!((seen.array().len(), seen.array()[2].to_string().as_str()), (3, count));
    }
    for write in [["SET", "x", "text"].as_slice(), &["HSET", "x", "a", "b"]] {
        server.cli(&["DEL", "x"]);
        server.cli(write);
        let error = look();
        assert!(error.is_error() && error.to_string().contains("WRONGTYPE"), "{error}");
    }
}

/// As versions before this one printed the rights.
#[test]
fn user_without_a_right_to_it_counts_down_and_looks_all_the_same() {
    let server = RedisServer::start();
    server.cli(&["SET", GENERATION, "1764300000000000"]);
    let mut user = restricted(&server, &["resetkeys", "~x", "~once:*"]);
    for (script, once) in [(COUNT_DOWN, "once:a"), (DELETE_LATCH, "once:b")] {
        server.cli(&["SET", "x", "1"]);
        let looked = eval_on(&mut user, LOOK_AT_LATCH, &["x"], &[GENERATION]);
        assert_eq!(looked.array()[1], Reply::Int(0), "{looked}");
        let reply = eval_on(&mut user, script, &["x", once], &[NEVER, CHANNEL, GENERATION]);
        assert_eq!(reply.array()[1], Reply::Int(1), "{reply}");
        assert!(!server.exists("x"));
    }
    assert_eq!(generation(&server), 1_764_300_000_000_000);
}
