//! Every return path of the latch's scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, GENERATION, kept};
use crate::{
    scripts::{NEVER, OVER, eval, eval_on, now, refusal, restricted},
    sources::{COUNT_DOWN, DELETE_LATCH, FORGET, READ_NUMBER, SET_LATCH},
    support::Look,
};

const ONCE: &str = "palisade_once:{x}:0a";
const OTHER: &str = "palisade_once:{x}:0b";
const KEYS: [&str; 2] = ["x", ONCE];

/// What a change answers behind the time.
#[track_caller]
fn said(server: &RedisServer, script: &str, once: &str, stamp: &str) -> i64 {
    let third = if script == SET_LATCH { "3" } else { GENERATION };
    let (before, reply, after) =
        (now(server), eval(server, script, &["x", once], &[stamp, CHANNEL, third]), now(server));
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert!((before..=after).contains(&items[0]), "{before} {reply:?} {after}");
    assert_eq!((items.len(), items[2]), (3, 0), "{reply:?}");
    items[1]
}

fn get(server: &RedisServer, key: &str) -> String {
    server.cli(&["GET", key])
}

#[test]
fn latch_is_set_once_and_announced() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    assert_eq!(said(&server, SET_LATCH, ONCE, NEVER), 1);
    assert_eq!(said(&server, SET_LATCH, OTHER, NEVER), 0);
    assert_eq!((get(&server, "x").as_str(), server.pttl("x")), ("3", -1));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "1");
    server.cli(&["PUBLISH", CHANNEL, "end"]);
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "end", "nothing else");
}

#[test]
fn latch_is_counted_down_to_zero_and_gone_then() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "2"]);
    assert_eq!(said(&server, COUNT_DOWN, "a", NEVER), 1);
    assert_eq!(get(&server, "x"), "1");
    assert_eq!(said(&server, COUNT_DOWN, "b", NEVER), 1);
    assert!(!server.exists("x"));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "0");
    assert_eq!(said(&server, COUNT_DOWN, "c", NEVER), 0);
    assert!(!server.exists("x"));
    server.cli(&["PUBLISH", CHANNEL, "end"]);
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "end", "nothing else");
}

/// As Redisson does.
#[test]
fn count_that_somebody_left_at_zero_or_below_is_deleted_unannounced() {
    let server = RedisServer::start();
    for (left, once) in [("0", "a"), ("-3", "b")] {
        server.cli(&["SET", "x", left]);
        assert_eq!(said(&server, COUNT_DOWN, once, NEVER), 0);
        assert!(!server.exists("x"), "{left}");
    }
}

#[test]
fn deletion_is_announced_as_zero() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "2"]);
    assert_eq!(said(&server, DELETE_LATCH, ONCE, NEVER), 1);
    assert!(!server.exists("x"));
    assert_eq!(listener.read().unwrap().array()[2].to_string(), "0");
    assert_eq!(said(&server, DELETE_LATCH, OTHER, NEVER), 0);
}

#[test]
fn count_is_told_as_it_stands() {
    let server = RedisServer::start();
    let read = || eval(&server, READ_NUMBER, &["x"], &[]);
    assert_eq!(read().array().len(), 1);
    for count in ["3", "0", "-3", "9007199254740993"] {
        server.cli(&["SET", "x", count]);
        assert_eq!(read().array()[1].to_string(), count);
    }
}

#[test]
fn change_that_is_repeated_is_made_once_and_answered_the_same() {
    let server = RedisServer::start();
    for stamp in [NEVER, NEVER, OVER] {
        assert_eq!(said(&server, SET_LATCH, ONCE, stamp), 1);
    }
    for stamp in [NEVER, NEVER, OVER] {
        assert_eq!(said(&server, COUNT_DOWN, OTHER, stamp), 1);
    }
    assert_eq!(get(&server, "x"), "2");
    for stamp in [NEVER, OVER] {
        assert_eq!(said(&server, DELETE_LATCH, "once", stamp), 1);
        server.cli(&["SET", "x", "7"]);
    }
    assert_eq!(get(&server, "x"), "7", "another's");
}

/// Else a copy of what was answered with no could come late, and do it.
#[test]
fn refusal_is_kept_too() {
    let server = RedisServer::start();
    assert_eq!(said(&server, COUNT_DOWN, ONCE, NEVER), 0);
    server.cli(&["SET", "x", "7"]);
    assert_eq!(said(&server, COUNT_DOWN, ONCE, NEVER), 0);
    assert_eq!(said(&server, SET_LATCH, OTHER, NEVER), 0);
    server.cli(&["DEL", "x"]);
    assert_eq!(said(&server, SET_LATCH, OTHER, NEVER), 0);
    server.cli(&["HSET", "x", "a", "b"]);
    assert_eq!(said(&server, DELETE_LATCH, "once", NEVER), -2);
    server.cli(&["DEL", "x"]);
    server.cli(&["SET", "x", "7"]);
    assert_eq!(said(&server, DELETE_LATCH, "once", NEVER), -2);
    assert_eq!(get(&server, "x"), "7");
}

#[test]
fn change_after_its_stamp_changes_nothing_and_is_not_kept() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "7"]);
    for script in [COUNT_DOWN, SET_LATCH, DELETE_LATCH] {
        assert_eq!(said(&server, script, ONCE, OVER), -1);
    }
    assert_eq!((server.keys(), get(&server, "x").as_str()), (vec!["x".to_owned()], "7"));
}

