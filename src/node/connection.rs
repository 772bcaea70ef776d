//! One live socket, and one call on it.
//!
//! # Invariants
//! - A request is written to the socket at most once. Only after NOSCRIPT, when nothing was
//!   executed, a second one follows.
//! - Found live, a connection promises nothing: the socket may be gone already.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use redis::{Value, cmd};
use tokio::sync::Notify;

use super::{
    NodeSettings,
    caller::{Always, Caller},
    cause,
    flight::{Hurry, Landing, fly},
    handshake::Greeting,
    outbox::{ConnectionEnd, Outbox},
    request::{AnyCall, Form, Question},
    server_clock::{Sample, ServerClock},
    silence::Silence,
    spin::Spinner,
};
use crate::{
    clock::{Instant, SharedClock},
    error::NodeError,
    standing::{Attendance, RunId, Standing},
    wire::{Call, Items},
};

/// One live socket. Usable from any runtime: its driver runs where it was made.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    socket: Arc<Socket>,
}

#[derive(Debug)]
struct Socket {
    epoch: u64,
    standing: Arc<Standing>,
    marker: Arc<str>,
    clock: SharedClock,
    server_clock: Mutex<ServerClock>,
    silence: Mutex<Silence>,
    /// Notified when a call has timed out: is anybody still there?
    doubt: Notify,
    node_timeout: Duration,
    spinner: Spinner,
    outbox: Arc<Outbox>,
}

/// A script's answer, and when it was asked for and given.
#[derive(Debug)]
pub(crate) struct Answer<R> {
    pub(crate) reply: R,
    /// Before the first byte of the request that was executed left.
    pub(crate) sent: Instant,
    pub(crate) received: Instant,
    /// The server's clock in µs while it ran the script.
    pub(crate) server_time: i64,
}

impl Connection {
    pub(super) fn new(
        outbox: Arc<Outbox>,
        greeting: &Greeting,
        standing: Arc<Standing>,
        settings: &NodeSettings,
    ) -> Self {
        static EPOCHS: AtomicU64 = AtomicU64::new(1);
        let socket = Socket {
            epoch: EPOCHS.fetch_add(1, Ordering::Relaxed),
            standing,
            marker: settings.marker.clone(),
            clock: settings.clock.clone(),
            server_clock: Mutex::new(ServerClock::new(greeting.time, settings.margin)),
            silence: Mutex::new(Silence::new(settings.frozen_after)),
            doubt: Notify::new(),
            node_timeout: settings.node_timeout,
            spinner: Spinner::new(settings.spin),
            outbox,
        };
        Self { socket: Arc::new(socket) }
    }

    /// The key of the marker that says whether the server may vote.
    pub(crate) fn marker(&self) -> &Arc<str> {
        &self.socket.marker
    }

    /// Sends `call` in its turn, and waits for the answer until `deadline`. If the server does not
    /// know the script, nothing was executed, and the call is sent once more with the script's text.
    ///
    /// # Errors
    /// An error of the server. [`NodeError::Unreachable`] if the socket broke, and
    /// [`NodeError::TimedOut`] in the phase of sending, if the call has not left this machine and
    /// never will. Otherwise [nobody knows](NodeError::is_unknown) whether it was executed. After
    /// `Unreachable` and [`NodeError::Disconnected`] the connection is not live.
    ///
    /// # Cancel safety
    /// If the future is dropped while the call waits for its turn, the call is never executed. After
    /// that it may or may not be.
    pub(crate) async fn call<C: Call>(
        &self,
        call: &C,
        deadline: Instant,
    ) -> Result<Answer<C::Reply>, NodeError> {
        let answer = self.call_for(&Always::default(), call, deadline).await;
        answer.unwrap_or_else(|| Err(NodeError::Closed))
    }

