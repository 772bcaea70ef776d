//! What one member's answers, and their absence, come to.

use std::time::Duration;

use super::{connection, run, s, term, token};
use crate::{
    Lease,
    claim::{
        absence::Absence::{Gone, Restarted, Taken},
        member_state::MemberState,
    },
    wire::Outcome,
};

fn outcome(code: i64) -> Outcome {
    Outcome { code, value: 0, token: 0 }
}

/// Asked at 10 s, with or without an answer, it is found gone by a request of another time.
#[tokio::test]
async fn member_that_is_gone_is_clean_unless_something_may_have_come_behind_that() {
    let connection = connection().await;
    for (is_answered, sent, absence, is_clean) in [
        (true, 11, Gone, true),
        (true, 11, Taken, true),
        (true, 10, Gone, false),
        (true, 9, Gone, false),
        (true, 9, Taken, false),
        (false, 11, Gone, false),
        (false, 11, Taken, false),
        // Its data may come back.
        (true, 11, Restarted, false),
    ] {
        let mut member = MemberState::default();
        member.asked(&connection, 500, false, s(10));
        if is_answered {
            member.granted(connection.epoch(), 500, None);
        }
        member.gone(absence, s(sent), s(12), None);
        let row = (is_answered, sent, absence);
        assert_eq!(member.is_clean(), is_clean, "{row:?}");
        assert_eq!(member.take_release().is_none(), is_clean, "{row:?}");
    }
}

/// Each step is an acquire with that stamp: asked, asked again, answered by a grant, failed, never
/// left; or given out to be released. Whether nothing of ours can stand there in the end.
#[tokio::test]
async fn member_is_clean_once_nothing_that_was_asked_can_have_been_executed() {
    let connection = connection().await;
    let epoch = connection.epoch();
    for (steps, is_clean) in [
        ("", true),
        ("a1", false),
        ("a1 g1", false),
        ("a1 f1", true),
        ("a1 n1", true),
        // Not the one that was asked.
        ("a1 f2", false),
        ("a1 n2", false),
        // One that was asked before was granted, or may have been.
        ("a1 g1 a2 f2", false),
        ("a1 g1 a2 n2", false),
        ("a1 a2 n2", false),
        ("a1 a2 f1", false),
        ("a1 f1 a2 f2", true),
        ("a1 f1 a2 n2", true),
        // Asked again it is the same acquire.
        ("a1 A1 f1", true),
        ("a1 A1 n1", true),
        ("a1 a1 f1", false),
        // Unless it was given out meanwhile.
        ("a1 r1", true),
        ("a1 r1 A1", false),
        ("a1 r1 A1 f1", true),
        ("a1 r1 f1", true),
    ] {
        let mut member = MemberState::default();
        for step in steps.split_whitespace() {
            let (what, stamp) = step.split_at(1);
            let stamp = stamp.parse().unwrap();
            match what {
                "a" | "A" => member.asked(&connection, stamp, what == "A", s(10)),
                "g" => member.granted(epoch, stamp, None),
                "f" => member.failed(epoch, stamp),
                "n" => member.was_not_sent(epoch, stamp),
                _ => assert!(member.take_release().is_some(), "{steps}"),
            }
        }
        assert_eq!(member.is_clean(), is_clean, "{steps}");
    }
}

#[tokio::test]
async fn release_is_given_out_once_with_all_that_is_not_answered() {
    let connection = connection().await;
    let mut member = MemberState::default();
    assert!(member.is_settled());
    member.asked(&connection, 500, false, s(10));
    member.asked(&connection, 600, false, s(11));
    assert!(!member.is_settled());
    member.wrote(token(5));
    assert_eq!(member.token(), Some(token(5)));
    let term = term(Lease::Watchdog);
    member.confirmed(term, s(10), 30_000, Some(s(20)));
    let (socket, unanswered) = member.take_release().unwrap();
    assert_eq!(socket.map(|socket| socket.epoch()), Some(connection.epoch()));
    assert_eq!(unanswered.last_stamp(), Some(600));
    assert_eq!((member.deadline(), member.token(), member.renew_at), (None, None, None));
    assert!(member.is_settled() && member.take_release().is_none());
}

#[tokio::test]
async fn answer_without_a_grant_says_what_stands_there() {
    let connection = connection().await;
    for (code, absence, is_clean) in [
        (Outcome::REFUSED, Taken, true),
        (Outcome::QUEUED, Taken, false),
        (Outcome::LINED_UP, Taken, false),
        (Outcome::STALE, Gone, true),
        (Outcome::FOREIGN, Gone, true),
    ] {
        let mut member = MemberState::default();
        member.asked(&connection, 500, false, s(10));
        member.not_granted(connection.epoch(), 500, outcome(code));
        assert_eq!((member.absence(), member.is_clean()), (absence, is_clean), "{code}");
        // Whatever it was, this is later.
        member.asked(&connection, 600, false, s(11));
        member.failed(connection.epoch(), 600);
        assert_eq!(member.absence(), Gone, "{code}");
    }
}

