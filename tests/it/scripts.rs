//! Every return path of the mutex' scripts, by raw EVAL on a real server.

use testkit::{Connection, RedisServer, Reply};

use crate::{
    sources::{ACQUIRE, COUNT, FORCE, INSPECT, RENEW},
    support::{Look, channel},
};

/// A not-after stamp that is never over.
pub(crate) const NEVER: &str = "9007199254740991";
/// One that is.
pub(crate) const OVER: &str = "1";

fn words<'a>(script: &'a str, count: &'a str, keys: &[&'a str], args: &[&'a str]) -> Vec<&'a str> {
    ["EVAL", script, count].iter().chain(keys).chain(args).copied().collect()
}

pub(crate) fn eval(server: &RedisServer, script: &str, keys: &[&str], args: &[&str]) -> Reply {
    server.command(&words(script, &keys.len().to_string(), keys, args))
}

pub(crate) fn eval_on(
    connection: &mut Connection,
    script: &str,
    keys: &[&str],
    args: &[&str],
) -> Reply {
    connection.command(&words(script, &keys.len().to_string(), keys, args)).unwrap()
}

/// The error of an answer, or of the first lock in it.
pub(crate) fn refusal(reply: &Reply) -> Option<&Reply> {
    let first = if reply.is_error() { Some(reply) } else { reply.array().get(1) };
    first.filter(|first| first.is_error())
}

/// Calls a script and returns its outcomes, after a look at the time it tells.
#[track_caller]
fn outcomes(server: &RedisServer, script: &str, keys: &[&str], args: &[&str]) -> Vec<(i64, i64)> {
    let (before, reply, after) = (now(server), eval(server, script, keys, args), now(server));
    if let Reply::Int(time) = reply {
        assert!((before..=after).contains(&time), "{before} {time} {after}");
        return keys.iter().map(|_| (1, args[0].parse().unwrap())).collect();
    }
    let items: Vec<_> = reply.array().iter().map(Reply::int).collect();
    assert!((before..=after).contains(&items[0]), "{before} {reply:?} {after}");
    assert_eq!(items.len(), 1 + 2 * keys.len());
    items[1..].chunks(2).map(|pair| (pair[0], pair[1])).collect()
}

pub(crate) fn now(server: &RedisServer) -> i64 {
    let time = server.command(&["TIME"]);
    let parts = time.array().iter().map(|part| part.to_string().parse::<i64>().unwrap());
    parts.reduce(|seconds, micros| seconds * 1_000_000 + micros).unwrap()
}

#[track_caller]
pub(crate) fn assert_about(value: i64, expected: i64) {
    assert!((expected - 10_000..=expected).contains(&value), "{value}, not about {expected}");
}

pub(crate) fn hold(server: &RedisServer, name: &str, holder: &str, ttl: &str) {
    let reply = eval(server, ACQUIRE, &[name], &[ttl, NEVER, holder]);
    assert!(matches!(reply, Reply::Int(_)), "{reply}");
}

#[test]
fn acquire_of_a_free_lock_is_granted_for_the_lease() {
    let server = RedisServer::start();
    let granted = outcomes(&server, ACQUIRE, &["x"], &["30000", NEVER, "me:1"]);
    assert_eq!(granted, [(1, 30_000)]);
    assert_eq!(server.hash("x"), [("me:1".to_owned(), "1".to_owned())].into());
    assert_about(server.pttl("x"), 30_000);
}

#[test]
fn acquire_that_is_repeated_changes_nothing() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    for lease in ["30000", "10"] {
        let again = outcomes(&server, ACQUIRE, &["x"], &[lease, NEVER, "me:1"]);
        assert_eq!(again[0].0, 1);
        assert_about(again[0].1, 30_000);
        assert_eq!(server.count("x"), 1);
        assert_about(server.pttl("x"), 30_000);
    }
}

#[test]
fn acquire_by_the_holder_extends_a_ttl_that_is_too_short_and_gives_one_that_is_missing() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    let longer = outcomes(&server, ACQUIRE, &["x"], &["60000", NEVER, "me:1"]);
    assert_eq!(longer, [(1, 60_000)]);
    server.cli(&["PERSIST", "x"]);
    let without = outcomes(&server, ACQUIRE, &["x"], &["60000", NEVER, "me:1"]);
    assert_eq!(without, [(1, 60_000)]);
    assert_about(server.pttl("x"), 60_000);
}

