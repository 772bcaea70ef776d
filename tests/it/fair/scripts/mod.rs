//! Every return path of the scripts, by raw EVAL on a real server.

mod heads;
mod places;

use testkit::{RedisServer, Reply};

use crate::{
    scripts::{NEVER, OVER, assert_about, eval, eval_on, now, refusal, restricted},
    sources::{FAIR_ACQUIRE, FAIR_FORCE, FAIR_KEEP, FAIR_RELEASE, FAIR_WAITING},
    support::Look,
};

const KEYS: [&str; 4] = ["x", "queue", "deadlines", "note"];
/// Of a place behind nothing.
const PLACE: i64 = 300_000;
const DAY: i64 = 86_400_000;

/// The answer for one lock; a plain one is a grant for the lease.
#[track_caller]
fn outcome(reply: &Reply, lease: &str) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, lease.parse().unwrap()),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
}

fn acquire(
    server: &RedisServer,
    lease: &str,
    stamp: &str,
    holder: &str,
    waits: &str,
) -> (i64, i64) {
    let reply = eval(server, FAIR_ACQUIRE, &KEYS, &[lease, stamp, holder, waits, "c"]);
    outcome(&reply, lease)
}

/// Asks and waits.
fn wait(server: &RedisServer, holder: &str) -> (i64, i64) {
    acquire(server, "30000", NEVER, holder, "1")
}

/// One after the other.
fn wait_all(server: &RedisServer, holders: &[&str]) {
    for holder in holders {
        wait(server, holder);
    }
}

/// Asks and does not wait.
fn attempt(server: &RedisServer, holder: &str) -> (i64, i64) {
    acquire(server, "30000", NEVER, holder, "0")
}

fn release(server: &RedisServer, holder: &str) -> (i64, i64) {
    outcome(&eval(server, FAIR_RELEASE, &KEYS, &[holder, "c"]), "0")
}

fn keep(server: &RedisServer, holder: &str) -> (i64, i64) {
    outcome(&eval(server, FAIR_KEEP, &KEYS[..3], &[holder]), "0")
}

fn force(server: &RedisServer) -> (i64, i64) {
    outcome(&eval(server, FAIR_FORCE, &KEYS[..3], &["c"]), "0")
}

fn queue(server: &RedisServer) -> Vec<String> {
    let told = eval(server, FAIR_WAITING, &["queue"], &[]);
    told.array()[1..].iter().map(Reply::to_string).collect()
}

/// How much longer a place lasts, ms.
fn left(server: &RedisServer, waiter: &str) -> i64 {
    let score = server.command(&["ZSCORE", "deadlines", waiter]).to_string();
    score.parse::<i64>().unwrap() - now(server) / 1_000
}

/// Has a place end in so many ms.
fn ends_in(server: &RedisServer, waiter: &str, ms: i64) {
    let at = (now(server) / 1_000 + ms).to_string();
    server.command(&["ZADD", "deadlines", "XX", &at, waiter]);
}

/// A connection that hears what waiters of these names are told.
fn hear(server: &RedisServer, waiters: &[&str]) -> testkit::Connection {
    let mut heard = server.connect();
    for waiter in waiters {
        heard.command(&["SUBSCRIBE", &format!("c:{waiter}")]).unwrap();
    }
    heard
}

/// The waiter that the next message is for.
fn heard(connection: &mut testkit::Connection) -> String {
    let message = connection.read().unwrap();
    assert_eq!(message.array()[2].to_string(), "0");
    message.array()[1].to_string()
}

#[test]
fn free_lock_is_granted_for_the_lease_and_again_to_its_holder() {
    let server = RedisServer::start();
    assert_eq!(wait(&server, "me:1"), (1, 30_000));
    assert_eq!(server.hash("x"), [("me:1".to_owned(), "1".to_owned())].into());
    assert_about(server.pttl("x"), 30_000);
    let (code, ttl) = acquire(&server, "9000", NEVER, "me:1", "1");
    assert_eq!(code, 1);
    assert_about(ttl, 30_000);
    assert_eq!(acquire(&server, "60000", NEVER, "me:1", "0"), (1, 60_000));
    assert_eq!((server.keys(), server.count("x")), (vec!["x".to_owned()], 1));
}

