//! Very many acquires at once, on a server that is there and on one that is not.

use std::{
    sync::{Arc, atomic::Ordering},
    task::{Context, Waker},
    time::Duration,
};

use futures::future::join_all;
use redis::parse_redis_value;

use super::asking::{Desk, Wish};
use crate::{
    clock::{Clock, TokioClock},
    error::Phase,
    reach::{
        NodeSettings,
        test_settings::{later, settings},
    },
    socket::{
        call_future::send_and_wait,
        call_table::{CallEnd, CallWaiter, GivenUp, QueuedCall, Woken},
        outbox::Outbox,
        priority::{CallTimeouts, Priority},
        request::Request,
    },
};

const NODE_TIME: Duration = Duration::from_millis(100);

fn desk() -> (Desk, Arc<TokioClock>) {
    let clock = Arc::new(TokioClock::new());
    let settings = NodeSettings { clock: clock.clone(), node_timeout: NODE_TIME, ..settings() };
    (Desk::with(&settings, Duration::ZERO), clock)
}

async fn ask(outbox: &Outbox, clock: &TokioClock, number: i64, is_alone: bool) -> CallEnd {
    let since = clock.now();
    let unsent_until = (!is_alone).then(|| since + NODE_TIME);
    let source = Wish::of(&format!("lock {number}"), number);
    let patience = CallTimeouts { since, for_the_server: NODE_TIME, unsent_until };
    send_and_wait(
        outbox,
        Priority::default(),
        QueuedCall::acquire(source, unsent_until, false),
        since + NODE_TIME,
        Some(patience),
    )
    .await
}