#[test]
fn acquire_of_a_held_lock_tells_the_holders_ttl() {
    let server = RedisServer::start();
    hold(&server, "x", "you:1", "30000");
    let refused = outcomes(&server, ACQUIRE, &["x"], &["60000", NEVER, "me:1"]);
    assert_eq!(refused[0].0, 0);
    assert_about(refused[0].1, 30_000);
    server.cli(&["PERSIST", "x"]);
    assert_eq!(outcomes(&server, ACQUIRE, &["x"], &["9", NEVER, "me:1"]), [(0, -1)]);
    assert!(!server.hash("x").contains_key("me:1"));
}

// proves: no-blind-resend
#[test]
fn acquire_after_its_stamp_changes_nothing() {
    let server = RedisServer::start();
    assert_eq!(outcomes(&server, ACQUIRE, &["x"], &["9", OVER, "me:1"]), [(-1, 0)]);
    assert_eq!(server.size(), 0);
    // Not even a hold of its own.
    hold(&server, "x", "me:1", "30000");
    assert_eq!(outcomes(&server, ACQUIRE, &["x"], &["60000", OVER, "me:1"]), [(-1, 0)]);
    assert_eq!(server.count("x"), 1);
    assert_about(server.pttl("x"), 30_000);
}

#[test]
fn no_script_touches_a_key_of_another_type() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "value"]);
    assert_eq!(outcomes(&server, ACQUIRE, &["x"], &["9", NEVER, "me:1"]), [(-2, 0)]);
    assert_eq!(outcomes(&server, RENEW, &["x"], &["9", "me:1"]), [(-2, 0)]);
    assert_eq!(outcomes(&server, COUNT, &["x"], &["me:1", "0", "c"]), [(-2, 0)]);
    assert_eq!(outcomes(&server, FORCE, &["x"], &["c"]), [(-2, 0)]);
    let error = eval(&server, INSPECT, &["x"], &[]);
    assert!(error.is_error() && error.to_string().contains("WRONGTYPE"), "{error}");
    assert_eq!(server.cli(&["GET", "x"]), "value");
    assert_eq!(server.pttl("x"), -1);
}

#[test]
fn three_locks_in_a_call_have_an_outcome_each() {
    let server = RedisServer::start();
    let names = ["free", "held", "text"];
    hold(&server, "held", "you:1", "30000");
    server.cli(&["SET", "text", "value"]);
    let acquired = outcomes(&server, ACQUIRE, &names, &["60000", NEVER, "me:1", "me:1", "me:1"]);
    assert_eq!(acquired[0], (1, 60_000));
    assert_eq!(acquired[1].0, 0);
    assert_eq!(acquired[2], (-2, 0));

    let renewed =
        outcomes(&server, RENEW, &["text", "free", "held"], &["70000", "me:1", "me:1", "me:1"]);
    assert_eq!(renewed, [(-2, 0), (1, 70_000), (0, 1)], "a string in a batch spares the others");

    let args: Vec<_> = names.iter().flat_map(|_| ["me:1", "0", "c"]).collect();
    assert_eq!(outcomes(&server, COUNT, &names, &args), [(1, 0), (0, 1), (-2, 0)]);

    let forced = outcomes(&server, FORCE, &names, &["c", "c", "c"]);
    assert_eq!(forced, [(0, 0), (1, 0), (-2, 0)]);
    assert_eq!(server.keys(), ["text"]);
}

#[test]
fn time_alone_is_the_answer_where_all_have_the_lease() {
    let server = RedisServer::start();
    let both = |script, args: &[&str]| eval(&server, script, &["a", "b"], args);
    assert!(matches!(both(ACQUIRE, &["9000", NEVER, "me:1", "me:2"]), Reply::Int(_)));
    // Before 7.0 it takes a look at the ttl.
    let is_quick = server.version() >= (7, 0);
    let renewed = both(RENEW, &["9500", "me:1", "me:2"]);
    assert_eq!(matches!(renewed, Reply::Int(_)), is_quick, "{renewed}");
    assert_eq!(server.hash("a"), [("me:1".to_owned(), "1".to_owned())].into());
    assert_eq!(server.hash("b"), [("me:2".to_owned(), "1".to_owned())].into());
    assert_eq!(both(RENEW, &["9000", "me:1", "me:1"]).array()[3..], [0, 1].map(Reply::Int));
    assert_eq!(both(ACQUIRE, &["9000", NEVER, "me:1", "me:1"]).array()[3], Reply::Int(0));
}

#[test]
fn stamp_counts_for_all_locks_of_a_call() {
    let server = RedisServer::start();
    let acquired = outcomes(&server, ACQUIRE, &["a", "b"], &["9000", OVER, "me:1", "me:2"]);
    assert_eq!(acquired, [(-1, 0), (-1, 0)]);
    assert_eq!(server.size(), 0);
}

