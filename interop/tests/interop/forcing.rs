//! Locks that one language forces open under the other.

use crate::peers::{LONG_MS, Servers, Side, both_ways, eventually, listeners, tracked_keys};

#[test]
fn plain_lock_forced_open_by_the_other_language_is_lost_to_its_holder_and_free_for_who_waits() {
    both_ways(|sides| forced(["lock", "lock"], sides));
}

#[test]
fn fenced_lock_forced_open_by_the_other_language_is_lost_to_its_holder_and_free_for_who_waits() {
    both_ways(|sides| forced(["fenced", "fenced"], sides));
}

#[test]
fn fair_lock_forced_open_by_the_other_language_is_lost_to_its_holder_and_free_for_who_waits() {
    both_ways(|sides| forced(["fair", "fair"], sides));
}

#[test]
fn write_lock_forced_open_by_the_other_language_is_lost_to_its_holder_and_free_for_who_waits() {
    both_ways(|sides| forced(["write", "write"], sides));
}

#[test]
fn read_lock_forced_open_by_the_other_language_is_lost_to_its_holder_and_free_for_who_waits() {
    both_ways(|sides| forced(["read", "write"], sides));
}

/// Nothing waits for it, and it renews so late that the test would be over before.
#[test]
fn holder_that_tracks_its_key_hears_at_once_that_redisson_forced_it_open() {
    for kind in ["lock", "fenced", "fair", "write", "read"] {
        let servers = Servers::start_for(kind);
        let server = &servers[0];
        let mut forces = Side::Java.start(&servers, RENEWED_LATE_MS);
        let mut holder = Side::start_tracking(&servers, RENEWED_LATE_MS);
        assert!(holder.ask(&format!("acquire {kind} x a -1 0")).starts_with("granted"));
        eventually(|| tracked_keys(server) > 0);
        assert_eq!(forces.ask(&format!("force {kind} x")), "forced");
        eventually(|| holder.ask(&format!("held {kind} x a")) == "lost");
    }
}

/// One kind is held, and the other is waited for.
fn forced([kind, wanted]: [&str; 2], [forces, holds]: [Side; 2]) {
    let servers = Servers::start_for(kind);
    let server = &servers[0];
    let mut forces = forces.start(&servers, LEASE_MS);
    let [mut holder, mut waits] = [(); 2].map(|()| holds.start(&servers, LEASE_MS));
    assert_eq!(forces.ask(&format!("force {kind} x")), "was free");
    assert!(holder.ask(&format!("acquire {kind} x a -1 0")).starts_with("granted"));
    waits.tell(&format!("acquire {wanted} x a -1 {LONG_MS}"));
    eventually(|| listeners(server) == 1);
    assert_eq!(forces.ask(&format!("force {kind} x")), "forced");
    assert!(waits.answer_promptly(server).starts_with("granted"));
    eventually(|| holder.ask(&format!("held {kind} x a")) == "lost");
    assert_eq!(holder.ask(&format!("release {kind} x a")), "not held");
    assert_eq!(waits.ask(&format!("held {wanted} x a")), "held", "that release was not its own");
    assert_eq!(waits.ask(&format!("release {wanted} x a")), "released");
    assert_eq!(
        forces.ask(&format!("acquire {kind} x a -1 {LONG_MS}")).split(' ').next(),
        Some("granted")
    );
    assert_eq!(holder.ask(&format!("release {kind} x a")), "not held");
    assert_eq!(forces.ask(&format!("held {kind} x a")), "held");
}

/// Renewed every five seconds, which is when a holder learns of its loss at the latest. So long that
/// none has ended when the waiter gets in.
const LEASE_MS: u32 = 15_000;
/// Renewed each 200 seconds: by then the test has failed.
const RENEWED_LATE_MS: u32 = 600_000;
