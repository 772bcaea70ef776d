//! Latches on which one language waits and the other counts.

use testkit::RedisServer;

use crate::peers::{HANG, LONG_MS, Servers, Side, both_ways, eventually};

#[test]
fn count_to_zero_by_the_other_language_wakes_who_waits() {
    both_ways(|[waits, counts]| {
        let servers = Servers::start_for("latch");
        let mut waits = waits.start(&servers, LONG_MS);
        let mut counts = counts.start(&servers, LONG_MS);
        for set_here in [true, false] {
            let sets = if set_here { &mut counts } else { &mut waits };
            assert_eq!(sets.ask("latch set x 2"), "true");
            assert_eq!(waits.ask("latch set x 5"), "false");
            assert_eq!(counts.ask("latch count x"), "2");
            waits.tell(&format!("latch wait x {HANG_MS}"));
            eventually(|| listeners(&servers[0]) == 1);
            assert_eq!(counts.ask("latch down x"), "counted");
            assert_eq!(counts.ask("latch down x"), "counted");
            assert_eq!(waits.answer_promptly(&servers[0]), "true");
            assert_eq!(waits.ask("latch count x"), "0");
            eventually(|| listeners(&servers[0]) == 0);
        }
    });
}

/// By Java's own deletion its waiters go on at their limit only: ours do at once, and let them.
#[test]
fn deletion_by_palisade_wakes_whoever_waits() {
    for waits in [Side::Java, Side::Rust] {
        deleted(waits, Side::Rust);
    }
}

#[test]
fn deletion_by_redisson_wakes_palisade() {
    deleted(Side::Rust, Side::Java);
}

fn deleted(waits: Side, deletes: Side) {
    let servers = Servers::start_for("latch");
    let mut waits = waits.start(&servers, LONG_MS);
    let mut deletes = deletes.start(&servers, LONG_MS);
    assert_eq!(deletes.ask("latch set x 2"), "true");
    waits.tell(&format!("latch wait x {HANG_MS}"));
    eventually(|| listeners(&servers[0]) == 1);
    assert_eq!(deletes.ask("latch delete x"), "true");
    assert_eq!(waits.answer_promptly(&servers[0]), "true");
}

#[test]
fn counts_of_both_languages_add_up() {
    let servers = Servers::start_for("latch");
    let mut peers = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    assert_eq!(peers[0].ask("latch set x 2000"), "true");
    for _ in 0..999 {
        peers.iter_mut().for_each(|peer| peer.tell("latch down x"));
        assert!(peers.iter().all(|peer| peer.answer(HANG) == "counted"));
    }
    assert_eq!(peers[1].ask("latch count x"), "2");
}

fn listeners(server: &RedisServer) -> i64 {
    let channel = "redisson_countdownlatch__channel__{x}";
    server.command(&["PUBSUB", "NUMSUB", channel]).array()[1].int()
}

/// So long that nothing comes to pass because a wait ended.
const HANG_MS: u32 = 2 * LONG_MS;
