//! Every return path of the fenced scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use super::{ahead, counter, value};
use crate::{
    scripts::{NEVER, OVER, assert_about, eval, eval_on, hold, now, refusal, restricted},
    sources::{FENCED_ACQUIRE, LOOK_AT_COUNTER, PROMOTE},
    support::Look,
};

/// 5 s, and no ttl for the counter.
const SKEW: &str = "5000000";
const NONE: &str = "0";
/// The greatest whole number up to which doubles skip none.
const HIGHEST: i64 = 9_007_199_254_740_991;

/// What an acquire says, with the hint `hint`.
fn bid<'a>(holder: &'a str, hint: &'a str) -> [&'a str; 6] {
    ["30000", NEVER, SKEW, NONE, holder, hint]
}

/// Calls a script for one lock.
#[track_caller]
fn outcome(server: &RedisServer, script: &str, name: &str, args: &[&str]) -> (i64, i64, i64) {
    let reply = eval(server, script, &[name, &counter(name)], args);
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert_eq!(items.len(), 4, "{reply:?}");
    (items[1], items[2], items[3])
}

#[track_caller]
fn token(server: &RedisServer, name: &str, args: &[&str]) -> i64 {
    let (code, _, token) = outcome(server, FENCED_ACQUIRE, name, args);
    assert_eq!(code, 1);
    token
}

fn free(server: &RedisServer, name: &str) {
    server.cli(&["DEL", name]);
}

#[test]
fn new_grant_has_the_hint_for_its_token_if_that_is_near_the_servers_time() {
    let server = RedisServer::start();
    for off in [-4_000_000, 0, 4_000_000] {
        server.flush();
        let hint = now(&server) + off;
        let granted = outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", &hint.to_string()));
        assert_eq!(granted, (1, 30_000, hint));
        assert_eq!(server.hash("x"), [("me:1".to_owned(), "1".to_owned())].into());
        assert_about(server.pttl("x"), 30_000);
        assert_eq!(server.cli(&["GET", &counter("x")]), hint.to_string(), "to the last digit");
        assert_eq!(server.pttl(&counter("x")), -1);
    }
}

#[test]
fn hint_that_is_far_from_the_servers_time_is_brought_to_where_it_may_be() {
    let server = RedisServer::start();
    let far_ahead = (now(&server) + 365 * 24 * 3600 * 1_000_000).to_string();
    for (hint, off) in [("0", -5_000_000), (&*far_ahead, 5_000_000), (NEVER, 5_000_000)] {
        server.flush();
        let before = now(&server);
        let token = token(&server, "x", &bid("me:1", hint));
        assert!((before + off..=now(&server) + off).contains(&token), "{hint}: {token}");
    }
}

#[test]
fn counter_that_is_ahead_of_the_hint_is_raised_by_one() {
    let server = RedisServer::start();
    let hint = now(&server).to_string();
    let first = token(&server, "x", &bid("me:1", &hint));
    for further in 1..=3 {
        free(&server, "x");
        assert_eq!(token(&server, "x", &bid("me:2", &hint)), first + further);
        assert_eq!(value(&server, &counter("x")), u64::try_from(first + further).unwrap());
    }
}

#[test]
fn acquire_that_is_repeated_tells_the_same_token_and_raises_nothing() {
    let server = RedisServer::start();
    let first = token(&server, "x", &bid("me:1", "0"));
    for hint in ["0", NEVER] {
        assert_eq!(token(&server, "x", &bid("me:1", hint)), first);
    }
    assert_eq!(server.count("x"), 1);
    // Where the counter is gone the token is not known any more.
    server.cli(&["DEL", &counter("x")]);
    assert!(token(&server, "x", &bid("me:1", NEVER)) > first);
}