#[test]
fn those_that_ask_for_one_lock_in_one_call_get_it_and_their_places_in_its_order() {
    let server = RedisServer::start();
    let call = |holders: [&str; 3]| {
        let keys = [KEYS, KEYS, KEYS].concat();
        let each = holders.iter().flat_map(|holder| [*holder, "1", "c"]);
        let args: Vec<_> = ["30000", NEVER].into_iter().chain(each).collect();
        let reply = eval(&server, FAIR_ACQUIRE, &keys, &args);
        let codes = reply.array().iter().skip(1).step_by(2).map(Reply::int);
        codes.collect::<Vec<_>>()
    };
    assert_eq!(call(["me:1", "you:2", "they:3"]), [1, -7, -7]);
    assert_eq!(queue(&server), ["you:2", "they:3"]);
    assert_eq!(call(["they:3", "you:2", "we:4"]), [-6, -6, -7]);
    assert_eq!(queue(&server), ["you:2", "they:3", "we:4"]);
    release(&server, "me:1");
    // Free, and the turn of the first: those before it in the call do not pass it.
    assert_eq!(call(["they:3", "we:4", "you:2"]), [-6, -6, 1]);
    assert_eq!(queue(&server), ["they:3", "we:4"]);
}

#[test]
fn acquire_after_its_stamp_changes_nothing() {
    let server = RedisServer::start();
    assert_eq!(acquire(&server, "9", OVER, "me:1", "1"), (-1, 0));
    wait(&server, "you:1");
    assert_eq!(acquire(&server, "9", OVER, "me:1", "1"), (-1, 0));
    assert_eq!(server.keys(), ["x"]);
}

#[test]
fn places_are_taken_in_order_each_with_its_time_behind_the_one_before() {
    let server = RedisServer::start();
    wait(&server, "me:0");
    assert_eq!(wait(&server, "me:1"), (-7, 2_000));
    assert_eq!(wait(&server, "me:2"), (-7, 2_000));
    assert_eq!(queue(&server), ["me:1", "me:2"]);
    assert_about(left(&server, "me:1"), 30_000 + PLACE);
    assert_about(left(&server, "me:2"), 30_000 + 2 * PLACE);
    server.command(&["PEXPIRE", "queue", "60000"]);
    server.command(&["PEXPIRE", "deadlines", "60000"]);
    assert_eq!(wait(&server, "me:1"), (-6, 2_000), "asked again it stands where it stood");
    assert_about(server.pttl("queue"), DAY + 30_000 + PLACE);
    assert_about(server.pttl("deadlines"), DAY + 90_000 + PLACE);
    assert_eq!(queue(&server), ["me:1", "me:2"]);
    server.command(&["PEXPIRE", "x", "900"]);
    let (code, look) = wait(&server, "me:1");
    assert!(code == -6 && look <= 900, "the lease of the holder ends before: {look}");
    server.command(&["PERSIST", "x"]);
    assert_eq!(wait(&server, "me:2"), (-6, 2_000));
}

#[test]
fn who_does_not_wait_takes_no_place_and_passes_nobody() {
    let server = RedisServer::start();
    wait(&server, "me:0");
    let (code, ttl) = attempt(&server, "you:1");
    assert_eq!(code, 0);
    assert_about(ttl, 30_000);
    assert!(queue(&server).is_empty());
    wait(&server, "me:1");
    release(&server, "me:0");
    let (code, ttl) = attempt(&server, "you:1");
    assert_eq!((code, server.exists("x")), (0, false), "it is the turn of another");
    assert!((2_900..=3_000).contains(&ttl), "{ttl}");
    assert_eq!(queue(&server), ["me:1"]);
    assert_eq!(wait(&server, "me:2").0, -7);
    assert_eq!(wait(&server, "me:1"), (1, 30_000));
}

#[test]
fn next_one_has_its_time_from_the_end_of_the_lease_when_the_first_is_granted() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2", "me:3"]);
    release(&server, "me:0");
    attempt(&server, "you:1");
    assert!(server.exists("note"));
    assert_eq!(wait(&server, "me:1"), (1, 30_000));
    assert_eq!(queue(&server), ["me:2", "me:3"]);
    assert_about(left(&server, "me:2"), 30_000 + PLACE);
    assert_about(left(&server, "me:3"), 30_000 + 3 * PLACE);
    assert!(!server.exists("note"));
    release(&server, "me:1");
    assert_eq!(wait(&server, "me:2").0, 1);
    release(&server, "me:2");
    assert_eq!(wait(&server, "me:3").0, 1);
    release(&server, "me:3");
    assert_eq!(server.size(), 0);
}

