//! One live socket, and one call on it.
//!
//! # Invariants
//! - A request is written to the socket at most once. Only when nothing was executed, since the server
//!   did not know the script or refused a call for another lock in it, a second one follows.
//! - Found live, a connection promises nothing: the socket may be gone already.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use redis::Value;

use super::{
    acquire_source::AcquireSource,
    call_future::send_and_wait,
    call_table::{AcquireAnswer, CallEnd, GivenUp, QueuedCall},
    outbox::{ConnectionEnd, Outbox},
    priority::{CallTimeouts, Priority},
    request::{Form, Question, Request},
    suspicion::Suspicion,
};
use crate::{
    clock::Instant,
    error::NodeError,
    metering::SharedMeters,
    reach::{Greeting, HostPort, NodeSettings, Sample, ServerClock, cause},
    standing::{AttendanceGuard, RunId, ServerRun},
    wire::{Call, Items, Publishing},
};

/// One live socket. Usable from any runtime: its driver runs where it was made.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    socket: Arc<Socket>,
    /// Whether ASKING is said before each call.
    is_asking: bool,
}

#[derive(Debug)]
struct Socket {
    epoch: u64,
    standing: Arc<ServerRun>,
    /// To which what is granted is bound.
    run_id: Option<RunId>,
    /// By which of the sentinels' configurations it leads to the master.
    config: Option<u64>,
    /// If it is one of a cluster's.
    place: Option<HostPort>,
    marker: Arc<str>,
    publishing: Publishing,
    suspicion: Suspicion,
    meters: SharedMeters,
    outbox: Arc<Outbox>,
}

/// A script's answer, and when it was asked for and given.
#[derive(Debug)]
pub(crate) struct Answer<R> {
    pub(crate) reply: R,
    /// Before the first byte of the request that was executed left.
    pub(crate) sent: Instant,
    pub(crate) received: Instant,
    /// The server's clock in µs while it ran the script; before all others if it was not asked for.
    pub(crate) server_time: i64,
}

impl<R> Answer<R> {
    pub(crate) const fn sample(&self) -> Sample {
        Sample { sent: self.sent, received: self.received, server_us: self.server_time }
    }
}

impl Connection {
    pub(crate) fn new(
        outbox: Arc<Outbox>,
        greeting: &Greeting,
        standing: Arc<ServerRun>,
        (config, place): (Option<u64>, Option<HostPort>),
        settings: &NodeSettings,
    ) -> Self {
        // What is granted in a cluster does not stay with its master.
        let (run_id, marker) = match standing.run_id() {
            Some(run) if place.is_some() => (None, format!("{}{run}", settings.marker).into()),
            run_id => (run_id, settings.marker.clone()),
        };
        static EPOCHS: AtomicU64 = AtomicU64::new(1);
        let server_clock = ServerClock::new(greeting.time, settings.margin);
        outbox.introduce(server_clock, standing.is_in_cluster());
        let socket = Socket {
            epoch: EPOCHS.fetch_add(1, Ordering::Relaxed),
            standing,
            run_id,
            config,
            place,
            marker,
            publishing: settings.sharding.publishing(),
            suspicion: Suspicion::new(outbox.clone(), settings),
            meters: settings.meters.clone(),
            outbox,
        };
        Self { socket: Arc::new(socket), is_asking: false }
    }

    /// The same socket to a server that does not have the slot yet that this is about.
    pub(crate) fn asking(self) -> Self {
        Self { is_asking: true, ..self }
    }

    /// Whether it is about a slot that its server does not have yet.
    pub(crate) const fn is_asking(&self) -> bool {
        self.is_asking
    }

    /// Which of a cluster's servers it leads to.
    pub(crate) fn place(&self) -> Option<&HostPort> {
        self.socket.place.as_ref()
    }

    /// The run that it leads to, whatever what is granted is bound to.
    pub(crate) fn server_run(&self) -> Option<RunId> {
        self.socket.standing.run_id()
    }

    /// How it is published by what is said here.
    pub(super) fn publishing(&self) -> Publishing {
        self.socket.publishing
    }

    /// After what time to look again, if what is published here is not heard: the slot is on its way, and
    /// listeners still listen where it comes from.
    pub(crate) fn look_again_in(&self) -> Option<Duration> {
        let is_unheard = self.is_asking && self.publishing() == Publishing::Sharded;
        is_unheard.then_some(UNHEARD)
    }

    /// The key of the mark that says whether the server may vote. In a cluster it may be on another one.
    pub(crate) fn marker(&self) -> &Arc<str> {
        &self.socket.marker
    }

