//! Every return path of the scripts, by raw EVAL on a real server.

use testkit::{RedisServer, Reply};

use crate::{
    scripts::{NEVER, OVER, assert_about, eval, eval_on, refusal, restricted},
    sources::{RW_COUNT, RW_FORCE, RW_READ, RW_RENEW, RW_WRITE},
    support::Look,
};

/// The answer for one lock; a plain one is a grant for the lease.
#[track_caller]
fn outcome(reply: &Reply, lease: &str) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, lease.parse().unwrap()),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
}

fn timer(holder: &str) -> String {
    format!("{{x}}:{holder}:rwlock_timeout:1")
}

fn read(server: &RedisServer, lease: &str, stamp: &str, holder: &str, holds: &str) -> (i64, i64) {
    let keys = ["x", &timer(holder), "wish"];
    outcome(&eval(server, RW_READ, &keys, &[lease, stamp, holder, holds]), lease)
}

/// `waits` is 1 of one that waits.
fn write(server: &RedisServer, lease: &str, stamp: &str, holder: &str, waits: &str) -> (i64, i64) {
    outcome(&eval(server, RW_WRITE, &["x", "wish"], &[lease, stamp, holder, waits]), lease)
}

fn renew(server: &RedisServer, lease: &str, holder: &str, channel: &str) -> (i64, i64) {
    let keys = ["x", &timer(holder)];
    outcome(&eval(server, RW_RENEW, &keys, &[lease, holder, channel]), lease)
}

fn count(server: &RedisServer, holder: &str, count: &str) -> (i64, i64) {
    outcome(&eval(server, RW_COUNT, &["x", &timer(holder), "wish"], &[holder, count, "c"]), "0")
}

fn force(server: &RedisServer, mode: &str) -> (i64, i64) {
    outcome(&eval(server, RW_FORCE, &["x"], &[mode, "c", "0"]), "0")
}

#[test]
fn reader_is_granted_a_free_lock_and_one_that_others_read() {
    let server = RedisServer::start();
    assert_eq!(read(&server, "30000", NEVER, "me:1", "0"), (1, 30_000));
    assert_eq!(read(&server, "20000", NEVER, "me:2", "0").0, 1);
    assert_eq!(server.hash("x")["me:2"], "1");
    assert_about(server.pttl("x"), 30_000);
    assert_about(server.pttl(&timer("me:2")), 20_000);
    assert_eq!(read(&server, "60000", NEVER, "me:3", "0"), (1, 60_000));
    assert_about(server.pttl("x"), 60_000);
}

#[test]
fn reader_that_is_repeated_changes_nothing_but_a_lease_that_is_too_short() {
    let server = RedisServer::start();
    read(&server, "30000", NEVER, "me:1", "0");
    count(&server, "me:1", "3");
    let (code, ttl) = read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!((code, &*server.hash("x")["me:1"]), (1, "1"));
    assert_about(ttl, 30_000);
    assert_about(server.pttl(&timer("me:1")), 30_000);
    assert_eq!(read(&server, "60000", NEVER, "me:1", "0"), (1, 60_000));
    assert_eq!(server.hash("x").len(), 2);
    read(&server, "90000", NEVER, "you:1", "0");
    let (code, ttl) = read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(code, 1);
    assert_about(ttl, 60_000);
}

#[test]
fn reader_is_refused_by_a_writer_and_by_one_who_waits_and_not_if_it_reads_already() {
    let server = RedisServer::start();
    write(&server, "30000", NEVER, "you:1", "0");
    let (code, ttl) = read(&server, "9000", NEVER, "me:1", "1");
    assert_eq!(code, 0);
    assert_about(ttl, 30_000);
    count(&server, "you:1", "0");

    read(&server, "30000", NEVER, "me:1", "0");
    server.command(&["SET", "wish", "you:1", "PX", "20000"]);
    let (code, ttl) = read(&server, "9000", NEVER, "me:2", "0");
    assert_eq!(code, 0);
    assert_about(ttl, 20_000);
    assert_eq!(read(&server, "9000", NEVER, "me:1", "0").0, 1, "its own field comes first");
    assert_eq!(read(&server, "9000", NEVER, "me:2", "1").0, 1, "it reads elsewhere");
    server.flush();
    server.command(&["SET", "wish", "you:1", "PX", "20000"]);
    assert_eq!(read(&server, "9000", NEVER, "me:1", "0").0, 0, "of a free lock, too");
    assert_eq!(server.size(), 1);
}

