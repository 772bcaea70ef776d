//! Reads and writes one socket, on the runtime that it was made on.

use std::{
    collections::VecDeque,
    io,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use redis::Value;
use tokio::{io::AsyncWrite, sync::oneshot, task::yield_now};
use tokio_util::{bytes::BytesMut, io::poll_read_buf};

use super::{
    call_table::{OnlyCall, Packed, Woken},
    integers::take_integers,
    outbox::Outbox,
    priority::Priority,
    spinner::Spinner,
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::{Codec, Spin, Stream, cause},
};

/// Writes what is in the outbox and hands the answers back, until the stream ends or this is dropped.
///
/// What was put in by then leaves in one write: callers that run in turns on one thread share it.
///
/// Of many answers [some](AT_ONCE) are handed over at a time, and the next calls of their callers are written
/// before it goes on. If all were handed over at once, the server would stand idle until the last caller has
/// run, and then all callers until the server has answered. A caller that waits for other servers, too, does
/// not count: most of those have no next call yet.
pub(super) struct Driver {
    stream: Box<dyn Stream>,
    outbox: Arc<Outbox>,
    input: BytesMut,
    codec: Codec,
    /// Read and not handed over.
    answers: VecDeque<Value>,
    /// In this turn.
    woken: Woken,
    /// Packed, and taken by the stream up to `written`.
    output: Vec<u8>,
    written: usize,
    needs_flush: bool,
    /// As of the last time that calls were packed.
    only_call: Option<OnlyCall>,
    /// How many bytes the stream took in all.
    taken: u64,
    spinner: Spinner,
    /// Dropped once all is read that has come.
    lookers: Vec<oneshot::Sender<()>>,
    /// Rings when a caller that waits is to be woken.
    alarm: Option<(Instant, BoxFuture<'static, ()>)>,
    /// What came was no answer.
    nonsense: Option<NodeError>,
    /// Why the stream ended.
    cause: Option<NodeError>,
}

/// What the driver does once all is written.
#[derive(Clone, Copy)]
enum Then {
    /// It waits until an answer comes, or a call is put in.
    Sleeps,
    /// It is polled again anyway, so calls that are put in need not wake it.
    ComesAgain,
}

impl Driver {
    pub(super) fn new(stream: Box<dyn Stream>, outbox: Arc<Outbox>, spin: Spin) -> Self {
        Self {
            stream,
            outbox,
            input: BytesMut::new(),
            codec: Codec::default(),
            answers: VecDeque::new(),
            woken: Woken::default(),
            output: Vec::new(),
            written: 0,
            needs_flush: false,
            only_call: None,
            taken: 0,
            spinner: Spinner::new(spin),
            lookers: Vec::new(),
            alarm: None,
            nonsense: None,
            cause: None,
        }
    }

    /// Reads all that there is, until so many callers are woken that go on. Ready when nothing more
    /// will come.
    fn poll_answers(&mut self, cx: &mut Context<'_>, most: usize) -> Poll<()> {
        loop {
            if !self.hand_over_answers(most) {
                return Poll::Ready(());
            }
            if !self.answers.is_empty() {
                return Poll::Pending;
            }
            self.input.reserve(INPUT);
            let ended = match ready!(poll_read_buf(Pin::new(&mut self.stream), cx, &mut self.input))
            {
                Ok(0) => Some(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => None,
                Err(error) => Some(error),
            };
            if let Some(error) = ended {
                // Why nothing more could be written says more.
                self.cause.get_or_insert_with(|| disconnected(error));
                return Poll::Ready(());
            }
            self.take_in();
        }
    }

    /// Something was read.
    fn take_in(&mut self) {
        self.outbox.heard();
        let mut answers = std::mem::take(&mut self.answers);
        while let Some(answer) = self.next_answer(answers.len()) {
            answers.push_back(answer);
        }
        self.answers = answers;
    }

    /// Hands over what was read, until so many are woken. False if what comes next is no answer.
    fn hand_over_answers(&mut self, most: usize) -> bool {
        self.outbox.answered(&mut self.answers, most, &mut self.woken)
            && (!self.answers.is_empty() || self.nonsense.is_none())
    }

    /// Once nothing more can be written. The server may have said why it hung up.
    fn hear_last_words(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _either_way = self.poll_answers(cx, usize::MAX);
        Poll::Ready(())
    }

    /// The answer behind so many that were read and not handed over.
    fn next_answer(&mut self, behind: usize) -> Option<Value> {
        if self.input.is_empty() {
            return None;
        }
        // What most answers are needs no parser.
        if !self.codec.is_within()
            && let Some(answer) = take_integers(&mut self.input)
        {
            return Some(answer);
        }
        let most = || self.outbox.largest_answer(behind);
        self.codec.decode(&mut self.input, most).unwrap_or_else(|error| {
            self.nonsense = Some(cause::of_redis(error));
            None
        })
    }

    // keeps: one-sender
    /// Writes all that there is. Ready if the stream takes nothing any more.
    fn poll_calls(&mut self, cx: &mut Context<'_>, then: Then) -> Poll<()> {
        loop {
            let sleeper = matches!(then, Then::Sleeps).then(|| cx.waker());
            let Packed { next_wake, only_call, lookers, .. } =
                self.outbox.pack(&mut self.output, OUTPUT, sleeper);
            self.only_call = only_call;
            self.lookers.extend(lookers);
            self.poll_alarm(next_wake, cx);
            // What is put in from here on wakes the waiter.
            let is_all = self.output.len() < OUTPUT;
            if let Err(error) = ready!(self.poll_output(cx)) {
                self.cause = Some(disconnected(error));
                return Poll::Ready(());
            }
            if is_all {
                return Poll::Pending;
            }
        }
    }

    /// Writes all that there is in the turn of a caller that awaits the answer so. False if the task is to come: to
    /// look for that answer, or since the stream takes nothing any more.
    pub(super) fn write_inline(&mut self, priority: Priority, cx: &mut Context<'_>) -> bool {
        // Callers that wait for one server only gain nothing by it, and are better packed together.
        let is_one_of_several = priority == Priority::Fanout && !self.spinner.looks_for(priority);
        is_one_of_several && self.poll_calls(cx, Then::Sleeps).is_pending()
    }

    /// Writes what is packed.
    fn poll_output(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some(rest) = self.output.get(self.written..).filter(|rest| !rest.is_empty()) {
            let bytes = ready!(Pin::new(&mut self.stream).poll_write(cx, rest))?;
            if bytes == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.written += bytes;
            self.taken += bytes as u64;
            self.needs_flush = true;
        }
        self.output.clear();
        self.written = 0;
        if self.needs_flush {
            ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
            self.needs_flush = false;
        }
        Poll::Ready(Ok(()))
    }
}

impl Driver {
    /// Wakes the callers whose time is over. One timer serves all: what is answered in time, as
    /// nearly everything is, costs none.
    fn poll_alarm(&mut self, mut next: Option<Instant>, cx: &mut Context<'_>) {
        while let Some(at) = next {
            let is_early_enough = |alarm: &(Instant, _)| alarm.0 <= at;
            if !self.alarm.as_ref().is_some_and(is_early_enough) {
                self.alarm = Some((at, self.outbox.clocks.here().sleep_until(at)));
            }
            let Some((_, alarm)) = &mut self.alarm else { return };
            if alarm.as_mut().poll(cx).is_pending() {
                return;
            }
            self.alarm = None;
            next = self.outbox.wake_overdue();
            // A clock whose timers are early must not keep the thread.
            if next == Some(at) {
                cx.waker().wake_by_ref();
                return;
            }
        }
    }
}

impl Driver {
    /// Whether the answer to the only call that is under way is looked for.
    fn is_looking(&mut self) -> bool {
        let clocks = &self.outbox.clocks;
        self.only_call.is_some_and(|call| {
            self.spinner.looks_for(call.priority)
                && self.spinner.comes_again(call.sent, clocks.now(), clocks.round_trip())
        })
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // The callers that were woken last have calls to write by now: the server is to work on
        // them while the next ones are woken.
        if !self.answers.is_empty() && self.poll_calls(cx, Then::ComesAgain).is_ready() {
            return self.hear_last_words(cx);
        }
        self.woken = Woken::default();
        // Answers first: one to a call with acquires makes room for the next.
        if self.poll_answers(cx, AT_ONCE).is_ready() {
            return Poll::Ready(());
        }
        if self.answers.is_empty() {
            self.lookers.clear();
        }
        let is_crowd = self.woken.all > 1 || !self.answers.is_empty();
        let then = if is_crowd { Then::ComesAgain } else { Then::Sleeps };
        if self.poll_calls(cx, then).is_ready() {
            return self.hear_last_words(cx);
        }
        if is_crowd || !self.lookers.is_empty() {
            // Behind them in the runtime's queue. The first of them would wake this at once, and
            // each of their calls leave by itself.
            cx.waker().wake_by_ref();
        } else if self.is_looking() {
            let _not_yet = pin!(yield_now()).poll(cx);
        }
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.hand_over_answers(usize::MAX);
        let gone = || disconnected(io::ErrorKind::ConnectionAborted.into());
        let cause = self.cause.take().unwrap_or_else(gone);
        self.outbox.broken(self.taken, self.nonsense.take(), &cause);
    }
}

fn disconnected(error: io::Error) -> NodeError {
    cause::broken(&error)
}

/// At least so many callers are woken in a turn, if they are answered; a call of several locks may add some. With
/// fewer, writing costs more than working at the same time gains.
const AT_ONCE: usize = 16;

/// Room for the next read, in bytes.
const INPUT: usize = 4 * 1024;

/// No more is packed while so much is to be written, in bytes: what waits can still be withdrawn.
const OUTPUT: usize = 64 * 1024;
