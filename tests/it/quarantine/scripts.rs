//! Every return path of the mark's scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{MARKER, marker_on};

const CHECK: &str =
    concat!(include_str!("../../../src/voting/marker/check.lua"), "\nreturn { 0, #KEYS, #ARGV }");
const WRITE: &str = include_str!("../../../src/voting/marker/write.lua");

const EPOCH: &str = "epoch ab cd n";
const BLESSED: &str = "blessed ab cd 60000 fleet";

fn eval(server: &RedisServer, script: &str, keys: &[&str], args: &[&str]) -> Reply {
    let count = keys.len().to_string();
    let words: Vec<_> = ["EVAL", script, &count].iter().chain(keys).chain(args).copied().collect();
    server.command(&words)
}

/// The answer without the time.
#[track_caller]
fn rest(reply: &Reply) -> Vec<String> {
    reply.array()[1..].iter().map(Reply::to_string).collect()
}

fn set(server: &RedisServer, text: &str) {
    server.cli(&["SET", MARKER, text]);
}

fn set_foreign(server: &RedisServer) {
    server.cli(&["DEL", MARKER]);
    server.cli(&["RPUSH", MARKER, "foreign"]);
}

#[test]
fn check_lets_pass_who_names_the_mark_and_takes_its_own_words_away() {
    let server = RedisServer::start();
    for mark in [EPOCH, BLESSED] {
        set(&server, mark);
        let reply = rest(&eval(&server, CHECK, &["x", MARKER], &["a", "b", mark]));
        assert_eq!(reply, ["1", "2"], "{mark}");
        assert_eq!(marker_on(&server), mark);
    }
}

#[test]
fn check_stops_before_anything_else_where_another_mark_stands_or_none() {
    let server = RedisServer::start();
    let before = || server.calls_of("set");
    let check = |known| rest(&eval(&server, CHECK, &["x", MARKER], &["a", known]));
    assert_eq!(check(EPOCH), ["-4", "0", "0"], "none");
    for other in ["", BLESSED, "curses"] {
        set(&server, other);
        let writes = before();
        assert_eq!(check(EPOCH), ["-4", "0", "0"], "{other}");
        assert_eq!((marker_on(&server), before()), (other.to_owned(), writes));
    }
    set_foreign(&server);
    assert_eq!(check(EPOCH), ["-4", "0", "0"]);
}

#[test]
fn write_replaces_what_was_seen_and_nothing_else() {
    let server = RedisServer::start();
    let write = |before, after| rest(&eval(&server, WRITE, &[MARKER], &[before, after, "0"]));
    assert_eq!(write("", BLESSED), ["1", "0"]);
    assert_eq!(write("", BLESSED), ["1", "0"], "done before");
    assert_eq!(write("", EPOCH), ["0", "0"]);
    assert_eq!(marker_on(&server), BLESSED);
    assert_eq!(write(BLESSED, EPOCH), ["1", "0"]);
    assert_eq!(write(EPOCH, ""), ["1", "0"]);
    assert_eq!(server.command(&["EXISTS", MARKER]), Reply::Int(0));
    assert_eq!(write(EPOCH, BLESSED), ["0", "0"], "what was seen is gone");
    assert_eq!(server.command(&["EXISTS", MARKER]), Reply::Int(0));
    set_foreign(&server);
    assert_eq!(write("", BLESSED), ["-2", "0"]);
}

#[test]
fn write_adds_the_time_at_which_a_wait_ends_by_the_servers_clock() {
    let server = RedisServer::start();
    set(&server, EPOCH);
    let [code, until] =
        &rest(&eval(&server, WRITE, &[MARKER], &[EPOCH, "waits ab cd n", "66600"]))[..]
    else {
        panic!("two integers")
    };
    assert_eq!((&**code, marker_on(&server)), ("1", format!("waits ab cd n {until}")));
    let now: u64 = server.command(&["TIME"]).array()[0].to_string().parse().unwrap();
    let until = until.parse::<u64>().unwrap() / 1_000_000;
    assert!((now + 60..=now + 67).contains(&until), "{now} {until}");
}