/// Takes and answers all that leaves, each time after a while.
async fn serve(outbox: &Outbox) {
    let done = || parse_redis_value(b":1700000000000000\r\n").unwrap();
    loop {
        let mut bytes = Vec::new();
        outbox.pack(&mut bytes, usize::MAX, Some(std::task::Waker::noop()));
        let calls = bytes.windows(9).filter(|bytes| *bytes == b"\nEVALSHA\r").count();
        tokio::time::sleep(Duration::from_millis(1)).await;
        if calls > 0 {
            outbox.heard();
            let mut answers = std::iter::repeat_with(done).take(calls).collect();
            assert!(outbox.answered(&mut answers, usize::MAX, &mut Woken::default()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_thousand_on_a_live_server_are_all_served_however_long_it_takes() {
    let (desk, clock) = desk();
    let outbox = &desk.outbox;
    let began = clock.now();
    let crowd = join_all((0..50_000).map(|number| ask(outbox, &clock, number, true)));
    let fates = tokio::select! {
        fates = crowd => fates,
        () = serve(outbox) => unreachable!(),
    };
    assert!(fates.iter().all(|end| matches!(end, CallEnd::Acquired(_))));
    assert!(clock.now().saturating_since(began) > NODE_TIME * 3, "none was told before its time");
}

#[tokio::test(start_paused = true)]
async fn a_member_of_several_is_not_waited_for_behind_a_crowd() {
    let (desk, clock) = desk();
    let outbox = &desk.outbox;
    let crowd = join_all((0..50_000).map(|number| ask(outbox, &clock, number, true)));
    let member = async {
        let end = ask(outbox, &clock, -1, false).await;
        (end, clock.now())
    };
    let began = clock.now();
    let (end, at) = tokio::select! {
        biased;
        _all = crowd => unreachable!(),
        told = member => told,
        () = serve(outbox) => unreachable!(),
    };
    assert!(
        matches!(end, CallEnd::GivenUp(GivenUp { phase: Phase::Sending, counts: false })),
        "{end:?}"
    );
    assert!(at.saturating_since(began) <= NODE_TIME + Duration::from_millis(2));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_server_holds_nobody_and_its_silence_counts_once_for_each_call() {
    let (desk, clock) = desk();
    let outbox = &desk.outbox;
    let began = clock.now();
    let crowd = join_all((0..1_000).map(|number| ask(outbox, &clock, number, true)));
    let deaf = async {
        tokio::task::yield_now().await;
        let mut bytes = Vec::new();
        let cx = Context::from_waker(std::task::Waker::noop());
        let mut next = outbox.pack(&mut bytes, usize::MAX, Some(cx.waker())).next_wake;
        while let Some(at) = next {
            clock.sleep_until(at).await;
            next = outbox.wake_overdue();
        }
        std::future::pending::<()>().await;
    };
    let fates = tokio::select! {
        fates = crowd => fates,
        () = deaf => unreachable!(),
        () = tokio::time::sleep(NODE_TIME * 10) => panic!("somebody is held"),
    };
    assert!(clock.now().saturating_since(began) <= NODE_TIME + Duration::from_millis(2));
    let phases = |wanted| {
        fates
            .iter()
            .filter(
                |end| matches!(end, CallEnd::GivenUp(GivenUp { phase, .. }) if *phase == wanted),
            )
            .count()
    };
    assert_eq!((phases(Phase::Answering), phases(Phase::Sending)), (64, 936));
    let counted =
        fates.iter().filter(|end| matches!(end, CallEnd::GivenUp(GivenUp { counts: true, .. })));
    assert_eq!(counted.count(), 2, "as many as there were calls");
}

/// A caller that is late is woken late by no more than what all take to be looked at, however often one is
/// late.
#[test]
fn crowd_whose_time_is_over_one_by_one_is_looked_at_by_and_by() {
    let outbox = Outbox::new(&settings());
    let (start, us) = (outbox.clocks.now(), Duration::from_micros);
    for number in 0..10_000 {
        let wake_at = Some(start + us(number));
        let request = Request::one(&redis::cmd("PING"));
        let sleeper = CallWaiter { wake_at, ..CallWaiter::of(Waker::noop()) };
        outbox.enter(QueuedCall::Command { request, deadline: later() }, sleeper).unwrap();
    }
    let (mut times, mut woken, mut now) = (0, 0, start);
    loop {
        let (overdue, next) = outbox.table().overdue(now);
        woken += overdue.len();
        times += 1;
        let Some(next) = next else { break };
        now = next;
    }
    assert_eq!((woken, times), (10_000, 6));
}

/// If all went on at once, the server would wait for the last of them.
#[test]
fn answers_are_handed_over_until_some_callers_go_on_or_a_quarter_of_all() {
    use Priority::{Fanout, Single};
    for (callers, priority, all, who_go_on) in [
        (20, Single, 16, 16),
        (400, Single, 100, 100),
        (2_000, Single, 256, 256),
        (200, Fanout, 200, 0),
        (2_000, Fanout, 256, 0),
    ] {
        let outbox = Outbox::new(&settings());
        for _ in 0..callers {
            let request = Request::one(&redis::cmd("PING"));
            let caller = CallWaiter { priority, ..CallWaiter::of(Waker::noop()) };
            outbox.enter(QueuedCall::Command { request, deadline: later() }, caller).unwrap();
        }
        outbox.pack(&mut Vec::new(), usize::MAX, None);
        let mut answers = std::iter::repeat_n(redis::Value::Okay, callers).collect();
        let mut woken = Woken::default();
        assert!(outbox.answered(&mut answers, 16, &mut woken));
        assert_eq!((woken.all, woken.who_go_on), (all, who_go_on), "{priority:?}");
    }
}

/// Each of a call for itself: its first may have been given up.
#[test]
fn callers_of_one_call_are_counted_one_by_one() {
    for (priority, all, who_go_on) in [(Priority::Single, 19, 19), (Priority::Fanout, 19, 0)] {
        let mut desk = Desk::new();
        let tickets = desk.enter_crowd(20, priority);
        assert_eq!(desk.written().len(), 1);
        desk.outbox.give_up(tickets[0]);
        let mut answers = [parse_redis_value(b":1700000000000000\r\n").unwrap()].into();
        let mut woken = Woken::default();
        assert!(desk.outbox.answered(&mut answers, 16, &mut woken));
        assert_eq!((woken.all, woken.who_go_on), (all, who_go_on), "{priority:?}");
    }
}

/// However short the shortest round trip was: theirs takes as long as all that is before them.
#[test]
fn more_full_calls_of_acquires_go_behind_very_many_others() {
    for (others, calls) in [(0, 2), (190, 2), (320, 5), (10_000, 6)] {
        let outbox = Outbox::new(&settings());
        let enter = |departure| outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap();
        for _ in 0..others {
            let request = Request::one(&redis::cmd("PING"));
            enter(QueuedCall::Command { request, deadline: later() });
        }
        for number in 0..200 {
            let source = Wish::of(&format!("lock {number}"), number);
            enter(QueuedCall::acquire(source, None, false));
        }
        let mut to = Vec::new();
        outbox.pack(&mut to, usize::MAX, None);
        let packed = String::from_utf8(to).unwrap();
        assert_eq!(packed.matches("EVALSHA").count(), calls, "{others}");
    }
}

/// Where there is room for two calls at a time: the first letters of those that leave each time, three of
/// callers before an acquire and three behind it.
fn leave_where_there_is_no_room(keeps_order: bool) -> Vec<String> {
    let outbox = Outbox::new(&settings());
    let enter = |departure| outbox.enter(departure, CallWaiter::of(Waker::noop())).unwrap();
    let pings = || {
        for _ in 0..3 {
            let request = Request::one(&redis::cmd("PING"));
            enter(QueuedCall::Command { request, deadline: later() });
        }
    };
    pings();
    let source = Wish::of("x", 1);
    source.keeps_order.store(keeps_order, Ordering::SeqCst);
    enter(QueuedCall::acquire(source, None, false));
    pings();
    let pack = || {
        let mut to = Vec::new();
        outbox.pack(&mut to, 20, None);
        let packed = String::from_utf8(to).unwrap();
        packed
            .split('\n')
            .filter(|word| word.starts_with(['P', 'E']))
            .map(|word| &word[..1])
            .collect()
    };
    (0..4).map(|_| pack()).collect()
}

/// However many calls enter faster than they leave.
#[test]
fn acquires_leave_in_turns_with_other_calls_where_there_is_no_room() {
    assert_eq!(leave_where_there_is_no_room(false), ["PE", "PP", "PP", "P"]);
}

#[test]
fn acquire_of_one_who_stood_in_line_leaves_behind_what_entered_before_it() {
    assert_eq!(leave_where_there_is_no_room(true), ["PP", "PP", "E", "PP"]);
}
