//! A release of one language wakes the other.

use std::time::{Duration, Instant};

use testkit::RedisServer;

use crate::peers::{HANG, LONG_MS, Servers, Side, both_ways, eventually, listeners};

#[test]
fn hand_overs_of_a_plain_lock_lose_none() {
    hand_over(["lock", "lock"], 500);
}

#[test]
fn hand_overs_of_a_fenced_lock_lose_none() {
    hand_over(["fenced", "fenced"], 500);
}

#[test]
fn hand_overs_of_a_fair_lock_lose_none() {
    hand_over(["fair", "fair"], 500);
}

#[test]
fn hand_overs_of_a_multi_lock_lose_none() {
    hand_over(["multi", "multi"], 250);
}

#[test]
fn hand_overs_of_a_write_lock_lose_none() {
    hand_over(["write", "write"], 500);
}

#[test]
fn hand_overs_between_readers_and_writers_lose_none() {
    hand_over(["read", "write"], 250);
    hand_over(["write", "read"], 250);
}

fn hand_over([of_java, of_rust]: [&str; 2], turns: u32) {
    let servers = Servers::start_for(of_java);
    let [mut java, mut rust] = [Side::Java, Side::Rust].map(|side| side.start(&servers, LONG_MS));
    assert!(java.ask(&acquire(of_java)).starts_with("granted"));
    let mut missed = 0;
    for turn in 0..turns {
        let ((holder, held), (waiter, wanted)) = match turn % 2 {
            0 => ((&mut java, of_java), (&mut rust, of_rust)),
            _ => ((&mut rust, of_rust), (&mut java, of_java)),
        };
        let before = servers[0].calls_of("publish");
        // Told at once, so that the release meets the waiter at every stage of its waiting.
        waiter.tell(&acquire(wanted));
        holder.tell(&release(held));
        let answer = waiter.answer_if_prompt(&servers[0]).unwrap_or_else(|| {
            assert!(turn % 2 == 1 && wanted == "fenced", "turn {turn}: not woken");
            missed += 1;
            repeat(&servers[0], before);
            waiter.answer_promptly(&servers[0])
        });
        assert!(answer.starts_with("granted"), "turn {turn}: {answer}");
        assert_eq!(holder.answer(HANG), "released");
    }
    assert!(missed < 5, "{missed} of {turns}");
}

/// A waiter for a fenced lock of Redisson looks for a message, and then leaves word how to call it:
/// what comes between the two does not call it (`RedissonLockEntry`). That palisade announced the
/// release shows in the commands of the server.
fn repeat(server: &RedisServer, announced_before: u64) {
    assert!(server.calls_of("publish") > announced_before, "the release was not announced");
    server.command(&["PUBLISH", "redisson_lock__channel:{x}", "0"]);
}

#[test]
fn release_of_a_writer_wakes_all_readers_of_the_other_language() {
    both_ways(|sides| readers_are_woken(&["release write x a"], sides));
}

#[test]
fn downgrade_of_palisade_wakes_all_readers_of_redisson() {
    readers_are_woken(&["acquire read x a -1 0", "release write x a"], [Side::Rust, Side::Java]);
}

/// `ends` is what a writer does for others to read.
fn readers_are_woken(ends: &[&str], [writes, read]: [Side; 2]) {
    let servers = Servers::start_for("write");
    let mut writer = writes.start(&servers, LONG_MS);
    let mut readers = [(); 2].map(|()| read.start(&servers, LONG_MS));
    assert_eq!(writer.ask(&acquire("write")), "granted");
    readers.iter_mut().for_each(|reader| reader.tell(&acquire("read")));
    eventually(|| listeners(&servers[0]) == 2);
    for end in ends {
        writer.tell(end);
        assert!(["granted", "released"].contains(&&*writer.answer(HANG)));
    }
    for reader in &readers {
        assert_eq!(reader.answer_promptly(&servers[0]), "granted");
    }
    // None has to go before the other comes.
    assert!(readers.iter_mut().all(|reader| reader.ask("held read x a") == "held"));
}

/// A writer of palisade that waits for readers looks twice a second, told or not. So this does not show
/// that it was woken; that it was in most cases is seen from how long all of them took.
#[test]
fn release_of_the_last_reader_wakes_a_writer_of_the_other_language() {
    both_ways(|[read, writes]| {
        let servers = Servers::start_for("read");
        let mut readers = [(); 2].map(|()| read.start(&servers, LONG_MS));
        let mut writer = writes.start(&servers, LONG_MS);
        let mut woken_in = Vec::new();
        for _ in 0..20 {
            for reader in &mut readers {
                assert_eq!(reader.ask(&acquire("read")), "granted");
            }
            writer.tell(&acquire("write"));
            eventually(|| listeners(&servers[0]) == 1);
            assert_eq!(readers[0].ask(&release("read")), "released");
            assert_eq!(readers[1].ask("held read x a"), "held", "the writer waits on");
            let began = Instant::now();
            assert_eq!(readers[1].ask(&release("read")), "released");
            assert_eq!(writer.answer_promptly(&servers[0]), "granted");
            woken_in.push(began.elapsed());
            assert_eq!(writer.ask(&release("write")), "released");
        }
        woken_in.sort_unstable();
        println!("a writer of {writes:?} after readers of {read:?}: {:?}", woken_in[10]);
        assert!(woken_in[10] < LOOKS / 3, "{woken_in:?}");
    });
}

/// How often a writer of palisade asks while readers hold the lock.
const LOOKS: Duration = Duration::from_millis(500);

/// It does not announce that it reads from now on, so palisade has to look.
#[test]
fn downgrade_of_redisson_is_seen_long_before_its_lease_would_end() {
    let servers = Servers::start_for("write");
    let mut java = Side::Java.start(&servers, LONG_MS);
    let mut rust = Side::Rust.start(&servers, LONG_MS);
    assert_eq!(java.ask(&acquire("write")), "granted");
    assert_eq!(java.ask(&acquire("read")), "granted");
    rust.tell(&acquire("read"));
    eventually(|| listeners(&servers[0]) == 1);
    assert_eq!(java.ask(&release("write")), "released");
    assert_eq!(rust.answer(HANG), "granted");
    assert_eq!(java.ask("held read x a"), "held");
}

/// It does not announce its release, so palisade has to look.
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

fn acquire(kind: &str) -> String {
    format!("acquire {kind} x a -1 {LONG_MS}")
}

fn release(kind: &str) -> String {
    format!("release {kind} x a")
}