/// A negative hint is the token of a hold that stands.
#[test]
fn hold_that_is_written_once_more_raises_the_counter_to_its_token_and_no_further() {
    let server = RedisServer::start();
    // Older than what a new grant would be lifted to.
    let own = now(&server) - 60_000_000;
    let held = format!("-{own}");
    for (before, after) in
        [(None, own), (Some(own - 9), own), (Some(own), own), (Some(own + 9), own + 9)]
    {
        server.flush();
        if let Some(before) = before {
            server.cli(&["SET", &counter("x"), &before.to_string()]);
        }
        assert_eq!(token(&server, "x", &bid("me:1", &held)), after, "{before:?}");
        assert_eq!(value(&server, &counter("x")), u64::try_from(after).unwrap());
        free(&server, "x");
        // The next holder's is as great as it would be without.
        assert!(token(&server, "x", &bid("you:1", "0")) > now(&server) - 6_000_000);
    }
    server.flush();
    let far = token(&server, "x", &bid("me:1", &format!("-{NEVER}")));
    assert!(far <= now(&server) + 5_000_000, "{far}");
}

#[test]
fn look_tells_the_counter_and_whether_the_lock_is_held() {
    let server = RedisServer::start();
    let look = |name: &str| {
        let reply = eval(&server, LOOK_AT_COUNTER, &[name, &counter(name)], &[]);
        reply.array()[1..].iter().map(Reply::int).collect::<Vec<_>>()
    };
    assert_eq!(look("x"), [0, 0]);
    let first = token(&server, "x", &bid("me:1", "0"));
    assert_eq!(look("x"), [first, 1]);
    free(&server, "x");
    assert_eq!(look("x"), [first, 0]);
    for text in ["x", "-1", &(HIGHEST + 1).to_string()] {
        server.cli(&["SET", &counter("x"), text]);
        assert_eq!(look("x"), [-3, 0], "{text}");
    }
    server.cli(&["DEL", &counter("x")]);
    server.cli(&["HSET", &counter("x"), "a", "b"]);
    assert_eq!(look("x"), [-3, 0]);
    server.cli(&["SET", "y", "value"]);
    server.cli(&["HSET", "z", "a", "b"]);
    for foreign in ["y", "z"] {
        let reply = eval(&server, LOOK_AT_COUNTER, &[foreign, &counter(foreign)], &[]);
        assert!(reply.to_string().contains("WRONGTYPE"), "{foreign}: {reply}");
    }
    assert_eq!(server.keys(), [&*counter("x"), "y", "z"]);
}

#[test]
fn refused_and_stale_acquires_raise_nothing() {
    let server = RedisServer::start();
    let first = token(&server, "x", &bid("you:1", "0"));
    let refused = outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", NEVER));
    assert_eq!((refused.0, refused.2), (0, 0));
    assert_about(refused.1, 30_000);
    let stale = ["me:1", "1", "30000", OVER, "0", SKEW, NONE];
    assert_eq!(outcome(&server, FENCED_ACQUIRE, "y", &stale), (-1, 0, 0));
    assert_eq!(value(&server, &counter("x")), u64::try_from(first).unwrap());
    assert_eq!(server.keys(), [counter("x"), "x".to_owned()]);
}

