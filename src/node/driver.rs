//! Reads and writes one socket, on the runtime that it was made on.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures::future::BoxFuture;
use redis::{RedisError, Value, ValueCodec};
use tokio::io::AsyncWrite;
use tokio_util::{bytes::BytesMut, codec::Decoder, io::poll_read_buf};

use super::{Stream, cause, integers::take_integers, outbox::Outbox};
use crate::{clock::Instant, error::NodeError};

/// Writes what is in the outbox and hands the answers back, until the stream ends or this is dropped.
///
/// What was put in by then leaves in one write: callers that run in turns on one thread share it.
pub(super) struct Driver {
    stream: Box<dyn Stream>,
    outbox: Arc<Outbox>,
    input: BytesMut,
    codec: ValueCodec,
    /// Whether the codec has read the beginning of an answer.
    is_within: bool,
    /// Read and not handed over; kept for its room.
    answers: Vec<Value>,
    /// Packed, and taken by the stream up to `written`.
    output: Vec<u8>,
    written: usize,
    needs_flush: bool,
    /// How many bytes the stream took in all.
    taken: u64,
    /// Rings when somebody who waits is to be woken.
    alarm: Option<(Instant, BoxFuture<'static, ()>)>,
    /// What came was no answer.
    nonsense: Option<NodeError>,
    /// Why the stream ended.
    cause: Option<NodeError>,
}

impl Driver {
    pub(super) fn new(stream: Box<dyn Stream>, outbox: Arc<Outbox>) -> Self {
        Self {
            stream,
            outbox,
            input: BytesMut::new(),
            codec: ValueCodec::default(),
            is_within: false,
            answers: Vec::new(),
            output: Vec::new(),
            written: 0,
            needs_flush: false,
            taken: 0,
            alarm: None,
            nonsense: None,
            cause: None,
        }
    }

    /// Reads all that there is. Ready when nothing more will come.
    fn poll_answers(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            self.input.reserve(INPUT);
            match ready!(poll_read_buf(Pin::new(&mut self.stream), cx, &mut self.input)) {
                Ok(0) => self.cause = Some(disconnected(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => self.outbox.heard(),
                Err(error) => self.cause = Some(disconnected(error)),
            }
            if self.cause.is_some() || !self.hand_over_answers() {
                return Poll::Ready(());
            }
        }
    }

    /// Hands over what was read. False if that is no answer.
    fn hand_over_answers(&mut self) -> bool {
        let mut answers = std::mem::take(&mut self.answers);
        answers.extend(std::iter::from_fn(|| self.next_answer()));
        let is_asked = self.outbox.answered(answers.drain(..));
        self.answers = answers;
        is_asked && self.nonsense.is_none()
    }

    fn next_answer(&mut self) -> Option<Value> {
        if self.input.is_empty() {
            return None;
        }
        // What most answers are needs no parser.
        if !self.is_within
            && let Some(answer) = take_integers(&mut self.input)
        {
            return Some(answer);
        }
        let answer = self.codec.decode(&mut self.input).unwrap_or_else(|error| {
            self.nonsense = Some(cause::of_redis(error));
            None
        });
        self.is_within = answer.is_none();
        answer
    }

    /// Writes all that there is. Ready if the stream takes nothing any more.
    fn poll_calls(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if self.written == self.output.len() {
                self.output.clear();
                self.written = 0;
            }
            let next_wake = self.outbox.pack(&mut self.output, OUTPUT, cx);
            self.poll_alarm(next_wake, cx);
            let rest = self.output.get(self.written..).unwrap_or_default();
            let stream = Pin::new(&mut self.stream);
            let failed = if !rest.is_empty() {
                match ready!(stream.poll_write(cx, rest)) {
                    Ok(0) => Some(io::ErrorKind::WriteZero.into()),
                    Ok(bytes) => {
                        self.written += bytes;
                        self.taken += bytes as u64;
                        self.needs_flush = true;
                        None
                    }
                    Err(error) => Some(error),
                }
            } else if self.needs_flush {
                let flushed = ready!(stream.poll_flush(cx));
                self.needs_flush = false;
                flushed.err()
            } else {
                return Poll::Pending;
            };
            if let Some(error) = failed {
                self.cause = Some(disconnected(error));
                return Poll::Ready(());
            }
        }
    }
}

impl Driver {
    /// Wakes those whose time is over. One timer serves all: what is answered in time, as nearly
    /// everything is, costs none.
    fn poll_alarm(&mut self, mut next: Option<Instant>, cx: &mut Context<'_>) {
        while let Some(at) = next {
            let is_early_enough = |alarm: &(Instant, _)| alarm.0 <= at;
            if !self.alarm.as_ref().is_some_and(is_early_enough) {
                self.alarm = Some((at, self.outbox.clock().sleep_until(at)));
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

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // Answers first: whoever is woken by one may have another call to write.
        if self.poll_answers(cx).is_ready() {
            return Poll::Ready(());
        }
        if self.poll_calls(cx).is_ready() {
            // The server may have said why it hung up.
            let _the_last_words = self.poll_answers(cx);
            return Poll::Ready(());
        }
        Poll::Pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let gone = || disconnected(io::ErrorKind::ConnectionAborted.into());
        let cause = self.cause.take().unwrap_or_else(gone);
        self.outbox.broken(self.taken, self.nonsense.take(), &cause);
    }
}

fn disconnected(error: io::Error) -> NodeError {
    NodeError::Disconnected { source: Arc::new(RedisError::from(error)) }
}

/// Room for the next read, in bytes.
const INPUT: usize = 4 * 1024;

/// No more is packed while so much is to be written, in bytes: what waits can still be withdrawn.
const OUTPUT: usize = 64 * 1024;
