//! Every return path of the marker's scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{MARKER, marker_on};

const CHECK: &str =
    concat!(include_str!("../../../src/voting/marker/check.lua"), "\nreturn { 0, #KEYS, #ARGV }");
const LOOK: &str = include_str!("../../../src/voting/marker/look.lua");
const WRITE: &str = include_str!("../../../src/voting/marker/write.lua");

const BLESSED: &str = "blessed ab 60000 fleet";
/// A waiting marker whose time is over, and one whose time is far.
const WAITED: &str = "waits 1";
const WAITS: &str = "waits 9000000000000000";

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
fn check_lets_pass_who_is_marked_and_takes_its_own_words_away() {
    let server = RedisServer::start();
    let check = || rest(&eval(&server, CHECK, &["x", MARKER], &["a", "b", "66600"]));
    for passes in [BLESSED, WAITED] {
        set(&server, passes);
        assert_eq!(check(), ["1", "2"], "{passes}");
        assert_eq!(marker_on(&server), passes);
    }
}

#[test]
fn check_without_a_marker_writes_one_and_waits_for_it() {
    let server = RedisServer::start();
    let check = || rest(&eval(&server, CHECK, &["x", MARKER], &["66600"]));
    assert_eq!(check(), ["-4", "66600", "0"]);
    let marker = marker_on(&server);
    let until: u64 = marker.strip_prefix("waits ").unwrap().parse().unwrap();
    let now: u64 = server.command(&["TIME"]).array()[0].to_string().parse().unwrap();
    assert!((now + 60..=now + 68).contains(&(until / 1_000_000)), "{now} {marker}");
    let [code, left, _] = &check()[..] else { panic!("three integers") };
    assert_eq!(code, "-4");
    assert!((60_000..=66_600).contains(&left.parse().unwrap()), "{left}");
    assert_eq!(marker_on(&server), marker, "it waits for the first one");
}

#[test]
fn check_refuses_what_is_no_marker() {
    let server = RedisServer::start();
    let check = || rest(&eval(&server, CHECK, &["x", MARKER], &["66600"]));
    let beyond = format!("waits 1{}", "0".repeat(23));
    for text in ["", "blessed", "waits", "waits 1 2", "waits -1", &beyond, "curses"] {
        set(&server, text);
        assert_eq!(check(), ["-5", "0", "0"], "{text}");
        assert_eq!(marker_on(&server), text);
    }
    set_foreign(&server);
    assert_eq!(check(), ["-5", "0", "0"]);
}

#[test]
fn look_tells_the_text_and_may_write_one_that_waits() {
    let server = RedisServer::start();
    assert_eq!(rest(&eval(&server, LOOK, &[MARKER], &["0"])), [""; 0]);
    assert_eq!(marker_on(&server), "");
    let text = rest(&eval(&server, LOOK, &[MARKER], &["66600"]));
    assert!(text[0].starts_with("waits "), "{text:?}");
    assert_eq!(marker_on(&server), text[0]);
    set(&server, BLESSED);
    assert_eq!(rest(&eval(&server, LOOK, &[MARKER], &["66600"])), [BLESSED]);
    set_foreign(&server);
    assert!(eval(&server, LOOK, &[MARKER], &["0"]).to_string().contains("WRONGTYPE"));
}

#[test]
fn write_replaces_what_was_seen_and_nothing_else() {
    let server = RedisServer::start();
    let write = |before, after| rest(&eval(&server, WRITE, &[MARKER], &[before, after]));
    assert_eq!(write("", BLESSED), ["1", "0"]);
    assert_eq!(write("", BLESSED), ["1", "0"], "done before");
    assert_eq!(write("", "blessed other"), ["0", "0"]);
    assert_eq!(marker_on(&server), BLESSED);
    assert_eq!(write(BLESSED, "blessed other"), ["1", "0"]);
    assert_eq!(write("blessed other", ""), ["1", "0"]);
    assert_eq!(server.command(&["EXISTS", MARKER]), Reply::Int(0));
    for waits in [WAITS, WAITED] {
        set(&server, waits);
        assert_eq!(write("", BLESSED), ["1", "0"], "{waits}");
        assert_eq!(marker_on(&server), BLESSED);
    }
    set_foreign(&server);
    assert_eq!(write("", BLESSED), ["-2", "0"]);
}
