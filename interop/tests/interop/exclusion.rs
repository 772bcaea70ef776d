//! Ten thousand holds of four processes, two of each language, on one name.

use std::time::Duration;

use crate::peers::{LONG_MS, Servers, Side, Witness};

#[test]
fn holds_of_plain_locks_lose_no_update() {
    let seen = hammer(["lock", "lock"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

#[test]
fn holds_of_fenced_locks_lose_no_update_and_tokens_rise_over_both_languages() {
    let seen = hammer(["fenced", "fenced"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

#[test]
fn holds_of_fair_locks_lose_no_update() {
    let seen = hammer(["fair", "fair"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

#[test]
fn holds_of_multi_locks_lose_no_update() {
    let seen = hammer(["multi", "multi"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

#[test]
fn holds_of_multi_locks_over_fair_locks_lose_no_update() {
    let seen = hammer(["multi-fair", "multi-fair"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

/// Each holds by turns for writing and for reading, and half of the holds update the witness.
#[test]
fn holds_of_read_write_locks_lose_no_update_and_readers_meet_no_writer() {
    let seen = hammer(["write+read", "write+read"], 10_000);
    seen.assert_exclusive();
    seen.assert_handed_over();
}

/// A spin lock does not announce its release, so nothing is said of when the other side has its
/// turns.
#[test]
fn holds_of_a_spin_lock_and_a_plain_one_lose_no_update() {
    hammer(["spin", "lock"], 2_000).assert_exclusive();
}

/// What the processes saw: `src/hammer.rs`.
#[derive(Debug, Default)]
struct Seen {
    holds: u32,
    /// How many of them were to update the witness.
    updates: u32,
    counted: u32,
    overlaps: u64,
    backward: u64,
    crossings: u64,
    longest: Duration,
}

impl Seen {
    fn assert_exclusive(&self) {
        assert_eq!(self.counted, self.updates, "updates were lost: {self:?}");
        assert_eq!((self.overlaps, self.backward), (0, 0), "{self:?}");
    }

    /// That both languages had turns all the time, and none waited for the end of a lease.
    fn assert_handed_over(&self) {
        assert!(self.crossings >= u64::from(self.holds) / 20, "{self:?}");
        assert!(self.longest < WAKES, "{self:?}");
    }
}

/// Far below the lease, far above whatever a busy machine explains.
const WAKES: Duration = Duration::from_secs(30);
/// For all of them together.
const LIMIT: Duration = Duration::from_secs(600);

/// `holds` by two processes of Java and two of Rust, each with their kind of lock.
fn hammer([java, rust]: [&str; 2], holds: u32) -> Seen {
    let servers = Servers::start_for(java);
    let sides = [(Side::Java, java), (Side::Rust, rust)];
    let mut peers = Vec::new();
    for (side, kind) in sides.into_iter().chain(sides) {
        peers.push((side.start(&servers, LONG_MS), kind));
    }
    peers.iter_mut().for_each(|(peer, _)| peer.wait_until_up());
    let witness = Witness::beside(&servers[0]);
    for (peer, kind) in &mut peers {
        peer.tell(&format!("hammer {kind} x {} {}", holds / 4, witness.folder()));
    }
    let updates = holds / if java.contains('+') { 2 } else { 1 };
    let mut seen = Seen { holds, updates, ..Seen::default() };
    for (peer, _) in &peers {
        let answer = peer.answer(LIMIT);
        let numbers: Vec<u64> = answer.split(' ').map_while(|word| word.parse().ok()).collect();
        let [overlaps, backward, crossings, longest] = numbers[..] else { panic!("{answer}") };
        seen.overlaps += overlaps;
        seen.backward += backward;
        seen.crossings += crossings;
        seen.longest = seen.longest.max(Duration::from_micros(longest));
    }
    seen.counted = witness.count();
    println!("{java} of Java and {rust} of Rust: {seen:?}");
    seen
}
