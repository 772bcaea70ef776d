//! Which acquires share a call, when it leaves, and in which order.

use std::{
    sync::{Arc, OnceLock, atomic::Ordering},
    task::Waker,
    time::Duration,
};

use super::asking::{Desk, NOSCRIPT, TAKE, Wish, keys};
use crate::{
    clock::{Instant, TokioClock},
    error::Phase,
    reach::{NodeSettings, test_settings::settings},
    socket::{
        acquire_source::{AcquireSource, SendReason},
        call_table::{CallWaiter, GivenUp, QueuedCall},
        outbox::Outbox,
    },
    wire::Acquire,
};

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("lock {number}")).collect()
}

fn as_str(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

#[test]
fn acquires_that_wait_at_the_same_moment_leave_in_one_call() {
    let mut desk = Desk::new();
    let (wishes, tickets) = desk.enter_all(&["x", "y"]);
    let stamp = |wish: &Wish| wish.asked()[0].0;
    let written = desk.written();
    let stamped = stamp(&wishes[0]).to_string();
    let sha = TAKE.text().sha;
    assert_eq!(
        written,
        [["EVALSHA", sha, "2", "x", "y", "1000", &stamped, "1", "2"].map(String::from)]
    );
    assert_eq!(stamp(&wishes[0]), stamp(&wishes[1]));
    desk.answer_each(&[(1, 1_000), (0, 77)]);
    assert_eq!(desk.tell_all(&tickets), ["1 1000", "0 77"]);

    let (wishes, tickets) = desk.enter_all(&["alone"]);
    let written = desk.written();
    let stamped = stamp(&wishes[0]).to_string();
    assert_eq!(written, [["EVALSHA", sha, "1", "alone", "1000", &stamped, "1"].map(String::from)]);
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.tell_all(&tickets), ["1 1000"]);
}

#[test]
fn two_of_one_name_share_a_call_if_its_script_takes_them_in_turns() {
    let mut desk = Desk::new();
    for number in 1..=2 {
        desk.enter(&Wish::in_turns("x", number));
    }
    assert_eq!(desk.keys(), [["x", "x"]]);
    let mut desk = Desk::new();
    desk.enter_all(&["x", "x"]);
    assert_eq!(desk.keys(), [["x"], ["x"]]);
}

/// Its clock stands still until it is advanced: a busy machine is not to be taken for a busy server.
fn desk_of_a_near_server() -> Desk {
    let clock = Arc::new(TokioClock::new());
    Desk::with(&NodeSettings { clock, ..settings() }, Duration::ZERO)
}

#[tokio::test(start_paused = true)]
async fn two_calls_of_32_are_under_way_and_an_answer_lets_the_next_go() {
    let mut desk = desk_of_a_near_server();
    let names = names(100);
    let (_, tickets) = desk.enter_all(&as_str(&names));
    assert_eq!(desk.keys(), [&names[..32], &names[32..64]]);
    assert!(desk.keys().is_empty());
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.tell_all(&tickets[..33]).join(","), "1 1000,".repeat(32) + "waits");
    assert_eq!(desk.keys(), [&names[64..96]]);
    desk.answer(":1700000000000000\r\n");
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.keys(), [&names[96..]]);
}

/// Each is noted with the stamp after which nothing of it may be executed any more.
#[tokio::test(start_paused = true)]
async fn acquires_of_two_calls_that_wait_again_are_sent_with_the_stamps_of_before() {
    let mut desk = desk_of_a_near_server();
    let mut noted = Vec::new();
    for name in ["x", "y"] {
        let (wishes, _) = desk.enter_all(&[name]);
        assert_eq!(desk.keys(), [[name]]);
        noted.push((vec![name.to_owned()], wishes[0].asked()[0].0.to_string()));
        tokio::time::advance(Duration::from_millis(5)).await;
    }
    assert_ne!(noted[0].1, noted[1].1);
    desk.answer(NOSCRIPT);
    desk.answer(NOSCRIPT);
    let again = desk.written();
    let mut sent: Vec<_> = again.iter().map(|words| (keys(words), words[5].clone())).collect();
    sent.sort();
    assert_eq!(sent, noted);
}