// proves: ttl-not-shortened
#[test]
fn renewal_extends_and_never_shortens() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    assert_eq!(outcomes(&server, RENEW, &["x"], &["60000", "me:1"]), [(1, 60_000)]);
    // 0 only asks.
    for lease in ["0", "10"] {
        let asked = outcomes(&server, RENEW, &["x"], &[lease, "me:1"]);
        assert_eq!(asked[0].0, 1);
        assert_about(asked[0].1, 60_000);
    }
    assert_about(server.pttl("x"), 60_000);
}

#[test]
fn renewal_gives_a_ttl_that_is_missing_unless_it_only_asks() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    server.cli(&["PERSIST", "x"]);
    assert_eq!(outcomes(&server, RENEW, &["x"], &["0", "me:1"]), [(1, -1)]);
    assert_eq!(server.pttl("x"), -1, "0 ms would have been its end");
    assert_eq!(outcomes(&server, RENEW, &["x"], &["60000", "me:1"]), [(1, 60_000)]);
    assert_about(server.pttl("x"), 60_000);
}

#[test]
fn renewal_of_what_is_not_ours_says_gone_or_taken() {
    let server = RedisServer::start();
    assert_eq!(outcomes(&server, RENEW, &["x"], &["60000", "me:1"]), [(0, 0)]);
    assert_eq!(server.size(), 0);
    hold(&server, "x", "you:1", "30000");
    assert_eq!(outcomes(&server, RENEW, &["x"], &["60000", "me:1"]), [(0, 1)]);
    assert_about(server.pttl("x"), 30_000);
}

#[test]
fn count_is_written_as_it_is_and_leaves_the_ttl() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    let expires = server.end_of("x");
    for count in [3, 2, 2, 1] {
        let written = outcomes(&server, COUNT, &["x"], &["me:1", &count.to_string(), "c"]);
        assert_eq!(written, [(1, 0)]);
        assert_eq!(server.count("x"), count);
    }
    assert_eq!(server.end_of("x"), expires);
}

#[test]
fn count_of_what_is_not_ours_changes_nothing() {
    let server = RedisServer::start();
    for count in ["0", "2"] {
        assert_eq!(outcomes(&server, COUNT, &["x"], &["me:1", count, "c"]), [(0, 0)]);
        assert_eq!(server.size(), 0);
    }
    hold(&server, "x", "you:1", "30000");
    for count in ["0", "2"] {
        assert_eq!(outcomes(&server, COUNT, &["x"], &["me:1", count, "c"]), [(0, 1)]);
    }
    assert_eq!(server.hash("x"), [("you:1".to_owned(), "1".to_owned())].into());
    assert_about(server.pttl("x"), 30_000);
}

#[test]
fn release_tells_how_many_listened() {
    let server = RedisServer::start();
    let channel = channel("x");
    let mut listeners = [server.connect(), server.connect()];
    for listener in &mut listeners {
        listener.command(&["SUBSCRIBE", &channel]).unwrap();
    }
    for (script, args) in
        [(COUNT, ["me:1", "0", &channel].as_slice()), (FORCE, [channel.as_str()].as_slice())]
    {
        hold(&server, "x", "me:1", "30000");
        assert_eq!(outcomes(&server, script, &["x"], args), [(1, 2)]);
        assert_eq!(server.size(), 0);
        for listener in &mut listeners {
            assert_eq!(listener.read().unwrap().array()[2], Reply::Bulk(b"0".to_vec()));
        }
    }
}

#[test]
fn release_without_the_right_to_announce_it_is_a_release() {
    let server = RedisServer::start();
    let mut user = restricted(&server, &["resetchannels"]);
    for (script, args) in [(COUNT, ["me:1", "0", "c"].as_slice()), (FORCE, ["c"].as_slice())] {
        hold(&server, "x", "me:1", "30000");
        let reply = eval_on(&mut user, script, &["x"], args);
        assert_eq!(reply.array()[1..], [Reply::Int(1), Reply::Int(-1)]);
        assert_eq!(server.size(), 0);
    }
}

// proves: ttl-not-shortened
#[test]
fn grant_that_cannot_get_a_ttl_is_taken_back() {
    let server = RedisServer::start();
    for also in ["-hdel", "-del", "+time"] {
        let mut user = restricted(&server, &["-pexpire", also]);
        let reply = eval_on(&mut user, ACQUIRE, &["x"], &["30000", NEVER, "me:1"]);
        assert!(refusal(&reply).is_some(), "{reply:?}");
        assert_eq!(server.size(), 0, "{also}");
    }
    let mut user = restricted(&server, &["-pexpire"]);
    // Where it was held before it stays as it is: it has a ttl.
    hold(&server, "x", "me:1", "30000");
    let reply = eval_on(&mut user, ACQUIRE, &["x"], &["60000", NEVER, "me:1"]);
    assert!(refusal(&reply).is_some(), "{reply:?}");
    assert_eq!(server.count("x"), 1);
    assert_about(server.pttl("x"), 30_000);
}