    /// The same for a caller that is asked whether it [wants](Caller::wants) the call at the moment
    /// at which the call gets its position in the order of the socket. `None` if it did not.
    ///
    /// # Errors
    /// As [`call`](Self::call). NOSCRIPT if the caller no longer wanted it with the script's text.
    ///
    /// # Cancel safety
    /// As [`call`](Self::call). If it was not sent, [`Caller::never_left`] is called.
    pub(crate) async fn call_for<C: Call, K: Caller>(
        &self,
        caller: &K,
        call: &C,
        deadline: Instant,
    ) -> Option<Result<Answer<C::Reply>, NodeError>> {
        let mut unknown = None;
        for form in [Form::Digest, Form::Text] {
            let answer = match self.fly(form, call, deadline, caller).await {
                Landing::Unwanted => break,
                Landing::Answered { value, sent } => self.read(call, value, sent),
                Landing::Failed(error) => {
                    if matches!(error, NodeError::TimedOut { .. }) {
                        self.note_timeout();
                    }
                    Err(error)
                }
            };
            match answer {
                Err(error) if error.is_noscript() && unknown.is_none() => unknown = Some(error),
                answer => return Some(answer),
            }
        }
        unknown.map(Err)
    }

    /// Sends a command by itself in its turn, and waits for the answer until `deadline`.
    pub(super) async fn ask(
        &self,
        question: Question,
        deadline: Instant,
    ) -> Result<Value, NodeError> {
        self.ask_as(&Always::default(), question, deadline).await
    }

    /// The same for a caller that may be in a hurry.
    pub(super) async fn ask_as(
        &self,
        caller: &Always,
        question: Question,
        deadline: Instant,
    ) -> Result<Value, NodeError> {
        let answer = self.ask_beside(caller, question, deadline).await;
        if matches!(answer, Err(NodeError::TimedOut { .. })) {
            self.note_timeout();
        }
        answer
    }

    /// The same beside another command, whose time-out counts for both.
    pub(super) async fn ask_beside(
        &self,
        caller: &Always,
        question: Question,
        deadline: Instant,
    ) -> Result<Value, NodeError> {
        match self.fly(Form::Digest, &question, deadline, caller).await {
            Landing::Unwanted => Err(NodeError::Closed),
            Landing::Answered { value, .. } => self.accept(value),
            Landing::Failed(error) => Err(error),
        }
    }

    async fn fly<C: AnyCall, K: Caller>(
        &self,
        form: Form,
        call: &C,
        deadline: Instant,
        caller: &K,
    ) -> Landing {
        let Socket { outbox, spinner, .. } = &*self.socket;
        let round_trip = || self.server_clock().round_trip();
        let spin = caller.is_awaited_alone().then(|| Hurry { spinner, round_trip: round_trip() });
        fly(outbox, spin, form, call, deadline, caller).await
    }

    /// By the clock of its node.
    pub(super) fn now(&self) -> Instant {
        self.socket.clock.now()
    }

    /// Reads an answer, and the server's time in it.
    fn read<C: Call>(
        &self,
        call: &C,
        value: Value,
        sent: Instant,
    ) -> Result<Answer<C::Reply>, NodeError> {
        let received = self.socket.clock.now();
        let mut items = Items::of(self.accept(value)?)?;
        let server_time = items.int()?;
        self.server_clock().observe(Sample { sent, received, server_us: server_time });
        Ok(Answer { reply: call.decode(items)?, sent, received, server_time })
    }

    /// Lets values through. A server that can not vote any more is asked anew who it is.
    fn accept(&self, value: Value) -> Result<Value, NodeError> {
        let Value::ServerError(error) = value else { return Ok(value) };
        let error = cause::of_server(&error);
        if matches!(error, NodeError::Replica | NodeError::MasterDown | NodeError::Loading) {
            self.end(ConnectionEnd::Unusable(error.clone()));
        }
        Err(error)
    }

    /// Unique per socket in this process: the same epoch is the same ordered stream of bytes.
    pub(crate) fn epoch(&self) -> u64 {
        self.socket.epoch
    }