#[test]
fn a_far_server_has_as_many_calls_under_way_as_its_round_trip_takes() {
    let mut desk = Desk::with(&settings(), Duration::from_millis(1));
    let names = names(32 * 9);
    desk.enter_all(&as_str(&names));
    assert_eq!(desk.written().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_has_as_many_calls_under_way_as_the_last_round_trip_took() {
    let mut desk = desk_of_a_near_server();
    desk.enter_all(&as_str(&names(32 * 9)));
    assert_eq!(desk.written().len(), 2);
    tokio::time::advance(Duration::from_millis(1)).await;
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.written().len(), 4);
}

#[test]
fn a_call_has_64_kib_at_most() {
    let mut desk = Desk::new();
    let names: Vec<_> = (0..20).map(|number| format!("{number}").repeat(4_000)).collect();
    desk.enter_all(&as_str(&names));
    let lengths: Vec<_> = desk.written().iter().map(|words| words.concat().len()).collect();
    assert!(lengths.iter().all(|length| *length <= 64 * 1024), "{lengths:?}");
    assert_eq!(lengths.len(), 2);
}

#[test]
fn calls_are_not_shared_by_different_leases_marks_or_with_other_calls() {
    let mut desk = Desk::new();
    let all = [
        Wish::with("a", 1, 1_000, None),
        Wish::with("b", 2, 2_000, None),
        Wish::with("c", 3, 1_000, Some("m")),
        Wish::with("d", 4, 1_000, Some("n")),
        Wish::with("e", 5, 1_000, None),
        Wish::with("f", 6, 1_000, Some("m")),
    ];
    for wish in &all {
        desk.enter(wish);
    }
    let mut calls = Vec::new();
    for _ in 0..4 {
        calls.extend(desk.keys());
        desk.answer_each(&[(-4, 0)]);
    }
    let expected = [vec!["a", "e"], vec!["b"], vec!["c", "f", "mark"], vec!["d", "mark"]];
    assert_eq!(calls, expected);
}

#[test]
fn no_key_is_twice_in_a_call() {
    let mut desk = Desk::new();
    let (_, tickets) = desk.enter_all(&["x", "y", "x", "z", "x"]);
    assert_eq!(desk.keys(), [vec!["x", "y", "z"], vec!["x"]]);
    desk.answer_each(&[(1, 1_000), (1, 1_000), (0, 3)]);
    desk.answer_each(&[(0, 5)]);
    assert_eq!(desk.keys(), [vec!["x"]]);
    assert_eq!(desk.tell_all(&tickets), ["1 1000", "1 1000", "0 5", "0 3", "waits"]);
}

#[test]
fn calls_in_a_cluster_take_one_slot() {
    let mut desk = Desk::new();
    let (_, tickets) = desk.enter_all(&["{a}1", "{b}1", "{a}2", "{b}2"]);
    assert_eq!(desk.keys().concat().len(), 4);
    desk.answer("-CROSSSLOT Keys in request don't hash to the same slot\r\n");
    assert_eq!(desk.keys(), [["{a}1", "{a}2"], ["{b}1", "{b}2"]]);
    desk.answer(":1700000000000000\r\n");
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.tell_all(&tickets), ["1 1000"; 4]);
    desk.enter_all(&["{a}1", "{b}1"]);
    assert_eq!(desk.keys(), [["{a}1"], ["{b}1"]]);
}

// proves: one-sender
/// A release that was decided before the bytes are made sees no note, and none is sent behind it.
#[test]
fn what_is_given_up_before_its_bytes_are_made_is_never_sent() {
    let mut desk = Desk::new();
    let (wishes, tickets) = desk.enter_all(&["x", "y", "z"]);
    assert!(wishes[0].asked().is_empty(), "nobody notes what only waits");
    wishes[0].is_wanted.store(false, Ordering::SeqCst);
    assert_eq!(desk.leave(tickets[1]), GivenUp { phase: Phase::Sending, counts: false });
    assert_eq!(desk.keys(), [["z"]]);
    assert_eq!(desk.tell(tickets[0]), "unwanted");
    assert!(wishes[1].asked().is_empty() && wishes[1].was_not_sent().is_empty());
}

/// One that is decided after that comes behind, whatever waits by then.
#[test]
fn what_is_not_an_acquire_leaves_before_those_that_wait_and_behind_those_that_fly() {
    let mut desk = Desk::new();
    desk.enter_all(&["x"]);
    let mut order = desk.written();
    desk.enter_all(&["y"]);
    desk.say("RELEASE");
    order.extend(desk.written());
    let order: Vec<_> = order
        .iter()
        .map(|words| if words.len() > 1 { keys(words)[0].clone() } else { words[0].clone() })
        .collect();
    assert_eq!(order, ["x", "RELEASE", "y"]);
}

// proves: one-sender
#[test]
fn nobody_enters_while_an_acquirer_notes_that_it_is_sent() {
    #[derive(Debug)]
    struct Looks(Arc<Wish>, OnceLock<bool>, Arc<Outbox>);
    impl AcquireSource for Looks {
        fn acquire(&self) -> &Acquire {
            self.0.acquire()
        }
        fn valid(&self) -> Duration {
            self.0.valid()
        }
        fn wants(&self, _now: Instant, _not_after: i64, _turn: SendReason) -> bool {
            let _once = self.1.set(self.2.is_locked());
            true
        }
        fn was_not_sent(&self, _not_after: i64) {}
        fn keeps_order(&self) -> bool {
            false
        }
    }
    let mut desk = Desk::new();
    let looks = Arc::new(Looks(Wish::of("x", 1), OnceLock::new(), desk.outbox.clone()));
    let departure = QueuedCall::acquire(looks.clone(), None, false);
    desk.outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap();
    desk.written();
    assert_eq!(looks.1.get(), Some(&true));
}
