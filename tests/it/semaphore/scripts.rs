//! Every return path of the semaphore's scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, HOLDERS, WISH, left};
use crate::{
    scripts::{NEVER, OVER, assert_about, eval, eval_on, now, refusal, restricted},
    sources::{
        ADD_PERMITS, DELETE_PERMITS, SEMAPHORE_ACQUIRE, SEMAPHORE_COUNT, SEMAPHORE_DRAIN,
        SEMAPHORE_HOLDERS, SEMAPHORE_RENEW, SET_PERMITS,
    },
    support::Look,
};

const KEYS: [&str; 2] = ["x", HOLDERS];
/// Those of a holder that comes or goes.
const ALL: [&str; 3] = ["x", HOLDERS, WISH];

fn outcome(reply: &Reply) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, 700),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
}

fn acquire(server: &RedisServer, stamp: &str, holder: &str, permits: &str) -> (i64, i64) {
    outcome(&eval(server, SEMAPHORE_ACQUIRE, &ALL, &["700", stamp, holder, permits, "0"]))
}

fn count(server: &RedisServer, holder: &str, permits: &str) -> (i64, i64) {
    outcome(&eval(server, SEMAPHORE_COUNT, &ALL, &[holder, permits, CHANNEL]))
}

/// How many permits a holder has, where that is not known.
const UNKNOWN: &str = "0";
/// The same, where another gives them back.
const FORGOTTEN: &str = "-1";

fn renew(server: &RedisServer, holder: &str) -> (i64, i64) {
    outcome(&eval(server, SEMAPHORE_RENEW, &KEYS, &[holder]))
}

/// What a change answers behind the time.
#[track_caller]
fn change(server: &RedisServer, script: &str, once: &str, args: [&str; 2]) -> (i64, i64) {
    let args = [NEVER, CHANNEL, args[0], args[1]];
    let (before, reply, after) =
        (now(server), eval(server, script, &["x", once, HOLDERS], &args), now(server));
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert!((before..=after).contains(&items[0]), "{before} {reply:?} {after}");
    (items[1], items[2])
}

#[test]
fn permits_are_taken_and_noted() {
    let server = RedisServer::start();
    assert_eq!(acquire(&server, NEVER, "me:1", "1"), (0, -1), "none are set");
    server.cli(&["SET", "x", "3"]);
    assert_eq!(acquire(&server, NEVER, "me:1", "2"), (1, 700));
    assert_eq!((left(&server).as_str(), &*server.hash(HOLDERS)["me:1"]), ("1", "2"));
    assert_eq!(acquire(&server, NEVER, "me:2", "2"), (0, -1));
    assert_eq!(acquire(&server, NEVER, "me:2", "1"), (1, 700));
    assert_eq!((left(&server).as_str(), server.hash(HOLDERS).len()), ("0", 2));
}

#[test]
fn acquire_that_is_repeated_is_confirmed_whatever_is_left() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    for left_before in ["3", "0", "0"] {
        assert_eq!(left(&server), left_before);
        assert_eq!(acquire(&server, NEVER, "me:1", "3"), (1, 700));
    }
}

#[test]
fn acquire_after_its_stamp_changes_nothing() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    assert_eq!(acquire(&server, OVER, "me:1", "1"), (-1, 0));
    assert_eq!((server.size(), left(&server).as_str()), (1, "3"));
}

#[test]
fn several_acquires_of_one_semaphore_in_a_call_take_turns() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "2"]);
    let keys = [ALL, ALL, ALL].concat();
    let args = ["700", NEVER, "me:1", "1", "0", "me:2", "1", "0", "me:3", "1", "0"];
    let reply = eval(&server, SEMAPHORE_ACQUIRE, &keys, &args);
    let said: Vec<_> = reply.array()[1..].iter().map(Reply::int).collect();
    assert_eq!(said, [1, 700, 1, 700, 0, -1]);
}

#[test]
fn permits_are_given_back_once() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    for permits in ["2", UNKNOWN] {
        acquire(&server, NEVER, "me:1", "2");
        assert_eq!(renew(&server, "me:1"), (1, 0));
        assert_eq!(count(&server, "me:1", permits), (1, 0));
        assert_eq!(count(&server, "me:1", permits), (0, 0));
        assert_eq!(renew(&server, "me:1"), (0, 0));
        assert_eq!((left(&server).as_str(), server.size()), ("3", 1));
    }
}

#[test]
fn permits_that_are_still_owed_are_not_announced() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "2"]);
    acquire(&server, NEVER, "me:1", "1");
    acquire(&server, NEVER, "me:2", "1");
    server.cli(&["DECRBY", "x", "1"]);
    assert_eq!(count(&server, "me:1", "1"), (1, -1));
    assert_eq!(count(&server, "me:2", "1"), (1, 1));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "1");
}

