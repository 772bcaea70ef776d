//! What is known of one call in each of its states.

use std::{sync::Arc, task::Waker};

use redis::Value;

use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    metering::CallSize,
    reach::Sample,
    socket::{
        acquire_source::{AcquireSource, SendReason},
        priority::Priority,
        request::{Form, Request},
    },
    wire::Outcome,
};

/// Stands for a call until its caller has learnt how it ended.
pub(in crate::socket) type CallId = usize;

/// A call in the table.
pub(super) enum CallState {
    /// The driver has not taken it yet.
    Queued { call: QueuedCall, waiter: CallWaiter },
    /// It has, and the answer is not there; or the `first` of two is.
    Sent { sent: Instant, first: Option<Value>, waiter: CallWaiter },
    /// The same of an acquire, which may have to wait again. `number`: that of the call that it shares.
    SentAcquire { sent: Instant, number: u64, acquire: QueuedAcquire, waiter: CallWaiter },
    /// It is not waited for, and the driver has not come to it since.
    GivenUp,
    /// Its caller has not learnt it yet.
    Ended(CallEnd),
}

/// What enters, and waits to be sent.
pub(in crate::socket) enum QueuedCall {
    /// After its deadline the answer is not waited for, and it is not sent.
    Command {
        request: Request,
        deadline: Instant,
    },
    Acquire(QueuedAcquire),
}

/// An acquire, kept as what it says: it is made bytes together with others.
pub(in crate::socket) struct QueuedAcquire {
    pub(super) source: Arc<dyn AcquireSource>,
    pub(super) unsent_until: Option<Instant>,
    pub(super) reason: SendReason,
    /// The stamp that it was noted with, if the driver has taken it, be it in vain.
    pub(super) stamp: Option<i64>,
    /// Whether ASKING is said before its call.
    pub(super) is_asking: bool,
    /// So many that callers wait for are to leave first; 0 if it passes them in its turn.
    pub(super) behind: u64,
    /// Of those that wait, only the ones with the same number share a call. 0 if it may be any.
    pub(super) part: u64,
}

/// What the server reads as one call, and has not answered yet.
pub(super) struct SentCall {
    pub(super) sent: Instant,
    /// So many bytes were taken before its first.
    pub(super) start: u64,
    pub(super) what: SentPart,
    /// Whether the answer tells of many.
    pub(super) is_list: bool,
    /// Whether it was waited for too long.
    pub(super) is_late: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum SentPart {
    /// One answer is missing.
    Call(CallId),
    /// Two are.
    Pair(CallId),
    /// So many of those that are sent.
    Acquires(usize),
    /// ASKING, whose answer is not waited for.
    Asking,
}

/// What waits for the end of a call.
pub(in crate::socket) struct CallWaiter {
    pub(in crate::socket) waker: Waker,
    /// When it is to be woken, whatever has become of it; `None` if it has a timer of its own.
    pub(in crate::socket) wake_at: Option<Instant>,
    /// What waits, and for what besides.
    pub(in crate::socket) priority: Priority,
}

/// What has become of a call.
#[derive(Debug)]
pub(in crate::socket) enum CallEnd {
    /// The server answered. An error of the server is an answer, too. Where there are two, `first` came
    /// before the other.
    Answered { first: Option<Value>, value: Value, sent: Instant },
    /// The server answered, about one lock of a call.
    Acquired(AcquireAnswer),
    /// It was not wanted any more when its turn had come. It was not sent.
    Unwanted,
    /// It was not answered, and it is unknown whether it was executed.
    Unknown(NodeError),
    /// None of it has left this machine, and none ever will.
    NotSent(NodeError),
    /// Its caller waited long enough.
    GivenUp(GivenUp),
}

/// What a server said of an acquire, and when.
#[derive(Debug)]
pub(crate) struct AcquireAnswer {
    pub(crate) outcome: Result<Outcome, NodeError>,
    /// The stamp that it was noted with.
    pub(crate) not_after: i64,
    /// Before the first byte of its call left, when the answer came, and the server's clock in µs; that is before
    /// all others if it was not told.
    pub(crate) times: Sample,
    /// How many shared its call, if it is the one to tell.
    pub(crate) call_size: CallSize,
}

/// How a call was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) struct GivenUp {
    /// Before it has left this machine, and then it never will; or after that, and it may have been executed.
    pub(in crate::socket) phase: Phase,
    /// Whether it says something of the server that its caller waited for too long: once for a call of the
    /// server's, however many locks were in it or waited for it.
    pub(in crate::socket) counts: bool,
}

impl CallState {
    /// What waits for it, if its end is not known.
    pub(super) fn waiter(&mut self) -> Option<&mut CallWaiter> {
        match self {
            Self::Queued { waiter, .. }
            | Self::Sent { waiter, .. }
            | Self::SentAcquire { waiter, .. } => Some(waiter),
            Self::GivenUp | Self::Ended(_) => None,
        }
    }

    /// If it is one, and its end is not known.
    pub(super) fn acquire(&mut self) -> Option<&mut QueuedAcquire> {
        match self {
            Self::Queued { call: QueuedCall::Acquire(acquire), .. }
            | Self::SentAcquire { acquire, .. } => Some(acquire),
            _ => None,
        }
    }
}

impl QueuedCall {
    /// `unsent_until`: when it is not worth sending any more. `is_asking`: whether ASKING is said before it.
    pub(in crate::socket) fn acquire(
        source: Arc<dyn AcquireSource>,
        unsent_until: Option<Instant>,
        is_asking: bool,
    ) -> Self {
        let reason = SendReason::First;
        Self::Acquire(QueuedAcquire {
            source,
            unsent_until,
            reason,
            stamp: None,
            is_asking,
            behind: 0,
            part: 0,
        })
    }
}

impl QueuedAcquire {
    pub(super) fn form(&self) -> Form {
        if self.reason == SendReason::WithText { Form::Text } else { Form::Digest }
    }

    /// What was noted was not executed, and never will be.
    pub(super) fn was_not_sent(&mut self) {
        if let Some(stamp) = self.stamp.take() {
            self.source.was_not_sent(stamp);
        }
    }
}

impl CallWaiter {
    /// A caller that has time, and a timer of its own.
    #[cfg(test)]
    pub(in crate::socket) fn of(waker: &Waker) -> Self {
        Self { waker: waker.clone(), wake_at: None, priority: Priority::default() }
    }
}

impl CallEnd {
    /// What is told of a call that waited too long to be sent.
    pub(super) const fn late(counts: bool) -> Self {
        Self::GivenUp(GivenUp { phase: Phase::Sending, counts })
    }

    /// Whether it was not sent, and never will be; or was sent and not executed.
    pub(super) const fn was_not_executed(&self) -> bool {
        matches!(
            self,
            Self::Unwanted
                | Self::NotSent(_)
                | Self::GivenUp(GivenUp { phase: Phase::Sending, .. })
        )
    }
}
