//! A release of one language wakes the other.

use crate::peers::{HANG, LONG_MS, Servers, Side, eventually, listeners};

#[test]
fn hand_overs_of_a_plain_lock_lose_none() {
    hand_over("lock", 500);
}

#[test]
fn hand_overs_of_a_fenced_lock_lose_none() {
    hand_over("fenced", 500);
}

#[test]
fn hand_overs_of_a_multi_lock_lose_none() {
    hand_over("multi", 250);
}

fn hand_over(kind: &str, turns: u32) {
    let servers = Servers::start_for(kind);
    let mut peers = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    let (acquire, release) =
        (format!("acquire {kind} x a -1 {LONG_MS}"), format!("release {kind} x a"));
    assert!(peers[0].ask(&acquire).starts_with("granted"));
    for turn in 0..turns {
        let [java, rust] = &mut peers;
        let (holder, waiter) = if turn % 2 == 0 { (java, rust) } else { (rust, java) };
        // Told at once, so that the release meets the waiter at every stage of its waiting.
        waiter.tell(&acquire);
        holder.tell(&release);
        let answer = waiter.answer_promptly(&servers[0]);
        assert!(answer.starts_with("granted"), "turn {turn}: {answer}");
        assert_eq!(holder.answer(HANG), "released");
    }
}

/// It tells nobody of its release, so palisade has to look.
#[test]
fn release_of_a_spin_lock_is_seen_long_before_its_lease_would_end() {
    let servers = Servers::start_for("spin");
    let mut java = Side::Java.start(&servers, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(java.ask("acquire spin x a -1 0"), "granted");
    rust.tell("acquire lock x a -1 300000");
    eventually(|| listeners(&servers[0]) == 1);
    assert_eq!(java.ask("release spin x a"), "released");
    assert_eq!(rust.answer(HANG), "granted");
    java.tell("acquire spin x a -1 300000");
    assert_eq!(rust.ask("release lock x a"), "released");
    assert_eq!(java.answer(HANG), "granted");
}