#[test]
fn plain_and_fenced_acquires_exclude_each_other() {
    let server = RedisServer::start();
    hold(&server, "x", "you:1", "30000");
    assert_eq!(outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", "0")).0, 0);
    assert_eq!(value(&server, &counter("x")), 0);
}

#[test]
fn counter_of_a_composite_gets_its_ttl_with_each_write_and_others_lose_theirs() {
    let server = RedisServer::start();
    let with_ttl = |holder| ["30000", NEVER, SKEW, "86400000", holder, "0"];
    let first = token(&server, "x", &with_ttl("me:1"));
    assert_about(server.pttl(&counter("x")), 86_400_000);
    server.cli(&["PEXPIRE", &counter("x"), "50000"]);
    token(&server, "x", &with_ttl("me:1"));
    assert_about(server.pttl(&counter("x")), 50_000);
    let greater = (first + 10).to_string();
    outcome(&server, PROMOTE, "x", &["me:1", &greater, "86400000"]);
    assert_about(server.pttl(&counter("x")), 86_400_000);
    free(&server, "x");
    token(&server, "x", &bid("me:2", "0"));
    assert_eq!(server.pttl(&counter("x")), -1);
}

#[test]
fn what_is_no_counter_is_not_touched_and_nothing_is_granted() {
    let server = RedisServer::start();
    let counter = counter("x");
    let beyond = (HIGHEST + 1).to_string();
    let huge = "9".repeat(40);
    for text in ["", "x", "-1", "1.5", "1e3", "0x10", " 7", "7 ", "nan", &beyond, &huge] {
        server.cli(&["SET", &counter, text]);
        assert_eq!(outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", "0")), (-3, 0, 0), "{text}");
        assert_eq!(server.cli(&["GET", &counter]), text);
        hold(&server, "x", "me:1", "30000");
        assert_eq!(outcome(&server, PROMOTE, "x", &["me:1", "7", NONE]), (-3, 0, 0), "{text}");
        assert_eq!(server.cli(&["GET", &counter]), text);
        free(&server, "x");
    }
    server.cli(&["DEL", &counter]);
    server.cli(&["HSET", &counter, "a", "b"]);
    assert_eq!(outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", "0")), (-3, 0, 0));
    assert_eq!(server.keys(), [&*counter]);
    hold(&server, "x", "me:1", "30000");
    assert_eq!(outcome(&server, PROMOTE, "x", &["me:1", "7", NONE]), (-3, 0, 0));
    assert_eq!(server.hash(&counter), [("a".to_owned(), "b".to_owned())].into());
}

#[test]
fn counter_that_is_more_than_a_day_ahead_of_the_servers_time_counts_for_nothing() {
    let server = RedisServer::start();
    let day = |more: i64| now(&server) + 24 * 3_600 * 1_000_000 + more * 1_000_000;
    let less = day(-60);
    server.cli(&["SET", &counter("x"), &less.to_string()]);
    assert_eq!(token(&server, "x", &bid("me:1", "0")), less + 1);
    free(&server, "x");
    for far in [day(60), HIGHEST - 2] {
        server.cli(&["SET", &counter("x"), &far.to_string()]);
        assert_eq!(outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", "0")), (-3, 0, 0));
        assert_eq!(server.keys(), [counter("x")]);
        hold(&server, "x", "me:1", "30000");
        let more = (far + 1).to_string();
        assert_eq!(outcome(&server, PROMOTE, "x", &["me:1", &more, NONE]), (-3, 0, 0));
        server.cli(&["SET", &counter("x"), "7"]);
        assert_eq!(outcome(&server, PROMOTE, "x", &["me:1", &more, NONE]), (-3, 0, 0));
        assert_eq!(value(&server, &counter("x")), 7, "it is not written elsewhere");
        free(&server, "x");
    }
}

#[test]
fn lock_of_another_type_is_not_touched() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "value"]);
    assert_eq!(outcome(&server, FENCED_ACQUIRE, "x", &bid("me:1", "0")), (-2, 0, 0));
    assert_eq!(outcome(&server, PROMOTE, "x", &["me:1", "7", NONE]), (-2, 0, 0));
    assert_eq!(server.keys(), ["x"]);
}

// proves: counter-rises
#[test]
fn promotion_raises_the_counter_of_the_holder_and_of_nobody_else() {
    let server = RedisServer::start();
    let first = token(&server, "x", &bid("me:1", "0"));
    let [less, same, more] = [first - 1, first, first + 100].map(|token| token.to_string());
    let promote =
        |holder: &str, token: &str| outcome(&server, PROMOTE, "x", &[holder, token, NONE]);
    assert_eq!(promote("you:1", &more), (0, 0, first));
    assert_eq!(promote("me:1", &less), (0, 0, first), "never down");
    assert_eq!(promote("me:1", &same), (1, 0, first));
    assert_eq!(promote("me:1", &more), (1, 0, first + 100));
    assert_eq!(promote("me:1", &more), (1, 0, first + 100), "again, after a lost answer");
    assert_eq!(server.cli(&["GET", &counter("x")]), more);
    free(&server, "x");
    assert_eq!(promote("me:1", NEVER), (0, 0, first + 100), "too late");
    assert_eq!(server.keys(), [counter("x")]);
}

#[test]
fn locks_in_a_call_have_a_token_each() {
    let server = RedisServer::start();
    let known = i64::try_from(ahead(1)).unwrap();
    server.cli(&["SET", "c1", &known.to_string()]);
    hold(&server, "b", "you:1", "30000");
    let keys = ["a", "c1", "b", "c2", "c", "c3"];
    let args = [bid("me:1", "0").as_slice(), &["me:1", "0", "me:1", "0"]].concat();
    let reply = eval(&server, FENCED_ACQUIRE, &keys, &args);
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert_eq!(items[1..4], [1, 30_000, known + 1]);
    assert_eq!((items[4], items[6]), (0, 0));
    assert_eq!((items[7], items[8]), (1, 30_000));
    assert!((items[0] - 5_000_000 - items[9]).abs() < 2, "{items:?}");

    let more = (known + 9).to_string();
    let args = ["me:1", &more, NONE, "me:1", NEVER, NONE];
    let reply = eval(&server, PROMOTE, &keys[..4], &args);
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert_eq!(items[1..], [1, 0, known + 9, 0, 0, 0]);
    assert_eq!(server.keys(), ["a", "b", "c", "c1", "c3"]);
}

#[test]
fn server_out_of_memory_changes_nothing() {
    let server = RedisServer::start();
    let first = token(&server, "x", &bid("me:1", "0"));
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let more = (first + 1).to_string();
    for (script, name, args) in [
        (FENCED_ACQUIRE, "y", bid("me:2", "0").as_slice()),
        (PROMOTE, "x", ["me:1", &more, NONE].as_slice()),
    ] {
        let reply = eval(&server, script, &[name, &counter(name)], args);
        let refusal = refusal(&reply).map(Reply::to_string);
        assert!(refusal.is_some_and(|refusal| refusal.contains("OOM")), "{reply}");
    }
    assert_eq!(server.keys(), [counter("x"), "x".to_owned()]);
    assert_eq!(value(&server, &counter("x")), u64::try_from(first).unwrap());
}

#[test]
fn missing_right_is_an_error_and_leaves_no_lock() {
    let server = RedisServer::start();
    for rule in ["-get", "-set", "-pttl", "-time"] {
        let mut user = restricted(&server, &[rule]);
        let reply = eval_on(&mut user, FENCED_ACQUIRE, &["x", &counter("x")], &bid("me:1", "0"));
        assert!(refusal(&reply).is_some(), "{rule}: {reply:?}");
        assert_eq!(server.size(), 0, "{rule}");
    }
    // Too late for the counter: a number is used up.
    for rule in ["-hset", "-pexpire"] {
        let mut user = restricted(&server, &[rule]);
        let reply = eval_on(&mut user, FENCED_ACQUIRE, &["x", &counter("x")], &bid("me:1", "0"));
        assert!(refusal(&reply).is_some(), "{rule}: {reply:?}");
        assert_eq!(server.keys(), [counter("x")], "{rule}");
    }
    let mut user = restricted(&server, &["resetkeys", "~x"]);
    let reply = eval_on(&mut user, FENCED_ACQUIRE, &["x", &counter("x")], &bid("me:1", "0"));
    assert!(refusal(&reply).is_some(), "{reply:?}");
    assert!(!server.exists("x"));
}