    /// The run of the server that this socket leads to, if the user may know.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.socket.standing.run_id()
    }

    /// What is known of the process that this socket leads to.
    pub(crate) fn standing(&self) -> &Standing {
        &self.socket.standing
    }

    /// To be kept for as long as the socket is driven.
    pub(super) fn attendance(&self) -> Attendance {
        self.socket.standing.attend(&self.socket.clock)
    }

    /// Takes the server's time from an answer that shows that we were wrong about it.
    pub(crate) fn believe_time_of<R>(&self, answer: &Answer<R>) {
        let Answer { sent, received, server_time: server_us, .. } = *answer;
        self.server_clock().believe(Sample { sent, received, server_us });
    }

    /// Whether this is not known to be broken, replaced or abandoned by its runtime.
    pub(crate) fn is_live(&self) -> bool {
        self.socket.outbox.is_live()
    }

    /// The server's clock in µs at our instant `at`, never early.
    pub(crate) fn server_time_at(&self, at: Instant) -> i64 {
        self.server_clock().at(at)
    }

    /// What an answer usually takes.
    pub(crate) fn round_trip(&self) -> Duration {
        self.server_clock().round_trip()
    }

    /// Takes the connection out of use; its supervisor closes it and makes another.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        self.socket.outbox.end(ending);
    }

    /// Completes once somebody else has ended the connection.
    pub(super) async fn ended(&self) -> ConnectionEnd {
        self.socket.outbox.ended().await
    }

    /// Completes once a call was not answered and nothing else was heard either: the peer, or the way to
    /// it, is gone and does not say so, and would cost each caller all of its time. To be awaited as
    /// long as the socket is driven.
    pub(super) async fn found_silent(&self) -> ConnectionEnd {
        tokio::select! {
            biased;
            () = self.silent_after_a_timeout() => {}
            () = self.silent_after_quiet() => {}
        }
        // Not down: another socket may well succeed at once, and who waits for this one goes on there.
        self.end(ConnectionEnd::Lost);
        ConnectionEnd::Lost
    }

    /// A call has timed out. A server that is there answers a PING behind it, however late.
    async fn silent_after_a_timeout(&self) {
        let Socket { outbox, doubt, node_timeout, .. } = &*self.socket;
        let traffic = outbox.traffic();
        loop {
            doubt.notified().await;
            let (reads, deadline) = (traffic.reads(), self.now() + *node_timeout);
            let (ping, caller) = (Question(cmd("PING")), Always::default());
            let answer = fly(outbox, None, Form::Digest, &ping, deadline, &caller).await;
            let is_late = matches!(answer, Landing::Failed(NodeError::TimedOut { .. }));
            if is_late && traffic.reads() == reads {
                return;
            }
        }
    }

    /// A call goes out after a long time in which whatever stands between may have forgotten the
    /// socket. It is given up so early that the call can still be made on another one; not so early
    /// that a slow answer counts as none.
    async fn silent_after_quiet(&self) {
        let Socket { outbox, clock, node_timeout, .. } = &*self.socket;
        loop {
            outbox.breaks_quiet().await;
            let patience = (*node_timeout / 2).max(self.server_clock().round_trip() * 4);
            clock.sleep_until(clock.now() + patience).await;
            if outbox.traffic().is_quiet_still() {
                return;
            }
        }
    }

    fn note_timeout(&self) {
        let reads = self.socket.outbox.traffic().reads();
        let mut silence = self.socket.silence.lock().unwrap_or_else(PoisonError::into_inner);
        let frozen = silence.timed_out(reads, self.socket.clock.now());
        drop(silence);
        if frozen {
            self.end(ConnectionEnd::Unusable(cause::unreachable(&"it has stopped answering")));
        } else {
            self.socket.doubt.notify_one();
        }
    }

    fn server_clock(&self) -> std::sync::MutexGuard<'_, ServerClock> {
        self.socket.server_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