#[test]
fn release_tells_the_next_one_alone() {
    let server = RedisServer::start();
    assert_eq!(release(&server, "me:0"), (0, 0));
    wait_all(&server, &["me:0", "me:1", "me:2"]);
    let mut listener = hear(&server, &["me:1", "me:2"]);
    assert_eq!(release(&server, "you:1"), (0, 1));
    assert_eq!(release(&server, "me:0"), (1, 1));
    wait(&server, "me:1");
    assert_eq!(release(&server, "me:1"), (1, 1));
    assert_eq!([(); 2].map(|()| heard(&mut listener)), ["c:me:1", "c:me:2"]);
    wait(&server, "me:2");
    assert_eq!(release(&server, "me:2"), (1, 0));
    assert_eq!(release(&server, "me:2"), (0, 0), "said again");
}

#[test]
fn place_that_is_given_up_leaves_nothing() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2", "me:3"]);
    let mut listener = hear(&server, &["me:1", "me:2", "me:3"]);
    for _ in 0..2 {
        assert_eq!(release(&server, "me:2"), (0, 1));
        assert_eq!(queue(&server), ["me:1", "me:3"]);
        assert_about(left(&server, "me:1"), 30_000 + PLACE);
        assert_about(left(&server, "me:3"), 30_000 + 3 * PLACE);
    }
    // Of a free lock: then it is the next one's turn.
    release(&server, "me:0");
    attempt(&server, "you:1");
    assert_eq!(release(&server, "me:1"), (0, 0));
    assert!(!server.exists("note"));
    assert_eq!([(); 2].map(|()| heard(&mut listener)), ["c:me:1", "c:me:3"]);
    assert_eq!(wait(&server, "me:3").0, 1);
    release(&server, "me:3");
    assert_eq!(server.size(), 0);
}

#[test]
fn force_deletes_whoever_holds_and_tells_the_next_one() {
    let server = RedisServer::start();
    assert_eq!(force(&server), (0, 0));
    wait_all(&server, &["me:0", "me:1"]);
    let mut listener = hear(&server, &["me:1"]);
    assert_eq!(force(&server), (1, 1));
    assert_eq!(heard(&mut listener), "c:me:1");
    assert_eq!((server.exists("x"), queue(&server)), (false, vec!["me:1".to_owned()]));
    assert_eq!(wait(&server, "me:1").0, 1);
}

#[test]
fn keys_of_others_are_not_touched() {
    let server = RedisServer::start();
    for (set, code) in [
        (["SET", "x", "1"].as_slice(), -2),
        (&["HSET", "x", "name", "bob"], -2),
        (&["HSET", "x", "mode", "read"], -5),
        (&["SET", "queue", "1"], -2),
    ] {
        server.command(set);
        let before = server.command(&["DUMP", set[1]]);
        assert_eq!(wait(&server, "me:1"), (code, 0), "{set:?}");
        assert_eq!(attempt(&server, "me:1"), (code, 0), "{set:?}");
        if set[1] == "x" {
            assert_eq!(force(&server), (code, 0), "{set:?}");
        }
        release(&server, "me:1");
        assert_eq!((server.command(&["DUMP", set[1]]), server.size()), (before, 1), "{set:?}");
        server.flush();
    }
    wait(&server, "me:0");
    server.command(&["SET", "deadlines", "1"]);
    assert_eq!(wait(&server, "me:1"), (-2, 0));
    assert!(!server.exists("queue"));
    assert_eq!(keep(&server, "me:1"), (0, 0));
    assert_eq!(release(&server, "me:0"), (1, 0));
    let error = eval(&server, FAIR_WAITING, &["deadlines"], &[]);
    assert!(error.to_string().contains("WRONGTYPE"), "{error}");
}

