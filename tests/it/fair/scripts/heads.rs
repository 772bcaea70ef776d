//! The first in a queue of a free lock that does not come: what is noted of it and of those behind it, and
//! which one goes.

use testkit::RedisServer;

use super::{PLACE, attempt, ends_in, hear, heard, left, queue, release, wait, wait_all};
use crate::{scripts::assert_about, support::Look};

/// As if the note about the first in the queue had been made so many ms before.
fn noted_before(server: &RedisServer, ms: i64) {
    let note = server.command(&["GET", "note"]).to_string();
    let (at, rest) = note.split_once(' ').unwrap();
    let at = at.parse::<i64>().unwrap() - ms;
    server.command(&["SET", "note", &format!("{at} {rest}"), "KEEPTTL"]);
}

#[test]
fn silent_first_of_a_free_lock_is_passed_over_after_three_seconds() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "dead:1", "me:2"]);
    release(&server, "me:0");
    let (code, look) = wait(&server, "me:2");
    assert_eq!((code, look), (-6, 2_000));
    assert!((200_000..=300_000).contains(&server.pttl("note")));
    noted_before(&server, 2_000);
    let (code, look) = wait(&server, "me:2");
    assert!(code == -6 && look <= 1_000, "{look}");
    noted_before(&server, 1_000);
    let mut listener = hear(&server, &["me:2"]);
    let (code, look) = attempt(&server, "you:1");
    assert_eq!((code, look), (0, 3_000), "it serves who does not wait, too");
    assert_eq!(heard(&mut listener), "c:me:2");
    assert_eq!(queue(&server), ["me:2"]);
    assert_about(left(&server, "me:2"), PLACE);
    assert_eq!(wait(&server, "me:2"), (1, 30_000));
    release(&server, "me:2");
    assert_eq!(server.size(), 0);
}

#[test]
fn first_that_listens_is_passed_over_after_ten_seconds_and_told() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "deaf:1", "me:2"]);
    let mut listener = hear(&server, &["deaf:1"]);
    release(&server, "me:0");
    wait(&server, "me:2");
    noted_before(&server, 9_000);
    let (code, look) = wait(&server, "me:2");
    assert!(code == -6 && look <= 1_000, "{look}");
    noted_before(&server, 1_000);
    assert_eq!(wait(&server, "me:2"), (1, 30_000));
    for _ in 0..3 {
        assert_eq!(heard(&mut listener), "c:deaf:1");
    }
    assert!(!server.exists("note"));
}

#[test]
fn silent_first_is_left_ten_seconds_where_a_server_does_not_know_all_listeners() {
    let [server, replica] = [RedisServer::start(), RedisServer::start()];
    replica.cli(&["REPLICAOF", "127.0.0.1", &server.port().to_string()]);
    let is_replicated = || server.cli(&["INFO", "replication"]).contains("state=online");
    crate::support::eventually_blocking(is_replicated);
    wait_all(&server, &["me:0", "dead:1", "me:2"]);
    release(&server, "me:0");
    wait(&server, "me:2");
    noted_before(&server, 9_000);
    assert_eq!(wait(&server, "me:2").0, -6);
    noted_before(&server, 1_000);
    assert_eq!(wait(&server, "me:2").0, 1);
}

/// A waiter of this library, by its holder id; it has no listener.
const DEAD: [&str; 5] = [
    "00000000-0000-8000-8000-00000000000d:1",
    "00000000-0000-8000-8000-00000000000d:2",
    "00000000-0000-8000-8000-00000000000d:3",
    "00000000-0000-8000-8000-00000000000d:4",
    "00000000-0000-8000-8000-00000000000d:5",
];

/// One that has a replica, so that not all listeners are known.
fn noted_by_the_last(waiters: &[&str]) -> [RedisServer; 2] {
    let servers = [RedisServer::start(), RedisServer::start()];
    let [server, replica] = &servers;
    replica.follow(server);
    note_by_the_last(server, waiters);
    servers
}

/// A free lock that these wait for, and what is noted when the last of them looks.
fn note_by_the_last(server: &RedisServer, waiters: &[&str]) {
    wait(server, "me:0");
    wait_all(server, waiters);
    release(server, "me:0");
    assert_eq!(wait(server, waiters.last().unwrap()).0, -6);
}

/// Another looks meanwhile, as each waiter does every two seconds.
fn looks_for(server: &RedisServer, seconds: i64, looks: impl Fn()) {
    for _ in 0..seconds / 2 {
        looked_before(server, 2_000);
        looks();
    }
}

/// As if all that is noted were older by so many ms, the last look included.
fn looked_before(server: &RedisServer, ms: i64) {
    noted_before(server, ms);
    let note = server.command(&["GET", "note"]).to_string();
    let mut words: Vec<_> = note.split(' ').map(str::to_owned).collect();
    if let Some(looked) = words.get_mut(3) {
        *looked = (looked.parse::<i64>().unwrap() - ms).to_string();
    }
    server.command(&["SET", "note", &words.join(" "), "KEEPTTL"]);
}

