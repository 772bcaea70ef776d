//! How the driver takes turns with the callers that it wakes: the answers of a crowd come at once
//! here.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures::FutureExt;
use redis::cmd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::{
    reach::{
        Size, Spin,
        test_settings::{later, settings},
    },
    socket::{
        call_table::{CallEnd, CallId, CallWaiter, QueuedCall},
        driver::Driver,
        outbox::Outbox,
        request::Request,
    },
};

/// Counts how often it was woken.
#[derive(Default)]
pub(super) struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    pub(super) fn times(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

struct Desk {
    outbox: Arc<Outbox>,
    driver: Option<Driver>,
    server: DuplexStream,
    /// Woken for the driver, and for callers.
    driving: Arc<Woken>,
    calling: Arc<Woken>,
}

impl Desk {
    fn new() -> Self {
        let outbox = Outbox::new(&settings());
        let (ours, server) = tokio::io::duplex(1 << 20);
        let driver = Some(Driver::new(Box::new(ours), outbox.clone(), Spin::Never));
        Self { outbox, driver, server, driving: Arc::default(), calling: Arc::default() }
    }

    fn call(&self) -> CallId {
        self.enter(Request::one(&cmd("PING")))
    }

    fn enter(&self, request: Request) -> CallId {
        let departure = QueuedCall::Command { request, deadline: later() };
        self.outbox.enter(departure, CallWaiter::of(&self.calling.clone().into())).unwrap()
    }

    fn drive(&mut self) -> Poll<()> {
        let waker = self.driving.clone().into();
        let driver = self.driver.as_mut().expect("it was not dropped");
        Pin::new(driver).poll(&mut Context::from_waker(&waker))
    }

    /// How many calls the server reads now.
    fn reads(&mut self) -> usize {
        let mut bytes = vec![0; 1 << 16];
        let read = self.server.read(&mut bytes).now_or_never().map_or(0, Result::unwrap);
        bytes[..read].windows(4).filter(|word| word == b"PING").count()
    }

    fn answers(&mut self, times: usize, bytes: usize) {
        let answer = format!("+{}\r\n", "x".repeat(bytes)).repeat(times);
        self.server.write_all(answer.as_bytes()).now_or_never().unwrap().unwrap();
    }

    fn is_answered(&self, ticket: CallId) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.outbox.poll_end(ticket, &mut context), Poll::Ready(CallEnd::Answered { .. }))
    }
}

/// All answers of a crowd come in one read, or in several.
const SHORT: usize = 4;
const LONG: usize = 200;

/// Forty calls that were all answered at once.
fn crowd(bytes: usize) -> (Desk, Vec<CallId>) {
    let mut desk = Desk::new();
    let tickets = (0..40).map(|_| desk.call()).collect();
    assert!(desk.drive().is_pending());
    assert_eq!(desk.reads(), 40);
    desk.answers(40, bytes);
    (desk, tickets)
}

#[tokio::test]
async fn calls_of_those_who_were_woken_leave_before_others_are_woken() {
    let (mut desk, _tickets) = crowd(SHORT);
    let mut calls = Vec::new();
    for woken in [16, 32, 40] {
        let driven = desk.driving.times();
        assert!(desk.drive().is_pending());
        assert_eq!(desk.calling.times(), woken);
        assert_eq!(desk.driving.times(), driven + 1, "it comes again by itself");
        assert_eq!(desk.reads(), calls.len());
        calls = (0..16).map(|_| desk.call()).collect();
        assert_eq!(desk.driving.times(), driven + 1, "and is not woken by those before it");
    }
    assert!(desk.drive().is_pending());
    assert_eq!(desk.reads(), 16);
    let driven = desk.driving.times();
    desk.call();
    assert_eq!(desk.driving.times(), driven + 1, "it sleeps, and is woken by a call");
}

#[tokio::test]
async fn one_who_is_woken_wakes_the_driver_at_once() {
    let mut desk = Desk::new();
    desk.call();
    assert!(desk.drive().is_pending());
    desk.answers(1, SHORT);
    let driven = desk.driving.times();
    assert!(desk.drive().is_pending());
    assert_eq!((desk.calling.times(), desk.driving.times()), (1, driven));
    desk.call();
    assert_eq!(desk.driving.times(), driven + 1);
}

/// What was answered must not be called unknown.
#[tokio::test]
async fn answers_that_were_read_are_handed_over_though_the_driver_ends() {
    let (mut desk, tickets) = crowd(SHORT);
    assert!(desk.drive().is_pending());
    assert_eq!(desk.calling.times(), 16);
    desk.driver = None;
    assert!(tickets.into_iter().all(|ticket| desk.is_answered(ticket)));
}

#[tokio::test]
async fn last_words_of_a_server_that_hangs_up_are_handed_over_whole() {
    let (mut desk, tickets) = crowd(LONG);
    assert!(desk.drive().is_pending());
    // Written, and never read.
    desk.call();
    let unread = std::mem::replace(&mut desk.server, tokio::io::duplex(1).0);
    drop(unread);
    assert!(desk.drive().is_ready());
    desk.driver = None;
    assert!(tickets.into_iter().all(|ticket| desk.is_answered(ticket)));
}

/// A call that is answered by a list has room for one; that before it has none, though one follows.
#[tokio::test]
async fn answer_may_be_as_large_as_what_was_asked_and_no_larger() {
    let large = Size::FEW.bytes as usize;
    for (long, is_taken) in [(&[1][..], true), (&[0, 1], false)] {
        let mut desk = Desk::new();
        let list = Request { is_list: true, ..Request::one(&cmd("PING")) };
        let tickets = [desk.call(), desk.enter(list), desk.call()];
        assert!(desk.drive().is_pending());
        for at in 0..tickets.len() {
            desk.answers(1, if long.contains(&at) { large } else { SHORT });
        }
        assert_eq!(desk.drive().is_pending(), is_taken);
        desk.driver = None;
        assert_eq!(tickets.map(|ticket| desk.is_answered(ticket)), [is_taken; 3]);
    }
}
