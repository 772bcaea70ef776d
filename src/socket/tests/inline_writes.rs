//! Callers that write to an idle socket themselves, without the driver's task.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures::FutureExt;
use redis::cmd;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf};

use super::driver::Woken;
use crate::{
    reach::{
        Spin, Stream,
        test_settings::{later, settings},
    },
    socket::{
        call_table::{CallEnd, CallId, CallWaiter, QueuedCall},
        driver_task::DriverTask,
        outbox::Outbox,
        priority::Priority,
        request::Request,
    },
};

struct Desk {
    outbox: Arc<Outbox>,
    task: Option<DriverTask>,
    /// Counts how often the driver's task was woken.
    woken: Arc<Woken>,
}

impl Desk {
    /// Its driver sleeps.
    fn new(stream: impl Stream, spin: Spin) -> Self {
        Self::of(Outbox::new(&settings()), stream, spin)
    }

    fn of(outbox: Arc<Outbox>, stream: impl Stream, spin: Spin) -> Self {
        let task = Some(DriverTask::new(Box::new(stream), outbox.clone(), spin));
        let mut desk = Self { outbox, task, woken: Arc::default() };
        assert!(desk.drive().is_pending());
        desk
    }

    fn drive(&mut self) -> Poll<()> {
        let waker = self.woken.clone().into();
        let task = self.task.as_mut().expect("it was not dropped");
        Pin::new(task).poll(&mut Context::from_waker(&waker))
    }

    /// By one whose time the driver looks after, unless it is on another runtime.
    fn call(&self, priority: Priority, is_here: bool) -> CallId {
        let departure =
            QueuedCall::Command { request: Request::one(&cmd("PING")), deadline: later() };
        let wake_at = is_here.then(later);
        let caller = CallWaiter { priority, wake_at, ..CallWaiter::of(Waker::noop()) };
        self.outbox.enter(departure, caller).unwrap()
    }

    fn times_woken(&self) -> usize {
        self.woken.times()
    }

    fn fate(&self, ticket: CallId) -> Poll<CallEnd> {
        self.outbox.poll_end(ticket, &mut Context::from_waker(Waker::noop()))
    }
}

const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";

/// What has come by now.
fn read(server: &mut DuplexStream) -> Vec<u8> {
    let mut bytes = vec![0; 1 << 10];
    let read = server.read(&mut bytes).now_or_never().map_or(0, Result::unwrap);
    bytes.truncate(read);
    bytes
}

#[tokio::test]
async fn call_beside_others_is_written_where_the_socket_is_idle() {
    use Priority::{Fanout, FanoutOneServer, Normal, Single};
    for (priority, is_here, spin, is_written) in [
        (Fanout, true, Spin::Never, true),
        // The driver is to look for it.
        (Fanout, true, Spin::Always, false),
        (Fanout, false, Spin::Never, false),
        (FanoutOneServer, true, Spin::Never, false),
        (Single, true, Spin::Never, false),
        (Normal, true, Spin::Never, false),
    ] {
        let (ours, mut server) = tokio::io::duplex(1 << 10);
        let mut desk = Desk::new(ours, spin);
        let ticket = desk.call(priority, is_here);
        let seen = (desk.times_woken(), read(&mut server));
        let expected = if is_written { (0, PING.to_vec()) } else { (1, Vec::new()) };
        assert_eq!(seen, expected, "{priority:?}, {is_here}, {spin:?}");
        let _pending = desk.drive();
        server.write_all(b"+PONG\r\n").await.unwrap();
        assert!(desk.drive().is_pending());
        assert!(matches!(desk.fate(ticket), Poll::Ready(CallEnd::Answered { .. })));
    }
}

#[tokio::test]
async fn call_behind_another_is_left_to_the_driver() {
    let (ours, mut server) = tokio::io::duplex(1 << 10);
    let mut desk = Desk::new(ours, Spin::Never);
    for times_woken in [0, 1, 1] {
        desk.call(Priority::Fanout, true);
        assert_eq!(
            (desk.times_woken(), read(&mut server).len()),
            (times_woken, PING.len() * usize::from(times_woken == 0))
        );
    }
    assert!(desk.drive().is_pending());
    assert_eq!(read(&mut server), PING.repeat(2));
}

/// It shares the socket with its parent.
#[tokio::test]
async fn child_of_a_fork_writes_nothing() {
    let (ours, mut server) = tokio::io::duplex(1 << 10);
    let desk = Desk::of(Outbox::made_elsewhere(&settings()), ours, Spin::Never);
    desk.call(Priority::Fanout, true);
    assert_eq!((desk.times_woken(), read(&mut server)), (1, Vec::new()));
}

#[tokio::test]
async fn what_the_socket_has_no_room_for_is_written_by_the_driver() {
    let (ours, mut server) = tokio::io::duplex(5);
    let mut desk = Desk::new(ours, Spin::Never);
    desk.call(Priority::Fanout, true);
    let mut written = read(&mut server);
    assert_eq!(written, PING[..5]);
    for times_woken in 1..=2 {
        assert_eq!(desk.times_woken(), times_woken);
        assert!(desk.drive().is_pending());
        written.extend(read(&mut server));
    }
    assert_eq!(written, PING);
}

#[tokio::test]
async fn call_on_a_socket_that_has_ended_never_left() {
    let (ours, server) = tokio::io::duplex(1 << 10);
    let mut desk = Desk::new(ours, Spin::Never);
    drop(server);
    let woken = desk.times_woken();
    let ticket = desk.call(Priority::Fanout, true);
    assert_eq!(desk.times_woken(), woken + 1, "it is to end");
    assert!(desk.drive().is_ready());
    desk.task = None;
    assert!(matches!(desk.fate(ticket), Poll::Ready(CallEnd::NotSent(_))));
}

// proves: one-sender, three-answers
#[tokio::test]
async fn call_that_was_cut_in_the_middle_is_unknown() {
    let (ours, _server) = tokio::io::duplex(5);
    let mut desk = Desk::new(ours, Spin::Never);
    let ticket = desk.call(Priority::Fanout, true);
    desk.task = None;
    assert!(matches!(desk.fate(ticket), Poll::Ready(CallEnd::Unknown(_))));
}

/// A stream of a user's connector that panics when it is written to.
struct Panicking;

impl AsyncRead for Panicking {
    fn poll_read(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Panicking {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        panic!("a stream panics");
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn stream_that_panics_ends_the_connection_and_no_caller() {
    let mut desk = Desk::new(Panicking, Spin::Never);
    let ticket = desk.call(Priority::Fanout, true);
    assert_eq!(desk.times_woken(), 1);
    assert!(desk.drive().is_ready());
    desk.task = None;
    assert!(matches!(desk.fate(ticket), Poll::Ready(CallEnd::NotSent(_))));
}
