//! Calls that were refused as a whole, errors of one lock, answers that are not understood, and sockets
//! that break.

use std::sync::atomic::Ordering;

use super::asking::{Desk, NOPERM, NOSCRIPT, Wish, keys, over};
use crate::{
    error::{NodeError, Phase},
    socket::{acquire_source::SendReason, call_table::GivenUp, outbox::ConnectionEnd},
};

#[test]
fn an_unknown_script_is_sent_with_its_text_to_those_who_still_want_it() {
    let mut desk = Desk::new();
    let (wishes, tickets) = desk.enter_all(&["given up", "x", "over", "y"]);
    desk.written();
    // Their releases have left by now, behind this call.
    assert_eq!(desk.leave(tickets[0]), GivenUp { phase: Phase::Answering, counts: true });
    wishes[2].is_wanted.store(false, Ordering::SeqCst);
    desk.answer(NOSCRIPT);
    let written = desk.written();
    assert_eq!(written[0][0], "EVAL");
    assert_eq!(keys(&written[0]), ["x", "y"]);
    assert_eq!(wishes[0].turns(), [SendReason::First]);
    let [(first, _), again] = wishes[1].asked()[..] else { panic!("{:?}", wishes[1].asked()) };
    assert_eq!(again, (first, SendReason::WithText), "the stamp that it was noted with");
    assert_eq!(wishes[2].was_not_sent(), [first]);
    desk.answer(":1700000000000000\r\n");
    assert_eq!(desk.tell_all(&tickets[1..]), ["1 1000", "unwanted", "1 1000"]);
    // A call that comes later is not sent the text.
    desk.enter_all(&["z"]);
    assert_eq!(desk.written()[0][0], "EVALSHA");
}

/// A server whose user may not touch a key: it refuses each call that names it.
fn serve(desk: &mut Desk, bad: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    loop {
        let written = desk.keys();
        if written.is_empty() {
            return calls;
        }
        for keys in &written {
            if keys.iter().any(|key| key == bad) {
                desk.answer(NOPERM);
            } else {
                desk.answer(":1700000000000000\r\n");
            }
        }
        calls.extend(written);
    }
}

fn many(bad: &str) -> Vec<String> {
    (0..32).map(|number| if number == 19 { bad.to_owned() } else { format!("{number}") }).collect()
}

#[test]
fn one_key_that_is_refused_fails_no_other_and_goes_alone_from_then_on() {
    let mut desk = Desk::new();
    let names = many("bad");
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let (wishes, tickets) = desk.enter_all(&names);
    let calls = serve(&mut desk, "bad");
    let told = desk.tell_all(&tickets);
    assert_eq!(told.iter().filter(|told| *told == "1 1000").count(), 31);
    assert_eq!(told[19], "Permission");
    assert_eq!(calls.len(), 11, "{calls:?}");
    assert!(
        wishes.iter().all(|wish| wish.turns()[1..].iter().all(|t| *t == SendReason::Regrouped))
    );
    assert!(
        wishes.iter().all(|wish| wish.asked().iter().all(|(stamp, _)| *stamp == wish.asked()[0].0))
    );

    desk.enter_all(&names);
    let calls = serve(&mut desk, "bad");
    let sizes: Vec<_> = calls.iter().map(Vec::len).collect();
    assert_eq!(sizes.iter().sum::<usize>(), 32);
    assert_eq!((calls.len(), calls.contains(&vec!["bad".to_owned()])), (2, true), "{calls:?}");
}

// proves: one-sender
#[test]
fn what_was_given_up_while_its_call_was_refused_is_not_sent_again() {
    let mut desk = Desk::new();
    let names = many("bad");
    let (wishes, tickets) = desk.enter_all(&names.iter().map(String::as_str).collect::<Vec<_>>());
    desk.written();
    desk.leave(tickets[3]);
    wishes[4].is_wanted.store(false, Ordering::SeqCst);
    desk.answer(NOPERM);
    let calls = serve(&mut desk, "bad").concat();
    assert!(!calls.contains(&"3".to_owned()) && !calls.contains(&"4".to_owned()), "{calls:?}");
    assert_eq!(wishes[4].was_not_sent().len(), 1);
    assert_eq!(desk.tell(tickets[4]), "unwanted");
}