#[test]
fn one_call_serves_several_locks() {
    let server = RedisServer::start();
    let keys = ["a", "qa", "da", "na", "b", "qb", "db", "nb"];
    let both = |one, other| {
        let args = ["9000", NEVER, one, "1", "c", other, "1", "c"];
        eval(&server, FAIR_ACQUIRE, &keys, &args)
    };
    assert!(matches!(both("me:1", "me:2"), Reply::Int(_)));
    let told: Vec<_> = both("me:1", "me:3").array()[1..].iter().map(Reply::int).collect();
    assert_eq!(told, [1, 9_000, -7, 2_000]);
    let reply = eval(&server, FAIR_KEEP, &["a", "qa", "da", "b", "qb", "db"], &["me:1", "me:3"]);
    assert_eq!(reply.array()[1..3], [0, 0].map(Reply::Int));
    assert_eq!(reply.array()[3], Reply::Int(1));
    let reply = eval(&server, FAIR_FORCE, &["b", "qb", "db", "z", "qz", "dz"], &["c", "c"]);
    assert_eq!(reply.array()[1..], [1, 0, 0, 0].map(Reply::Int));
    let reply = eval(&server, FAIR_RELEASE, &keys, &["me:1", "c", "me:3", "c"]);
    assert_eq!(reply.array()[1..], [1, 0, 0, 0].map(Reply::Int));
    assert_eq!(server.size(), 0);
}

#[test]
fn server_out_of_memory_refuses_grants_and_places_and_still_lets_leave() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2"]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let args = ["9000", NEVER, "me:3", "1", "c"];
    for keys in [KEYS, ["y", "queue:y", "deadlines:y", "note:y"]] {
        let reply = eval(&server, FAIR_ACQUIRE, &keys, &args);
        let refused = refusal(&reply).map(Reply::to_string);
        assert!(refused.is_some_and(|refused| refused.contains("OOM")), "{reply}");
    }
    assert_eq!(queue(&server), ["me:1", "me:2"]);
    assert_eq!(release(&server, "me:1"), (0, 1));
    assert_eq!(release(&server, "me:0"), (1, 0));
    assert_eq!(release(&server, "me:2"), (0, 0));
    assert_eq!(server.size(), 0);
}

#[test]
fn user_who_lacks_a_right_takes_no_place_and_leaves_nothing() {
    let server = RedisServer::start();
    for rule in ["-hset", "-pexpire"] {
        let mut user = restricted(&server, &[rule]);
        let args = ["30000", NEVER, "me:1", "1", "c"];
        let refused = eval_on(&mut user, FAIR_ACQUIRE, &KEYS, &args);
        assert!(refusal(&refused).is_some(), "{rule}: {refused}");
        assert_eq!(server.size(), 0, "{rule}");
    }
    wait(&server, "me:0");
    for rule in ["-pttl", "-lindex", "-zadd", "-rpush", "-zscore"] {
        let mut user = restricted(&server, &[rule]);
        let args = ["30000", NEVER, "me:1", "1", "c"];
        let refused = eval_on(&mut user, FAIR_ACQUIRE, &KEYS, &args);
        assert!(refusal(&refused).is_some(), "{rule}: {refused}");
        assert_eq!(server.keys(), ["x"], "{rule}");
    }
    let mut user = restricted(&server, &["resetchannels"]);
    wait(&server, "me:1");
    let reply = eval_on(&mut user, FAIR_RELEASE, &KEYS, &["me:0", "c"]);
    assert_eq!(reply.array()[1..], [1, -1].map(Reply::Int));
}

#[test]
fn release_of_which_nobody_asks_the_time_answers_with_those_who_heard_of_it_alone() {
    let server = RedisServer::start();
    let brief = |holder: &str| eval(&server, FAIR_RELEASE, &KEYS, &[holder, "c", "1"]);
    attempt(&server, "me:1");
    assert_eq!(brief("me:1"), Reply::Int(0));
    assert_eq!(server.size(), 0);
    assert_eq!(brief("me:1").array()[1..], [0, 0].map(Reply::Int));
    wait_all(&server, &["me:1", "me:2"]);
    let mut next = server.connect();
    next.command(&["SUBSCRIBE", "c:me:2"]).unwrap();
    assert_eq!(brief("me:1").array()[1..], [1, 1].map(Reply::Int), "somebody waits");
    assert_eq!(next.read().unwrap().array()[2].to_string(), "0");
    assert_eq!(brief("me:2").array()[1..], [0, 0].map(Reply::Int), "it leaves its place");
    assert_eq!(server.size(), 0);
}