/// Where one cannot get a ttl, and another has one that is long enough.
#[test]
fn error_of_one_lock_stands_for_its_code_and_the_others_are_granted() {
    let server = RedisServer::start();
    hold(&server, "b", "me:2", "60000");
    let mut user = restricted(&server, &["-pexpire"]);
    let args = ["30000", NEVER, "me:1", "me:2", "me:3"];
    let reply = eval_on(&mut user, ACQUIRE, &["a", "b", "c"], &args);
    let items = reply.array();
    assert_eq!(items.len(), 7);
    assert!(items[1].is_error() && items[5].is_error(), "{reply:?}");
    assert_eq!((items[2].int(), items[3].int(), items[6].int()), (0, 1, 0));
    assert_eq!(server.keys(), ["b"]);
}

#[test]
fn missing_right_is_an_error_and_leaves_nothing() {
    let server = RedisServer::start();
    for rule in ["-pttl", "-hset", "-time"] {
        let mut user = restricted(&server, &[rule]);
        let reply = eval_on(&mut user, ACQUIRE, &["x"], &["30000", NEVER, "me:1"]);
        assert!(refusal(&reply).is_some(), "{rule}: {reply:?}");
        assert_eq!(server.size(), 0, "{rule}");
    }
    let mut user = restricted(&server, &["resetkeys", "~y"]);
    for (script, args) in [
        (ACQUIRE, ["30000", NEVER, "me:1"].as_slice()),
        (RENEW, ["30000", "me:1"].as_slice()),
        (COUNT, ["me:1", "0", "c"].as_slice()),
        (FORCE, ["c"].as_slice()),
        (INSPECT, [].as_slice()),
    ] {
        let reply = eval_on(&mut user, script, &["x"], args);
        assert!(reply.is_error(), "{reply:?}");
    }
    assert_eq!(server.size(), 0);
}

#[test]
fn server_out_of_memory_refuses_grants_and_still_renews_and_releases() {
    let server = RedisServer::start();
    hold(&server, "x", "me:1", "30000");
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let reply = eval(&server, ACQUIRE, &["y"], &["30000", NEVER, "me:2"]);
    let refusal = refusal(&reply).map(Reply::to_string);
    assert!(refusal.is_some_and(|refusal| refusal.contains("OOM")), "{reply}");
    assert_eq!(outcomes(&server, RENEW, &["x"], &["60000", "me:1"]), [(1, 60_000)]);
    assert_eq!(outcomes(&server, COUNT, &["x"], &["me:1", "0", "c"]), [(1, 0)]);
    assert_eq!(server.size(), 0);
}

#[test]
fn force_deletes_whoever_holds() {
    let server = RedisServer::start();
    assert_eq!(outcomes(&server, FORCE, &["x"], &["c"]), [(0, 0)]);
    server.cli(&["HSET", "x", "you:1", "3"]);
    assert_eq!(outcomes(&server, FORCE, &["x"], &["c"]), [(1, 0)]);
    assert_eq!(server.size(), 0);
    server.cli(&["HSET", "x", "you:1:write", "3", "mode", "write"]);
    assert_eq!(outcomes(&server, FORCE, &["x"], &["c"]), [(-5, 0)]);
    assert_eq!(server.hash("x").len(), 2);
}

#[test]
fn inspection_tells_holder_count_and_ttl() {
    let server = RedisServer::start();
    assert_eq!(eval(&server, INSPECT, &["x"], &[]).array().len(), 1);
    server.cli(&["HSET", "x", "you:1", "3"]);
    let bulk = |text: &str| Reply::Bulk(text.into());
    let reply = eval(&server, INSPECT, &["x"], &[]);
    assert_eq!(reply.array()[1..], [Reply::Int(-1), bulk("you:1"), bulk("3")]);
    server.cli(&["PEXPIRE", "x", "30000"]);
    assert_about(eval(&server, INSPECT, &["x"], &[]).array()[1].int(), 30_000);
}

/// A connection of a user that may do everything but what `rules` take away.
pub(crate) fn restricted(server: &RedisServer, rules: &[&str]) -> Connection {
    let all = ["ACL", "SETUSER", "user", "reset", "on", ">pw", "~*", "&*", "+@all"];
    server.cli(&all.iter().chain(rules).collect::<Vec<_>>());
    let mut connection = server.connect();
    connection.command(&["AUTH", "user", "pw"]).unwrap();
    connection
}