#[test]
fn all_who_are_silent_behind_a_first_that_does_not_come_go_with_it() {
    let waiters = [&DEAD[..], &["me:1"]].concat();
    let [server, _replica] = noted_by_the_last(&waiters);
    let mut listener = hear(&server, &["me:1"]);
    looks_for(&server, 8, || assert_eq!(wait(&server, "me:1").0, -6));
    assert_eq!(queue(&server), waiters);
    looked_before(&server, 2_000);
    assert_eq!(wait(&server, "me:1"), (1, 30_000));
    assert_eq!((queue(&server), server.exists("note")), (vec![], false));
    release(&server, "me:1");
    assert_eq!(server.size(), 0);
    // By an attempt that does not wait, too: the one that has the turn is told.
    wait(&server, "me:0");
    wait_all(&server, &waiters);
    release(&server, "me:0");
    attempt(&server, "you:1");
    looks_for(&server, 10, || assert_eq!(attempt(&server, "you:1").0, 0));
    assert_eq!(heard(&mut listener), "c:me:1");
    assert_eq!(queue(&server), ["me:1"]);
}

#[test]
fn all_who_are_silent_behind_a_silent_first_go_with_it_after_three_seconds() {
    let server = RedisServer::start();
    let [first, second, asks, third, listens] = DEAD;
    note_by_the_last(&server, &[first, second, asks, third, listens, "me:1"]);
    let mut listener = hear(&server, &[listens]);
    looks_for(&server, 2, || {
        wait(&server, asks);
        assert_eq!(wait(&server, "me:1").0, -6);
    });
    looked_before(&server, 1_000);
    assert_eq!(wait(&server, "me:1").0, -6);
    assert_eq!(queue(&server), [asks, listens, "me:1"], "one asked, and one listens");
    assert_eq!(heard(&mut listener), format!("c:{listens}"));
    looks_for(&server, 4, || assert_eq!(wait(&server, "me:1").0, -6));
    assert_eq!(queue(&server), [listens, "me:1"]);
    // Its ten seconds are the same.
    looks_for(&server, 6, || {
        wait(&server, "me:1");
    });
    assert!(queue(&server).is_empty());
}

#[test]
fn who_behind_a_dead_first_was_heard_of_keeps_its_place() {
    let asks = DEAD[2];
    let [server, _replica] = noted_by_the_last(&[DEAD[0], DEAD[1], asks, DEAD[3], "me:1"]);
    looks_for(&server, 8, || {
        wait(&server, asks);
        wait(&server, "me:1");
    });
    looked_before(&server, 2_000);
    assert_eq!(wait(&server, "me:1").0, -6);
    assert_eq!(queue(&server), [asks, "me:1"], "it asked");
    assert_eq!(wait(&server, asks).0, 1);

    let [server, _replica] = noted_by_the_last(&[DEAD[0], DEAD[1], "me:1"]);
    let _listener = hear(&server, &[DEAD[1]]);
    looks_for(&server, 8, || assert_eq!(wait(&server, "me:1").0, -6));
    looked_before(&server, 2_000);
    assert_eq!(wait(&server, "me:1").0, 1, "another listens, and does not ask");

    // As Redisson's.
    let sleeps = "00000000-0000-4000-8000-00000000000d:2";
    let [server, _replica] = noted_by_the_last(&[DEAD[0], sleeps, DEAD[2], "me:1"]);
    looks_for(&server, 10, || assert_eq!(wait(&server, "me:1").0, -6));
    assert_eq!(queue(&server), [sleeps, "me:1"], "it sleeps until it is told");
    looks_for(&server, 10, || {
        wait(&server, "me:1");
    });
    assert_eq!(queue(&server), Vec::<String>::new());
}

/// One that lives could not ask either, while the server stood still or another one took its place.
#[test]
fn who_is_behind_a_dead_first_keeps_its_place_if_nobody_could_ask() {
    let [server, _replica] = noted_by_the_last(&[DEAD[0], DEAD[1], "me:1"]);
    looked_before(&server, 11_000);
    assert_eq!(wait(&server, "me:1").0, -6);
    assert_eq!(queue(&server), [DEAD[1], "me:1"]);
}

#[test]
fn first_is_judged_by_what_was_noted_of_the_same_deadline_alone() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2"]);
    release(&server, "me:0");
    wait(&server, "me:2");
    noted_before(&server, 100_000);
    // As a waiter that came and queued again, or was pushed.
    ends_in(&server, "me:1", 200_000);
    assert_eq!(wait(&server, "me:2").0, -6);
    assert_eq!(queue(&server), ["me:1", "me:2"]);
    noted_before(&server, 100_000);
    assert_eq!(wait(&server, "me:2").0, 1, "of the new one it is noted, too");
}

#[test]
fn note_of_a_clock_that_was_set_back_is_made_anew() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "dead:1", "me:2"]);
    release(&server, "me:0");
    wait(&server, "me:2");
    noted_before(&server, -3_600_000);
    assert_eq!(wait(&server, "me:2").0, -6);
    noted_before(&server, 3_000);
    assert_eq!(wait(&server, "me:2").0, 1);
}