#[tokio::test]
async fn place_in_a_queue_that_is_taken_anew_was_lost_and_that_is_told_once() {
    let connection = connection().await;
    for (answers, told) in [
        ([Outcome::LINED_UP, Outcome::QUEUED, Outcome::LINED_UP, Outcome::LINED_UP], Some(2)),
        // The answer to the first was lost.
        ([Outcome::QUEUED, Outcome::LINED_UP, Outcome::QUEUED, Outcome::LINED_UP], Some(1)),
        ([Outcome::REFUSED, Outcome::LINED_UP, Outcome::QUEUED, Outcome::QUEUED], None),
    ] {
        let mut member = MemberState::default();
        let lost = answers.map(|code| {
            member.asked(&connection, 500, false, s(10));
            member.not_granted(connection.epoch(), 500, outcome(code))
        });
        let times = lost.iter().filter(|lost| **lost).count();
        assert_eq!((lost.iter().position(|lost| *lost), times), (told, told.iter().count()));
    }
}

/// A member that granted in the run `a`, and confirmed at 10 s for 30 s.
fn confirmed() -> MemberState {
    let mut member = MemberState::default();
    member.granted(1, 1, run('a'));
    member.confirmed(term(Lease::Watchdog), s(10), 30_000, Some(s(20)));
    member
}

// proves: no-answer-no-movement, ttl-not-shortened
#[test]
fn confirmation_moves_the_deadline_on_and_never_back() {
    let term = term(Lease::Watchdog);
    let mut member = confirmed();
    assert!(member.is_granted());
    assert_eq!(member.deadline(), Some(term.confirmed(s(10), 30_000)));
    assert_eq!(member.renew_at, Some(s(20)));
    member.confirmed(term, s(9), 30_000, Some(s(19)));
    assert_eq!(member.deadline(), Some(term.confirmed(s(10), 30_000)));
    assert!(member.is_confirmed_since(s(9)) && !member.is_confirmed_since(s(10)));
    member.confirmed(term, s(15), 30_000, None);
    assert_eq!(member.deadline(), Some(term.confirmed(s(15), 30_000)));
    assert!(member.is_confirmed_since(s(10)) && !member.is_confirmed_since(s(15)));
    assert_eq!(member.renew_at, None);
    assert!(!MemberState::default().is_confirmed_since(s(0)));
}

/// It leaves 5 s after it was made.
#[test]
fn lease_that_is_written_again_late_keeps_its_end_unless_it_is_renewed() {
    for (lease, moves) in [(Lease::Fixed(Duration::from_secs(30)), false), (Lease::Watchdog, true)]
    {
        let (term, mut member) = (term(lease), confirmed());
        let end = member.deadline().expect("it was confirmed");
        let again = term.with_left(end.saturating_since(s(20)));
        member.confirmed(term, s(25), again.ms(), None);
        member.keeps_end(term, end);
        assert_eq!(member.deadline() > Some(end), moves, "{lease:?}");
    }
}

#[test]
fn grant_of_another_run_ends_what_the_one_before_it_confirmed() {
    for (granted_in, stays) in [(run('a'), true), (run('b'), false), (None, false)] {
        let mut member = confirmed();
        member.granted(1, 2, granted_in);
        assert_eq!(member.is_granted(), stays, "{granted_in:?}");
        assert!(member.is_same_process(granted_in));
        assert_eq!(member.is_same_process(run('a')), stays, "{granted_in:?}");
    }
}

#[test]
fn process_that_tells_another_name_is_another_one() {
    for (granted_in, runs_now, is_another) in [
        (run('a'), run('a'), false),
        (run('a'), run('b'), true),
        // Unknown.
        (run('a'), None, false),
        (None, run('b'), false),
        (None, None, false),
    ] {
        let mut member = MemberState::default();
        member.granted(1, 1, granted_in);
        assert_eq!(member.is_another_process(runs_now), is_another, "{granted_in:?} {runs_now:?}");
    }
}

#[test]
fn member_that_is_gone_confirms_nothing_until_it_does_again() {
    for absence in [Gone, Taken, Restarted] {
        let mut member = confirmed();
        assert_eq!((member.lost_at(), member.absence()), (None, Gone));
        member.gone(absence, s(11), s(12), Some(s(13)));
        assert_eq!((member.deadline(), member.renew_at), (None, None));
        assert_eq!((member.lost_at(), member.heal_at), (Some(s(12)), Some(s(13))));
        assert_eq!(member.absence(), absence);
        member.confirmed(term(Lease::Watchdog), s(14), 30_000, Some(s(24)));
        assert!(member.is_granted());
        assert_eq!((member.lost_at(), member.heal_at, member.absence()), (None, None, Gone));
    }
}

#[test]
fn lease_that_is_owed_is_asked_for_until_it_is_confirmed() {
    let fixed = term(Lease::Fixed(Duration::from_secs(20)));
    let mut member = MemberState::default();
    assert_eq!(member.wanted_ms(fixed), 0);
    assert_eq!(member.wanted_ms(term(Lease::Watchdog)), 30_000);
    // Nothing stands there yet that could be renewed.
    member.owe(10_000, s(9));
    assert_eq!(member.renew_at, None);
    member.confirmed(fixed, s(10), 9_999, Some(s(15)));
    assert_eq!((member.renew_at, member.wanted_ms(fixed)), (Some(s(10)), 10_000));
    member.confirmed(fixed, s(11), 10_000, Some(s(15)));
    assert_eq!((member.renew_at, member.wanted_ms(fixed)), (Some(s(15)), 0));
    member.owe(10_000, s(12));
    member.owe(5_000, s(13));
    assert_eq!((member.renew_at, member.wanted_ms(fixed)), (Some(s(13)), 10_000));
    assert_eq!(member.wanted_ms(term(Lease::Watchdog)), 30_000);
}