#[test]
fn reader_that_stands_there_as_a_writer_is_confirmed_and_left_so() {
    let server = RedisServer::start();
    write(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(read(&server, "30000", NEVER, "me:1", "1"), (1, 30_000));
    assert_eq!((&*server.hash("x")["mode"], server.size()), ("write", 1));
}

#[test]
fn writer_is_granted_a_free_lock_and_its_own() {
    let server = RedisServer::start();
    assert_eq!(write(&server, "30000", NEVER, "me:1", "1"), (1, 30_000));
    count(&server, "me:1", "2");
    let (code, ttl) = write(&server, "9000", NEVER, "me:1", "1");
    assert_eq!((code, &*server.hash("x")["me:1:write"]), (1, "1"));
    assert_about(ttl, 30_000);
    assert_eq!(write(&server, "60000", NEVER, "me:1", "0"), (1, 60_000));
    assert_eq!(write(&server, "9000", NEVER, "you:1", "1").0, 0, "no wish against a writer");
    assert_eq!(server.size(), 1);
}

#[test]
fn writer_that_was_downgraded_is_confirmed_as_a_reader() {
    let server = RedisServer::start();
    read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(write(&server, "30000", NEVER, "me:1", "1"), (1, 30_000));
    assert_eq!(server.hash("x")["mode"], "read");
    assert!(!server.hash("x").contains_key("me:1:write"));
}

#[test]
fn writer_that_waits_for_readers_leaves_a_wish_until_it_is_granted() {
    let server = RedisServer::start();
    read(&server, "30000", NEVER, "you:1", "0");
    let (code, ttl) = write(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(code, 0);
    assert_about(ttl, 30_000);
    assert!(!server.exists("wish"));
    assert_eq!(write(&server, "9000", NEVER, "me:1", "1"), (-6, 500));
    assert_eq!(server.command(&["GET", "wish"]).to_string(), "me:1");
    assert!((1..=1_000).contains(&server.pttl("wish")));
    let (code, ttl) = write(&server, "9000", NEVER, "me:2", "1");
    assert_eq!(code, 0, "one wish is enough");
    assert_about(ttl, 30_000);
    server.command(&["PEXPIRE", "wish", "60000"]);
    assert_eq!(write(&server, "9000", NEVER, "me:1", "1").0, -6);
    assert!(server.pttl("wish") <= 1_000, "renewed");
    server.command(&["PEXPIRE", "x", "300"]);
    assert!(write(&server, "9000", NEVER, "me:1", "1").1 <= 300);
    server.command(&["PERSIST", "x"]);
    assert_eq!(write(&server, "9000", NEVER, "me:1", "1"), (-6, 500));
    server.command(&["DEL", "x"]);
    server.command(&["SET", "wish", "me:1"]);
    assert_eq!(write(&server, "9000", NEVER, "me:2", "1").0, 1, "writers ignore wishes");
    assert!(server.exists("wish"), "another's");
    server.command(&["DEL", "x"]);
    assert_eq!(write(&server, "9000", NEVER, "me:1", "1").0, 1);
    assert!(!server.exists("wish"));
}

#[test]
fn wish_of_a_process_stands_whoever_of_it_asks_and_ends_by_itself() {
    let server = RedisServer::start();
    read(&server, "30000", NEVER, "you:1", "0");
    for holder in ["me:1", "me:2"] {
        let reply = eval(&server, RW_WRITE, &["x", "wish"], &["9000", NEVER, holder, "me"]);
        assert_eq!(outcome(&reply, "9000"), (0, 500), "there is nothing to withdraw");
        assert_eq!(server.command(&["GET", "wish"]).to_string(), "me");
        count(&server, holder, "0");
    }
    assert!((1..=1_000).contains(&server.pttl("wish")));
    count(&server, "you:1", "0");
    eval(&server, RW_WRITE, &["x", "wish"], &["9000", NEVER, "me:3", "me"]);
    assert!(!server.exists("wish"), "it has what it wished for");
}

#[test]
fn withdrawal_of_a_wish_is_announced() {
    let server = RedisServer::start();
    let mut subscriber = server.connect();
    subscriber.command(&["SUBSCRIBE", "c"]).unwrap();
    read(&server, "30000", NEVER, "you:1", "0");
    write(&server, "9000", NEVER, "me:1", "1");
    count(&server, "me:1", "0");
    count(&server, "me:1", "0");
    server.command(&["PUBLISH", "c", "over"]);
    let heard = [subscriber.read().unwrap(), subscriber.read().unwrap()];
    assert_eq!(heard.map(|message| message.array()[2].to_string()), ["1", "over"]);
}

#[test]
fn acquires_after_their_stamp_change_nothing() {
    let server = RedisServer::start();
    assert_eq!(read(&server, "9000", OVER, "me:1", "0"), (-1, 0));
    assert_eq!(write(&server, "9000", OVER, "me:1", "1"), (-1, 0));
    assert_eq!(server.size(), 0);
    read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(read(&server, "30000", OVER, "me:1", "0"), (-1, 0));
    assert_eq!(write(&server, "30000", OVER, "me:2", "1"), (-1, 0));
    assert!(server.pttl("x") <= 9_000 && !server.exists("wish"));
}

#[test]
fn keys_of_others_are_not_touched() {
    let server = RedisServer::start();
    for (set, code) in [
        (["SET", "x", "1"].as_slice(), -2),
        (&["HSET", "x", "name", "bob"], -2),
        (&["HSET", "x", "mode", "dark"], -2),
        (&["HSET", "x", "you:1", "1"], -5),
    ] {
        server.command(set);
        let before = server.command(&["DUMP", "x"]);
        assert_eq!(read(&server, "9000", NEVER, "me:1", "0"), (code, 0), "{set:?}");
        assert_eq!(write(&server, "9000", NEVER, "me:1", "1"), (code, 0), "{set:?}");
        let expected = if set[0] == "SET" { (-2, 0) } else { (0, 1) };
        assert_eq!(renew(&server, "9000", "me:1", "c"), expected);
        assert_eq!(count(&server, "me:1", "0"), expected);
        let expected = if set[2] == "mode" { (0, 0) } else { (code, 0) };
        assert_eq!(force(&server, "read"), expected, "{set:?}");
        assert_eq!((server.command(&["DUMP", "x"]), server.size()), (before, 1), "{set:?}");
        server.flush();
    }
}

#[test]
fn locks_without_a_ttl_keep_that() {
    let server = RedisServer::start();
    read(&server, "9000", NEVER, "you:1", "0");
    server.command(&["PERSIST", "x"]);
    assert_eq!(read(&server, "30000", NEVER, "me:1", "0"), (1, 30_000));
    assert_eq!(renew(&server, "30000", "me:1", "c"), (1, 30_000));
    assert_about(renew(&server, "0", "me:1", "c").1, 30_000);
    server.command(&["PERSIST", &timer("me:1")]);
    assert_eq!(renew(&server, "0", "me:1", "c"), (1, -1));
    assert_eq!(renew(&server, "9000", "me:1", "c"), (1, 9_000));
    assert_eq!((server.pttl("x"), server.pttl(&timer("me:1"))), (-1, -1));
}

#[test]
fn renewal_extends_lock_and_timer_and_sets_a_timer_that_is_missing() {
    let server = RedisServer::start();
    read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(renew(&server, "30000", "me:1", "c"), (1, 30_000));
    for key in ["x", &timer("me:1")] {
        assert_about(server.pttl(key), 30_000);
    }
    read(&server, "60000", NEVER, "you:1", "0");
    let (code, ttl) = renew(&server, "20000", "me:1", "c");
    assert_eq!(code, 1, "as long as its own lease");
    assert_about(ttl, 30_000);
    assert_about(renew(&server, "0", "me:1", "c").1, 30_000);
    assert_about(server.pttl("x"), 60_000);
    server.command(&["DEL", &timer("me:1")]);
    assert_eq!(renew(&server, "0", "me:1", "c"), (1, 0));
    assert!(!server.exists(&timer("me:1")), "it only asks");
    renew(&server, "30000", "me:1", "c");
    assert_about(server.pttl(&timer("me:1")), 30_000);
    assert_eq!(renew(&server, "30000", "me:2", "c"), (0, 1), "others read");
    server.flush();
    assert_eq!(renew(&server, "30000", "me:1", "c"), (0, 0));
    assert_eq!(server.size(), 0);
}

#[test]
fn renewal_of_a_writer_leaves_it_one_unless_it_is_to_read() {
    let server = RedisServer::start();
    write(&server, "9000", NEVER, "me:1", "0");
    count(&server, "me:1", "2");
    assert_eq!(renew(&server, "30000", "me:1", ""), (1, 30_000));
    assert_eq!((&*server.hash("x")["mode"], server.size()), ("write", 1));
    let (code, ttl) = renew(&server, "0", "me:1", "c");
    assert_eq!(code, 1);
    assert_about(ttl, 30_000);
    let expected = [("mode", "read"), ("me:1", "2")];
    let expected = expected.map(|(field, value)| (field.to_owned(), value.to_owned()));
    assert_eq!(server.hash("x"), expected.into());
    assert_about(server.pttl(&timer("me:1")), 30_000);
    let again = renew(&server, "0", "me:1", "c");
    assert_eq!(again.0, 1);
    assert_eq!(renew(&server, "60000", "me:1", ""), (1, 60_000), "said late, it is a reader's");
    assert_about(server.pttl(&timer("me:1")), 60_000);
}

#[test]
fn downgrade_is_announced_once() {
    let server = RedisServer::start();
    let mut subscriber = server.connect();
    subscriber.command(&["SUBSCRIBE", "c"]).unwrap();
    write(&server, "9000", NEVER, "me:1", "0");
    renew(&server, "9000", "me:1", "c");
    renew(&server, "9000", "me:1", "c");
    server.command(&["PUBLISH", "c", "over"]);
    let heard = [(); 3].map(|()| subscriber.read().unwrap().array()[2].to_string());
    assert_eq!(heard, ["1", "0", "over"]);
}

#[test]
fn count_releases_withdraws_and_touches_nobody_else() {
    let server = RedisServer::start();
    assert_eq!(count(&server, "me:1", "0"), (0, 0));
    read(&server, "9000", NEVER, "me:1", "0");
    read(&server, "9000", NEVER, "me:2", "0");
    assert_eq!(count(&server, "me:1", "3"), (1, 0));
    assert_eq!(server.hash("x")["me:1"], "3");
    assert_eq!(count(&server, "you:1", "0"), (0, 1));
    assert_eq!(count(&server, "me:1", "0"), (1, -1), "another reads");
    assert!(!server.exists(&timer("me:1")) && server.exists(&timer("me:2")));
    write(&server, "9000", NEVER, "you:1", "1");
    assert_eq!(count(&server, "you:2", "0"), (0, 1));
    assert!(server.exists("wish"), "another's");
    assert_eq!(count(&server, "you:1", "0"), (0, 1));
    assert!(!server.exists("wish"));
    assert_eq!(count(&server, "me:2", "0"), (1, 0));
    assert_eq!(count(&server, "me:2", "0"), (0, 0), "said again");
    write(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(count(&server, "me:1", "2"), (1, 0));
    assert_eq!(server.hash("x")["me:1:write"], "2");
    assert_eq!(count(&server, "me:1", "0"), (1, 0));
    assert_eq!(server.size(), 0);
}

#[test]
fn release_of_which_nobody_asks_the_time_answers_with_those_who_heard_of_it_alone() {
    let server = RedisServer::start();
    let brief = |holder: &str, count: &str| {
        let keys = ["x", &timer(holder), "{x}:palisade_writer"];
        eval(&server, RW_COUNT, &keys, &[holder, count, "c", "1"])
    };
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", "c"]).unwrap();
    read(&server, "9000", NEVER, "me:1", "0");
    read(&server, "9000", NEVER, "me:2", "0");
    assert_eq!(brief("me:1", "0"), Reply::Int(-1), "another reads");
    assert_eq!(brief("me:1", "0").array()[1..], [0, 1].map(Reply::Int), "said again");
    assert_eq!((server.exists(&timer("me:1")), server.exists(&timer("me:2"))), (false, true));
    assert_eq!(brief("me:2", "0"), Reply::Int(1));
    assert_eq!(brief("me:2", "0").array()[1..], [0, 0].map(Reply::Int));
    assert_eq!(server.size(), 0);
    write(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(brief("me:1", "2").array()[1..], [1, 0].map(Reply::Int));
    assert_eq!(brief("me:1", "0"), Reply::Int(1));
    assert_eq!(server.size(), 0);
    let told = [(); 3].map(|()| listener.read().unwrap().array()[2].to_string());
    assert_eq!(told, ["0", "1", "0"]);
}

#[test]
fn release_of_a_writer_among_readers_leaves_them_the_lock() {
    let server = RedisServer::start();
    write(&server, "9000", NEVER, "me:1", "0");
    // As Redisson has a writer that reads.
    server.command(&["HSET", "x", "you:1", "1"]);
    assert_eq!(count(&server, "me:1", "0"), (1, 0));
    let expected = [("mode", "read"), ("you:1", "1")];
    let expected = expected.map(|(field, value)| (field.to_owned(), value.to_owned()));
    assert_eq!(server.hash("x"), expected.into());
}

#[test]
fn force_deletes_what_is_held_in_that_mode() {
    let server = RedisServer::start();
    assert_eq!(force(&server, "read"), (0, 0));
    read(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(force(&server, "write"), (0, 0));
    assert_eq!(force(&server, "read"), (1, 0));
    write(&server, "9000", NEVER, "me:1", "0");
    assert_eq!(force(&server, "read"), (0, 0));
    assert_eq!(force(&server, "write"), (1, 0));
    assert!(!server.exists("x"));
}

#[test]
fn one_call_serves_several_locks() {
    let server = RedisServer::start();
    let keys = ["a", "ta", "wa", "b", "tb", "wb"];
    let reply = eval(&server, RW_READ, &keys, &["9000", NEVER, "me:1", "0", "me:2", "0"]);
    assert!(matches!(reply, Reply::Int(_)), "{reply}");
    let args = ["9000", NEVER, "me:3", "1", "me:4", "0"];
    let reply = eval(&server, RW_WRITE, &["a", "wa", "c", "wc"], &args);
    let told: Vec<_> = reply.array()[1..].iter().map(Reply::int).collect();
    assert_eq!(told, [-6, 500, 1, 9_000]);
    let args = ["30000", "me:1", "", "me:2", "", "me:4", "d"];
    let reply = eval(&server, RW_RENEW, &["a", "ta", "b", "tb", "c", "tc"], &args);
    assert!(matches!(reply, Reply::Int(_)), "{reply}");
    assert_eq!(server.hash("c")["mode"], "read");
    let args = ["me:1", "0", "d", "me:9", "0", "d", "me:4", "2", "d"];
    let keys = ["a", "ta", "wa", "b", "tb", "wb", "c", "tc", "wc"];
    let reply = eval(&server, RW_COUNT, &keys, &args);
    let told: Vec<_> = reply.array()[1..].iter().map(Reply::int).collect();
    assert_eq!(told, [1, 0, 0, 1, 1, 0]);
}

#[test]
fn server_out_of_memory_refuses_grants_and_still_renews_downgrades_and_releases() {
    let server = RedisServer::start();
    read(&server, "30000", NEVER, "me:1", "0");
    server.command(&["DEL", &timer("me:1")]);
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let keys = ["x", &timer("me:2"), "wish"];
    for reply in [
        eval(&server, RW_READ, &keys, &["9000", NEVER, "me:2", "0"]),
        eval(&server, RW_WRITE, &["y", "wish"], &["9000", NEVER, "me:2", "0"]),
    ] {
        assert!(refusal(&reply).is_some_and(|it| it.to_string().contains("OOM")), "{reply}");
    }
    assert_eq!(write(&server, "9000", NEVER, "you:1", "1").0, 0, "refused, without a wish");
    assert_eq!(renew(&server, "60000", "me:1", "c"), (1, 60_000));
    assert!(server.exists(&timer("me:1")));
    assert_eq!(count(&server, "me:1", "0"), (1, 0));
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    write(&server, "9000", NEVER, "me:1", "0");
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(renew(&server, "0", "me:1", "c").0, 1, "it stays a writer until there is memory");
    assert_eq!(server.hash("x")["mode"], "write");
    assert_eq!(renew(&server, "60000", "me:1", "c"), (1, 60_000));
    assert_eq!(server.hash("x")["mode"], "read");
    assert_eq!(count(&server, "me:1", "0"), (1, 0));
    assert_eq!(server.size(), 0);
}

#[test]
fn user_who_lacks_a_right_leaves_nothing_without_a_ttl() {
    let server = RedisServer::start();
    for rule in ["-hmget", "-pttl", "-set", "-hset", "-pexpire"] {
        let mut user = restricted(&server, &[rule]);
        for mode in ["", "read"] {
            if mode.is_empty() && ["-hmget", "-pttl"].contains(&rule) {
                // A free lock needs neither.
                continue;
            }
            if !mode.is_empty() {
                read(&server, "30000", NEVER, "you:1", "0");
            }
            let before = (server.hash("x"), server.size());
            let keys = ["x", &timer("me:1"), "wish"];
            // So that the lease of the others is too short for it.
            let args = ["60000", NEVER, "me:1", "0"];
            let refused = eval_on(&mut user, RW_READ, &keys, &args);
            assert!(refusal(&refused).is_some(), "{rule}: {refused}");
            assert_eq!((server.hash("x"), server.size()), before, "{rule} {mode}");
        }
        server.flush();
        // A writer of a free lock needs none of those.
        if !["-set", "-hmget", "-pttl"].contains(&rule) {
            let refused = eval_on(&mut user, RW_WRITE, &["x", "wish"], &["9", NEVER, "me:1", "1"]);
            assert!(refusal(&refused).is_some(), "{rule}: {refused}");
        }
        assert_eq!(server.size(), 0, "{rule}");
    }
}

#[test]
fn wish_that_somebody_gave_no_end_keeps_nobody_out() {
    let server = RedisServer::start();
    server.command(&["SET", "wish", "you:1"]);
    assert_eq!(read(&server, "9000", NEVER, "me:1", "0"), (1, 9_000));
}