#[test]
fn what_speaks_for_the_server_is_told_to_all_and_nothing_is_halved() {
    for error in ["READONLY no", "LOADING no", "MASTERDOWN no", "BUSY no", "MISCONF no", "OOM no"] {
        let mut desk = Desk::new();
        let (_, tickets) = desk.enter_all(&["x", "y", "z"]);
        desk.written();
        desk.answer(&format!("-{error}\r\n"));
        assert!(desk.written().is_empty(), "{error}");
        let told = desk.tell_all(&tickets);
        assert!(told.iter().all(|one| *one == told[0] && one != "waits"), "{told:?}");
    }
}

#[test]
fn an_error_of_one_lock_is_no_other_s() {
    let mut desk = Desk::new();
    let (_, tickets) = desk.enter_all(&["x", "y", "z"]);
    desk.written();
    desk.answer("*7\r\n:7\r\n:1\r\n:900\r\n-OOM no room\r\n:0\r\n:0\r\n:55\r\n");
    assert_eq!(desk.tell_all(&tickets), ["1 900", "OutOfMemory", "0 55"]);
}

// proves: three-answers
#[test]
fn an_answer_of_another_length_tells_nothing_of_anybody() {
    for answer in [
        "*3\r\n:7\r\n:1\r\n:900\r\n",
        "*0\r\n",
        "+OK\r\n",
        "*6\r\n:7\r\n:1\r\n:9\r\n:1\r\n:9\r\n:9\r\n",
    ] {
        let mut desk = Desk::new();
        let (_, tickets) = desk.enter_all(&["x", "y"]);
        desk.written();
        desk.answer(answer);
        assert_eq!(desk.tell_all(&tickets), ["Malformed"; 2], "{answer}");
    }
}

#[test]
fn another_mark_is_told_to_all() {
    let mut desk = Desk::new();
    let all = ["x", "y"].map(|name| desk.enter(&Wish::with(name, 1, 1_000, Some("m"))));
    assert_eq!(desk.keys(), [["x", "y", "mark"]]);
    desk.answer("*4\r\n:7\r\n:-4\r\n:0\r\n:0\r\n");
    assert_eq!(desk.tell_all(&all), ["-4 0"; 2]);
}

// proves: one-sender
#[test]
fn of_a_socket_that_breaks_what_it_did_not_take_never_left() {
    for taken in [0, 1] {
        let mut desk = Desk::new();
        let (wishes, tickets) = desk.enter_all(&["x", "y"]);
        desk.written();
        let later = Wish::of("z", 3);
        let waits = desk.enter(&later);
        desk.written();
        // All of the first call, or part of the second as well.
        let first = desk.bytes() / 2;
        let error = NodeError::Loading;
        desk.outbox.broken(if taken == 0 { 0 } else { first }, None, &error);
        let expected = if taken == 0 { "never left" } else { "unknown" };
        assert_eq!(desk.tell_all(&tickets), [expected; 2]);
        let noted = wishes[0].asked()[0].0;
        let undone = if taken == 0 { vec![noted] } else { vec![] };
        assert_eq!(
            wishes.iter().map(|wish| wish.was_not_sent()).collect::<Vec<_>>(),
            [undone.clone(), undone]
        );
        if taken == 0 {
            assert_eq!(desk.tell(waits), "never left");
        }
    }
}

#[test]
fn nothing_is_sent_again_on_a_socket_that_has_ended() {
    let mut desk = Desk::new();
    let (wishes, tickets) = desk.enter_all(&["x", "y"]);
    desk.written();
    desk.outbox.end(ConnectionEnd::Lost);
    desk.answer(NOSCRIPT);
    assert!(desk.written().is_empty());
    assert_eq!(desk.tell_all(&tickets), ["never left"; 2]);
    assert_eq!(wishes[0].was_not_sent().len(), 1);
}

#[test]
fn what_is_not_worth_sending_any_more_is_not_sent() {
    let mut desk = Desk::new();
    let wish = Wish::of("x", 1);
    let late = desk.enter_until(&wish, over());
    assert!(desk.written().is_empty());
    assert_eq!(desk.tell(late), "GivenUp");
    assert!(wish.asked().is_empty());
}