#[test]
fn permits_are_forgotten_and_not_given_back() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    acquire(&server, NEVER, "me:1", "2");
    assert_eq!(count(&server, "me:1", FORGOTTEN), (1, -1));
    assert_eq!(count(&server, "me:1", "2"), (0, 0));
    assert_eq!((left(&server).as_str(), server.size()), ("1", 1));
}

#[test]
fn nothing_is_given_back_to_a_semaphore_that_is_gone() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    acquire(&server, NEVER, "me:1", "2");
    server.cli(&["DEL", "x"]);
    assert_eq!(renew(&server, "me:1"), (0, 0));
    assert_eq!(count(&server, "me:1", "2"), (0, 0));
    assert_eq!(server.size(), 0);
}

#[test]
fn who_holds_permits_lives_as_long_as_the_semaphore() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3", "PX", "600000"]);
    acquire(&server, NEVER, "me:1", "1");
    assert_about(server.pttl(HOLDERS), 600_000);
    server.cli(&["PERSIST", "x"]);
    acquire(&server, NEVER, "me:2", "1");
    assert_eq!(server.pttl(HOLDERS), -1);
}

#[test]
fn holders_are_told_with_the_ttl_of_the_semaphore() {
    let server = RedisServer::start();
    let told = || eval(&server, SEMAPHORE_HOLDERS, &KEYS, &[]);
    assert_eq!((told().array().len(), told().array()[1].int()), (2, -2));
    server.cli(&["SET", "x", "3"]);
    acquire(&server, NEVER, "me:1", "2");
    let reply = told();
    assert_eq!(reply.array()[1].int(), -1);
    assert_eq!(
        (reply.array()[2].to_string(), reply.array()[3].to_string()),
        ("me:1".into(), "2".into())
    );
}

#[test]
fn changes_are_made_once_and_answered_the_same() {
    let server = RedisServer::start();
    for _ in 0..2 {
        assert_eq!(change(&server, ADD_PERMITS, "no", ["5", "1"]), (0, 0));
        assert_eq!(change(&server, SET_PERMITS, "set", ["3", ""]), (1, 0));
        assert_eq!(change(&server, SET_PERMITS, "again", ["9", ""]), (0, 0));
        assert_eq!(change(&server, ADD_PERMITS, "add", ["4", "0"]), (1, 0));
        assert_eq!(change(&server, SEMAPHORE_DRAIN, "drain", ["", ""]), (1, 7));
        assert_eq!(left(&server), "0");
    }
    assert_eq!(change(&server, SEMAPHORE_DRAIN, "none", ["", ""]), (1, 0));
    for _ in 0..2 {
        assert_eq!(change(&server, DELETE_PERMITS, "delete", ["", ""]), (1, 0));
        assert!(!server.exists("x"));
    }
    assert_eq!(change(&server, DELETE_PERMITS, "gone", ["", ""]), (0, 0));
    assert_eq!(change(&server, SEMAPHORE_DRAIN, "empty", ["", ""]), (1, 0));
    assert_eq!(change(&server, ADD_PERMITS, "made", ["2", "0"]), (1, 0));
    assert_eq!(left(&server), "2");
}

#[test]
fn whatever_sets_or_deletes_a_semaphore_forgets_who_held_permits() {
    let server = RedisServer::start();
    server.cli(&["HSET", HOLDERS, "me:1", "2"]);
    assert_eq!(change(&server, SET_PERMITS, "set", ["3", ""]).0, 1);
    assert!(!server.exists(HOLDERS));
    acquire(&server, NEVER, "me:1", "1");
    assert_eq!(change(&server, DELETE_PERMITS, "delete", ["", ""]).0, 1);
    assert!(!server.exists(HOLDERS));
}

