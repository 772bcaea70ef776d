//! How long places last, and which waiter loses one.

use testkit::{RedisServer, Reply};

use super::{
    DAY, KEYS, PLACE, attempt, ends_in, hear, heard, keep, left, queue, release, wait, wait_all,
};
use crate::{
    scripts::{NEVER, assert_about, eval_on, restricted},
    sources::{FAIR_ACQUIRE, FAIR_KEEP},
    support::Look,
};

/// Waiters of this library, by their holder ids.
const OURS: [&str; 3] = [
    "00000000-0000-8000-8000-00000000000a:1",
    "00000000-0000-8000-8000-00000000000a:2",
    "00000000-0000-8000-8000-00000000000a:3",
];
/// For how long a first of this library may not look.
const FIRST: i64 = 10_000;

#[test]
fn places_that_are_over_are_taken_away_when_the_lock_is_free_and_those_without_an_end_at_once() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2", "me:3"]);
    let mut listener = hear(&server, &["me:1", "me:2", "me:3"]);
    ends_in(&server, "me:1", -1);
    assert_eq!(attempt(&server, "you:1").0, 0);
    assert_eq!(queue(&server), ["me:1", "me:2", "me:3"], "it could not come");
    assert_about(left(&server, "me:1"), 30_000 + PLACE);
    server.command(&["ZREM", "deadlines", "me:1"]);
    assert_eq!(attempt(&server, "you:1").0, 0);
    assert_eq!(queue(&server), ["me:2", "me:3"]);
    assert_about(left(&server, "me:2"), 30_000 + PLACE);
    ends_in(&server, "me:2", -1);
    release(&server, "me:0");
    assert_eq!(queue(&server), ["me:3"]);
    assert_about(left(&server, "me:3"), PLACE);
    assert_eq!([(); 3].map(|()| heard(&mut listener)), ["c:me:1", "c:me:2", "c:me:3"]);
    assert_eq!(wait(&server, "me:1"), (-7, 2_000), "it queues again");
    assert_eq!(queue(&server), ["me:3", "me:1"]);
    // A waiter that asks lives.
    ends_in(&server, "me:3", -1);
    assert_eq!(wait(&server, "me:3"), (1, 30_000));
}

#[test]
fn place_that_is_half_a_turn_short_is_prolonged_unless_it_is_the_first() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2", "me:3"]);
    assert_about(keep(&server, "me:1").1, 30_000 + PLACE);
    for (waiter, before, after) in [
        ("me:1", 100_000, 100_000),
        ("me:2", 500_000, 500_000),
        ("me:2", 400_000, 30_000 + 2 * PLACE),
        ("me:3", 1_000, 30_000 + 3 * PLACE),
        ("me:2", -1_000, 30_000 + 2 * PLACE),
        // Behind one that waits for longer with Redisson.
        ("me:2", 2_000_000, 2_000_000),
        ("me:3", 1_000, 2_000_000 + PLACE),
        // Which is not added up for ever.
        ("me:2", 2 * DAY, 2 * DAY),
        ("me:3", 1_000, 2 * DAY),
    ] {
        ends_in(&server, waiter, before);
        let (code, ms) = keep(&server, waiter);
        assert_eq!(code, 1, "{waiter}");
        assert_about(ms, after);
        assert_about(left(&server, waiter), after);
    }
    assert_eq!(keep(&server, "you:1"), (0, 0));
    server.command(&["DEL", "queue"]);
    ends_in(&server, "me:2", 1_000);
    assert_eq!(keep(&server, "me:2"), (0, 0), "a deadline without a place");
    assert_eq!(server.command(&["ZCARD", "deadlines"]), Reply::Int(3));
}

/// Redisson behind one that died is to wait for no longer, and its own grants must push no other
/// out.
#[test]
fn first_of_ours_is_to_look_every_ten_seconds_and_all_others_have_time() {
    let server = RedisServer::start();
    let [first, second, third] = OURS;
    wait_all(&server, &["me:0", first, second, third]);
    assert_about(left(&server, first), FIRST);
    assert!(left(&server, second) > 2 * PLACE);
    assert!(left(&server, third) > 3 * PLACE);
    ends_in(&server, first, 1_000);
    ends_in(&server, third, PLACE);
    wait_all(&server, &[first, second, third]);
    assert!((5_000..=FIRST).contains(&left(&server, first)), "its look");
    assert_about(left(&server, third), 30_000 + 3 * PLACE);
    ends_in(&server, first, -1);
    wait(&server, second);
    assert_eq!(queue(&server), OURS, "nobody could come");
    assert_eq!(release(&server, first), (0, 1));
    assert!((5_000..=FIRST).contains(&left(&server, second)), "it is first now");
    release(&server, "me:0");
    assert_eq!(wait(&server, second).0, 1);
    assert!((5_000..=FIRST).contains(&left(&server, third)));
}

/// Redisson's script that finds a place without a deadline fails.
#[test]
fn queue_ends_a_day_after_its_last_place_and_before_the_deadlines() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2", "me:3"]);
    assert_about(server.pttl("queue"), DAY + 30_000 + PLACE);
    ends_in(&server, "me:3", 3 * DAY);
    wait(&server, OURS[0]);
    assert_about(server.pttl("queue"), 4 * DAY);
    let [queue, deadlines] = ["queue", "deadlines"].map(|key| server.end_of(key));
    assert!((59_990..=60_010).contains(&(deadlines - queue)), "{queue} {deadlines}");
}

#[test]
fn user_without_the_right_to_lpos_waits_and_keeps_a_place() {
    let server = RedisServer::start();
    wait_all(&server, &["me:0", "me:1", "me:2"]);
    let mut user = restricted(&server, &["-lpos"]);
    ends_in(&server, "me:2", 1_000);
    let kept = eval_on(&mut user, FAIR_KEEP, &KEYS[..3], &["me:2"]);
    assert_about(kept.array()[2].int(), 30_000 + 2 * PLACE);
    server.command(&["LREM", "queue", "1", "me:1"]);
    for (waiter, code) in [("me:2", -6), ("me:1", -7)] {
        let reply = eval_on(&mut user, FAIR_ACQUIRE, &KEYS, &["9", NEVER, waiter, "1", "c"]);
        assert_eq!(reply.array()[1], Reply::Int(code), "{waiter}");
    }
    assert_eq!(queue(&server), ["me:2", "me:1"]);
}

/// Else it sleeps for as long as the lock was held.
#[test]
fn release_tells_redissons_behind_dead_ones_of_ours_as_well() {
    let server = RedisServer::start();
    let [first, second, alive] = OURS;
    wait_all(&server, &["me:0", first, second, "java:1", alive]);
    let mut listener = hear(&server, &["java:1", alive]);
    ends_in(&server, first, 5_000);
    assert_eq!(release(&server, "me:0"), (1, 0));
    assert_eq!(heard(&mut listener), "c:java:1");
    for dead in [first, second] {
        assert!((5_000..=FIRST).contains(&left(&server, dead)));
    }
    assert_eq!(queue(&server), [first, second, "java:1", alive]);
}