#[test]
fn answer_is_kept_for_a_minute_past_the_stamp() {
    let server = RedisServer::start();
    let stamp = now(&server) + 20_000_000;
    assert_eq!(said(&server, COUNT_DOWN, ONCE, &stamp.to_string()), 0);
    let ends_ms = server.end_of(ONCE);
    assert!((0..=1_000).contains(&(ends_ms - stamp / 1_000 - 60_000)), "{ends_ms} {stamp}");
}

#[test]
fn no_script_touches_a_key_that_holds_no_count() {
    let server = RedisServer::start();
    for write in [
        ["SET", "x", "value"].as_slice(),
        &["SET", "x", ""],
        &["SET", "x", "1.5"],
        &["SET", "x", "07"],
        &["SET", "x", "-0"],
        &["SET", "x", "99999999999999999999"],
        &["HSET", "x", "a", "b"],
        &["RPUSH", "x", "1"],
    ] {
        server.flush();
        server.cli(write);
        let before = server.command(&["DUMP", "x"]);
        for (script, once) in [(COUNT_DOWN, "a"), (SET_LATCH, "b"), (DELETE_LATCH, "c")] {
            assert_eq!(said(&server, script, once, NEVER), -2, "{write:?}");
        }
        let error = eval(&server, READ_NUMBER, &["x"], &[]);
        assert!(error.is_error() && error.to_string().contains("WRONGTYPE"), "{error}");
        assert_eq!(server.command(&["DUMP", "x"]), before, "{write:?}");
    }
}

#[test]
fn what_is_kept_is_forgotten_and_nothing_else() {
    let server = RedisServer::start();
    said(&server, SET_LATCH, ONCE, NEVER);
    said(&server, COUNT_DOWN, OTHER, NEVER);
    assert!(matches!(eval(&server, FORGET, &KEYS, &[]), Reply::Int(_)));
    assert_eq!(kept(&server), [OTHER]);
    assert_eq!(get(&server, "x"), "2");
}

#[test]
fn change_that_fails_half_way_changes_nothing_and_is_not_kept() {
    let server = RedisServer::start();
    for (rules, script, before) in [
        (["-decr"].as_slice(), COUNT_DOWN, "2"),
        (&["-set"], COUNT_DOWN, "2"),
        (&["-get"], COUNT_DOWN, "2"),
        (&["-time"], COUNT_DOWN, "2"),
        (&["-set"], SET_LATCH, ""),
        (&["-set"], DELETE_LATCH, "2"),
        (&["resetkeys", "~x"], COUNT_DOWN, "2"),
        (&["resetkeys", "~palisade_once:*"], COUNT_DOWN, "2"),
    ] {
        server.flush();
        if !before.is_empty() {
            server.cli(&["SET", "x", before]);
        }
        let mut user = restricted(&server, rules);
        let third = if script == SET_LATCH { "3" } else { GENERATION };
        let reply = eval_on(&mut user, script, &KEYS, &[NEVER, CHANNEL, third]);
        assert!(refusal(&reply).is_some(), "{rules:?}: {reply}");
        assert_eq!(server.size(), usize::from(!before.is_empty()), "{rules:?}");
        assert_eq!(get(&server, "x"), before, "{rules:?}");
    }
}

/// What could not be deleted stays, and so does what is kept: nothing says that it was not made.
#[test]
fn user_who_may_not_delete_leaves_the_latch_at_one() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "1"]);
    let mut user = restricted(&server, &["-del"]);
    let reply = eval_on(&mut user, COUNT_DOWN, &KEYS, &[NEVER, CHANNEL, GENERATION]);
    assert!(refusal(&reply).is_some(), "{reply}");
    assert_eq!(get(&server, "x"), "1");
}

#[test]
fn change_is_made_unannounced_by_a_user_who_may_not_announce_it() {
    let server = RedisServer::start();
    for rules in [["-publish"].as_slice(), &["resetchannels"]] {
        let mut user = restricted(&server, rules);
        for (i, (script, left)) in
            [(SET_LATCH, "3"), (DELETE_LATCH, ""), (SET_LATCH, "3")].into_iter().enumerate()
        {
            let once = format!("once:{i}");
            let reply = eval_on(&mut user, script, &["x", &once], &[NEVER, CHANNEL, "3"]);
            assert_eq!(reply.array()[1], Reply::Int(1), "{rules:?}");
            assert_eq!(get(&server, "x"), left);
        }
        server.cli(&["SET", "x", "1"]);
        let reply = eval_on(&mut user, COUNT_DOWN, &KEYS, &[NEVER, CHANNEL, GENERATION]);
        assert_eq!(reply.array()[1], Reply::Int(1), "{rules:?}");
        server.flush();
    }
}

#[test]
fn server_out_of_memory_refuses_changes_and_keeps_nothing() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "2"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    for script in [COUNT_DOWN, SET_LATCH, DELETE_LATCH] {
        let reply = eval(&server, script, &KEYS, &[NEVER, CHANNEL, "3"]);
        let refusal = refusal(&reply).map(Reply::to_string);
        assert!(refusal.is_some_and(|refusal| refusal.contains("OOM")), "{reply}");
    }
    assert_eq!((server.size(), get(&server, "x").as_str()), (1, "2"));
}