#[test]
fn no_script_touches_a_key_that_holds_no_number() {
    let server = RedisServer::start();
    for write in [["SET", "x", "text"].as_slice(), &["SET", "x", "07"], &["HSET", "x", "a", "b"]] {
        server.flush();
        server.cli(write);
        let before = server.command(&["DUMP", "x"]);
        for (script, once) in
            [(SET_PERMITS, "a"), (ADD_PERMITS, "b"), (DELETE_PERMITS, "c"), (SEMAPHORE_DRAIN, "d")]
        {
            assert_eq!(change(&server, script, once, ["1", "0"]), (-2, 0), "{write:?}");
        }
        assert_eq!(acquire(&server, NEVER, "me:1", "1"), (-2, 0), "{write:?}");
        server.cli(&["HSET", HOLDERS, "me:1", "1"]);
        for permits in ["1", UNKNOWN] {
            assert_eq!(count(&server, "me:1", permits), (-2, 0), "{write:?}");
            assert_eq!(server.hash(HOLDERS)["me:1"], "1", "{write:?}");
        }
        assert_eq!(server.command(&["DUMP", "x"]), before, "{write:?}");
    }
    server.flush();
    server.cli(&["SET", "x", "3"]);
    server.cli(&["SET", HOLDERS, "text"]);
    assert_eq!(acquire(&server, NEVER, "me:1", "1"), (-2, 0));
    assert_eq!(count(&server, "me:1", "1"), (-2, 0));
    assert_eq!(renew(&server, "me:1"), (-2, 0));
    assert_eq!((left(&server).as_str(), &*server.cli(&["GET", HOLDERS])), ("3", "text"));
}

#[test]
fn call_that_fails_half_way_takes_nothing_and_leaves_nothing() {
    let server = RedisServer::start();
    for rules in [
        ["-hset"].as_slice(),
        &["-pttl"],
        &["-persist"],
        &["-decrby"],
        &["resetkeys", "~x"],
        &["resetkeys", "~{x}:*"],
    ] {
        server.flush();
        server.cli(&["SET", "x", "3"]);
        let mut user = restricted(&server, rules);
        let args = ["700", NEVER, "me:1", "1", "0"];
        let reply = eval_on(&mut user, SEMAPHORE_ACQUIRE, &ALL, &args);
        assert!(refusal(&reply).is_some(), "{rules:?}: {reply}");
        assert_eq!((server.size(), left(&server).as_str()), (1, "3"), "{rules:?}");
    }
    acquire(&server, NEVER, "me:1", "1");
    for (permits, rules) in [
        ("1", ["-incrby"].as_slice()),
        ("1", &["-hdel"]),
        (UNKNOWN, &["-incrby"]),
        (UNKNOWN, &["-hdel"]),
        (UNKNOWN, &["-hget"]),
    ] {
        let mut user = restricted(&server, rules);
        let reply = eval_on(&mut user, SEMAPHORE_COUNT, &ALL, &["me:1", permits, CHANNEL]);
        assert!(reply.is_error(), "{rules:?}: {reply}");
        assert_eq!(
            (left(&server).as_str(), &*server.hash(HOLDERS)["me:1"]),
            ("2", "1"),
            "{rules:?}"
        );
    }
}

#[test]
fn release_goes_through_unannounced_by_a_user_who_may_not_announce_it() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    for rules in [["-publish"].as_slice(), &["resetchannels"], &["-exists", "-publish"]] {
        acquire(&server, NEVER, "me:1", "1");
        let mut user = restricted(&server, rules);
        let reply = eval_on(&mut user, SEMAPHORE_COUNT, &ALL, &["me:1", "1", CHANNEL]);
        assert_eq!(outcome(&reply), (1, -1), "{rules:?}");
        assert_eq!(left(&server), "3", "{rules:?}");
    }
}

#[test]
fn server_out_of_memory_takes_permits_back_and_gives_none() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    acquire(&server, NEVER, "me:1", "2");
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let reply = eval(&server, SEMAPHORE_ACQUIRE, &ALL, &["700", NEVER, "me:2", "1", "0"]);
    let told = refusal(&reply).map(Reply::to_string);
    assert!(told.is_some_and(|told| told.contains("OOM")), "{reply}");
    assert_eq!((left(&server).as_str(), server.hash(HOLDERS).len()), ("1", 1));
    assert_eq!(count(&server, "me:1", "2").0, 1);
    assert_eq!((left(&server).as_str(), server.exists(HOLDERS)), ("3", false));
}

#[test]
fn release_of_which_nobody_asks_the_time_answers_with_those_who_heard_of_it_alone() {
    let server = RedisServer::start();
    let brief = |holder: &str, permits: &str| {
        eval(&server, SEMAPHORE_COUNT, &ALL, &[holder, permits, CHANNEL, "1"])
    };
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "5"]);
    for holder in ["me:1", "me:2"] {
        assert_eq!(acquire(&server, NEVER, holder, "2").0, 1);
    }
    assert_eq!(brief("me:1", "2"), Reply::Int(1));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "3");
    assert_eq!(brief("me:1", "2").array()[1..], [0, 0].map(Reply::Int));
    assert_eq!(brief("me:2", FORGOTTEN).array()[1..], [1, -1].map(Reply::Int));
    assert_eq!(server.cli(&["GET", "x"]), "3");
    assert_eq!(server.keys(), ["x"]);
}