    /// Sends `call` in its turn, and waits for the answer until `deadline`. If the server does not
    /// know the script, nothing was executed, and the call is sent once more with the script's text. That is
    /// another round trip, which has as much time as the first one took more.
    ///
    /// # Errors
    /// An error of the server. [`NodeError::Unreachable`] if the socket broke, and
    /// [`NodeError::TimedOut`] in the phase of sending, if the call has not left this machine and
    /// never will. Otherwise it is [unknown](NodeError::is_unknown) whether it was executed. After
    /// `Unreachable` and [`NodeError::Disconnected`] the connection is not live.
    ///
    /// # Cancel safety
    /// If the future is dropped while the call waits for its turn, the call is never executed. After
    /// that it may or may not be.
    pub(crate) fn call<C: Call>(
        &self,
        call: &C,
        deadline: Instant,
    ) -> impl Future<Output = Result<Answer<C::Reply>, NodeError>> + Send {
        self.call_of(Priority::default(), call, deadline)
    }

    /// The same, with this `priority`.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub(crate) async fn call_of<C: Call>(
        &self,
        priority: Priority,
        call: &C,
        mut deadline: Instant,
    ) -> Result<Answer<C::Reply>, NodeError> {
        let (mut form, began) = (Form::Digest, self.socket.outbox.clocks.now());
        loop {
            let request = Request::eval(form, call, self.publishing());
            match self.send(request, deadline, priority).await {
                Err(error) if error.is_noscript() && form == Form::Digest => {
                    form = Form::Text;
                    // A server that is far away would have no time left for the second.
                    deadline = deadline + self.socket.outbox.clocks.now().saturating_since(began);
                }
                answer => return self.answer_to(call, answer?),
            }
        }
    }

    fn answer_to<C: Call>(
        &self,
        call: &C,
        (value, sent): (Value, Instant),
    ) -> Result<Answer<C::Reply>, NodeError> {
        let received = self.now();
        let mut items = Items::of(value)?;
        if call.leaves_out_time(&items) {
            let server_time = i64::MIN;
            return Ok(Answer { reply: call.decode(items)?, sent, received, server_time });
        }
        let server_time = items.int()?;
        self.socket.outbox.clocks.observe(Sample { sent, received, server_us: server_time });
        Ok(Answer { reply: call.decode(items)?, sent, received, server_time })
    }

    /// Asks for a lock, with others that wait at the same time. Whether it is still wanted is asked when
    /// it is sent; its time runs from then. `None` if it was not wanted when its turn had come: it was not
    /// sent.
    ///
    /// # Errors
    /// There was no answer. The error says whether it may have been executed.
    ///
    /// # Cancel safety
    /// If the future is dropped while the acquire waits for its turn, it is never sent. After that it
    /// may or may not be executed.
    pub(crate) fn acquire(
        &self,
        source: Arc<dyn AcquireSource>,
        priority: Priority,
        timeouts: CallTimeouts,
    ) -> impl Future<Output = Result<Option<AcquireAnswer>, NodeError>> + Send {
        let call = QueuedCall::acquire(source, timeouts.unsent_until, self.is_asking);
        let deadline = timeouts.since + timeouts.for_the_server;
        send_and_wait(&self.socket.outbox, priority, call, deadline, Some(timeouts)).map(|end| {
            match end {
                CallEnd::Acquired(mut answer) => {
                    let times = answer.times;
                    self.socket.meters.answered(|| times.received.saturating_since(times.sent));
                    self.socket.meters.acquires(answer.call_size);
                    answer.outcome = answer.outcome.map_err(|error| self.heed(error));
                    Ok(Some(answer))
                }
                CallEnd::Unwanted => Ok(None),
                other => Err(self.failed(other)),
            }
        })
    }

    /// Sends a command by itself in its turn, and waits for the answer until `deadline`.
    pub(crate) async fn ask(
        &self,
        question: Question,
        deadline: Instant,
    ) -> Result<Value, NodeError> {
        Ok(self.send(Request::one(&question.0), deadline, Priority::default()).await?.0)
    }

    /// The same of what is answered with something of each of many.
    pub(super) async fn ask_for_a_list(
        &self,
        question: Question,
        deadline: Instant,
    ) -> Result<Value, NodeError> {
        let request = Request { is_list: true, ..Request::one(&question.0) };
        Ok(self.send(request, deadline, Priority::default()).await?.0)
    }

    /// Sends a request, and waits for the answer with this `priority`.
    fn send(
        &self,
        request: Request,
        deadline: Instant,
        priority: Priority,
    ) -> impl Future<Output = Result<(Value, Instant), NodeError>> + Send {
        self.exchange(request, deadline, priority).map(|answered| {
            let (_, value, sent) = answered?;
            Ok((self.read(value)?, sent))
        })
    }

    /// The same, with the answer before the last if there are two. What the server refused is not told
    /// apart yet: see [`read`](Self::read).
    pub(super) fn exchange(
        &self,
        request: Request,
        deadline: Instant,
        priority: Priority,
    ) -> impl Future<Output = Result<(Option<Value>, Value, Instant), NodeError>> + Send {
        let request = Request { is_asking: self.is_asking, ..request };
        let call = QueuedCall::Command { request, deadline };
        send_and_wait(&self.socket.outbox, priority, call, deadline, None).map(|end| match end {
            CallEnd::Answered { first, value, sent } => {
                self.socket.meters.answered(|| self.now().saturating_since(sent));
                Ok((first, value, sent))
            }
            other => Err(self.failed(other)),
        })
    }

    /// An answer, unless it is an error.
    pub(super) fn read(&self, answer: Value) -> Result<Value, NodeError> {
        match answer {
            Value::ServerError(error) => Err(self.heed(cause::of_server(&error))),
            value => Ok(value),
        }
    }

    /// Why there is no answer.
    fn failed(&self, end: CallEnd) -> NodeError {
        match end {
            CallEnd::Unknown(error) | CallEnd::NotSent(error) => error,
            CallEnd::GivenUp(GivenUp { phase, counts }) => {
                if counts {
                    self.socket.suspicion.timed_out(phase);
                }
                NodeError::TimedOut { phase }
            }
            CallEnd::Answered { .. } | CallEnd::Acquired(_) | CallEnd::Unwanted => {
                NodeError::Closed
            }
        }
    }

    /// A server that can not vote any more is asked anew which run it is.
    fn heed(&self, error: NodeError) -> NodeError {
        if matches!(error, NodeError::Replica | NodeError::MasterDown | NodeError::Loading) {
            self.end(ConnectionEnd::Unusable(error.clone()));
        }
        error
    }

    /// By the clock of its node.
    pub(crate) fn now(&self) -> Instant {
        self.socket.outbox.clocks.now()
    }

    /// Unique per socket in this process: the same epoch is the same ordered stream of bytes.
    pub(crate) fn epoch(&self) -> u64 {
        self.socket.epoch
    }

    /// The run of the server that this socket leads to, if the user may know, and what is granted there
    /// stays there. In a cluster it does not: the slot moves, and its keys with it.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.socket.run_id
    }

    /// By which of the sentinels' configurations it leads to the master.
    pub(crate) fn config(&self) -> Option<u64> {
        self.socket.config
    }

    /// What is known of the process that this socket leads to.
    pub(crate) fn standing(&self) -> &ServerRun {
        &self.socket.standing
    }

    /// To be kept for as long as the socket is driven.
    pub(crate) fn attendance(&self) -> AttendanceGuard {
        self.socket.standing.attend(self.socket.outbox.clocks.here())
    }

    /// Takes the server's time from an answer that shows that we were wrong about it.
    pub(crate) fn believe(&self, sample: Sample) {
        self.socket.outbox.clocks.believe(sample);
    }

    /// Whether this is not known to be broken, replaced or abandoned by its runtime.
    pub(crate) fn is_live(&self) -> bool {
        self.socket.outbox.is_live()
    }

    /// Whether calls do not leave at present. A caller that may do so goes another way: this one may
    /// belong to a runtime that is not run.
    pub(crate) fn stands_still(&self) -> bool {
        self.socket.outbox.stands_still()
    }

    /// The server's clock in µs at our instant `at`, never early.
    pub(crate) fn server_time_at(&self, at: Instant) -> i64 {
        self.socket.outbox.clocks.server_at(at)
    }

    /// What an answer usually takes.
    pub(crate) fn round_trip(&self) -> Duration {
        self.socket.outbox.clocks.round_trip()
    }

    /// Takes the connection out of use; its supervisor closes it and makes another.
    pub(crate) fn end(&self, ending: ConnectionEnd) {
        self.socket.outbox.end(ending);
    }

    /// Completes once another has ended the connection.
    pub(crate) async fn ended(&self) -> ConnectionEnd {
        self.socket.outbox.ended().await
    }

    /// Completes once the server is found silent. To be awaited as long as the socket is driven.
    pub(crate) async fn found_silent(&self) -> ConnectionEnd {
        let ending = self.socket.suspicion.confirmed().await;
        self.end(ending.clone());
        ending
    }
}

/// How often to look where no message comes.
const UNHEARD: Duration = Duration::from_millis(250);
