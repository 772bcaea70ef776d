//! One live socket, and one call on it.
//!
//! # Invariants
//! - A request is written to the socket at most once; only NOSCRIPT, which says that nothing was
//!   executed, is followed by a second one.
//! - Once `over` is set it stays set, and nothing more is sent. Found unset it promises nothing:
//!   the socket may be gone already.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use redis::{Cmd, Value, aio::MultiplexedConnection};
use tokio::sync::Notify;

use super::{
    NodeSettings, cause,
    handshake::Greeting,
    server_clock::{Sample, ServerClock},
    silence::Silence,
};
use crate::{
    clock::{Instant, SharedClock},
    error::{NodeError, Phase},
    standing::{Attendance, RunId, Standing},
    wire::{Call, Items},
};

/// One live socket. Usable from any runtime: its driver runs where it was made.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    redis: MultiplexedConnection,
    socket: Arc<Socket>,
}

#[derive(Debug)]
struct Socket {
    epoch: u64,
    standing: Arc<Standing>,
    clock: SharedClock,
    server_clock: Mutex<ServerClock>,
    /// How often something was read from the socket.
    heard: Arc<AtomicU64>,
    silence: Mutex<Silence>,
    over: OnceLock<ConnectionEnd>,
    replace: Notify,
}

/// Why a connection is no longer used.
#[derive(Debug, Clone)]
pub(super) enum ConnectionEnd {
    /// The socket broke or its runtime ended: making another may well succeed at once.
    Lost,
    /// The server is there and of no use.
    Unusable(NodeError),
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
        redis: MultiplexedConnection,
        heard: Arc<AtomicU64>,
        greeting: &Greeting,
        standing: Arc<Standing>,
        settings: &NodeSettings,
    ) -> Self {
        static EPOCHS: AtomicU64 = AtomicU64::new(1);
        let socket = Socket {
            epoch: EPOCHS.fetch_add(1, Ordering::Relaxed),
            standing,
            clock: settings.clock.clone(),
            server_clock: Mutex::new(ServerClock::new(greeting.time, settings.margin)),
            heard,
            silence: Mutex::new(Silence::new(settings.frozen_after)),
            over: OnceLock::new(),
            replace: Notify::new(),
        };
        Self { redis, socket: Arc::new(socket) }
    }

    /// Sends `call` and waits for the answer until `deadline`. If the server does not know the
    /// script, which says that nothing was executed, its text is sent: once.
    ///
    /// # Cancel safety
    /// Dropped before the answer came, the call may or may not be executed.
    pub(crate) async fn call<C: Call>(
        &self,
        call: &C,
        deadline: Instant,
    ) -> Result<Answer<C::Reply>, NodeError> {
        match self.call_as(Form::Digest, call, deadline).await {
            Err(error) if error.is_noscript() => self.call_as(Form::Text, call, deadline).await,
            result => result,
        }
    }

    /// Sends `call` once, in one form.
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub(crate) async fn call_as<C: Call>(
        &self,
        form: Form,
        call: &C,
        deadline: Instant,
    ) -> Result<Answer<C::Reply>, NodeError> {
        let sent = self.socket.clock.now();
        let value = self.exchange(&form.eval(call), deadline).await?;
        let received = self.socket.clock.now();
        let mut items = Items::of(self.accept(value)?)?;
        let server_time = items.int()?;
        self.server_clock().observe(Sample { sent, received, server_us: server_time });
        Ok(Answer { reply: call.decode(items)?, sent, received, server_time })
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
        self.socket.over.get().is_none()
    }

    /// The server's clock in µs at our instant `at`, never early.
    pub(crate) fn server_time_at(&self, at: Instant) -> i64 {
        self.server_clock().at(at)
    }

    /// Takes the connection out of use; its supervisor closes it and makes another.
    pub(super) fn end(&self, ending: ConnectionEnd) {
        if self.socket.over.set(ending).is_ok() {
            self.socket.replace.notify_one();
        }
    }

    /// Completes once somebody else has ended the connection.
    pub(super) async fn ended(&self) -> ConnectionEnd {
        loop {
            if let Some(ending) = self.socket.over.get() {
                return ending.clone();
            }
            self.socket.replace.notified().await;
        }
    }

    async fn exchange(&self, cmd: &Cmd, deadline: Instant) -> Result<Value, NodeError> {
        if !self.is_live() {
            return Err(cause::unreachable(&"the connection has just been lost"));
        }
        let mut redis = self.redis.clone();
        let reply = before(&self.socket.clock, deadline, redis.send_packed_command(cmd)).await;
        match reply {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(cause::of_redis(error)),
            None => {
                self.note_timeout();
                Err(NodeError::TimedOut { phase: Phase::Answering })
            }
        }
    }

    fn note_timeout(&self) {
        let heard = self.socket.heard.load(Ordering::Relaxed);
        let mut silence = self.socket.silence.lock().unwrap_or_else(PoisonError::into_inner);
        let frozen = silence.timed_out(heard, self.socket.clock.now());
        drop(silence);
        if frozen {
            self.end(ConnectionEnd::Unusable(cause::unreachable(&"it has stopped answering")));
        }
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

    fn server_clock(&self) -> std::sync::MutexGuard<'_, ServerClock> {
        self.socket.server_clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The output of `work` if it comes until `deadline`.
///
/// What is ready counts, however late this task is polled: a runtime that was busy for long must
/// not be mistaken for a frozen server. After a long poll the timer may fire before the driver
/// has read what lies in the socket, hence the last look after the other tasks had their turn.
pub(super) async fn before<T>(
    clock: &SharedClock,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Option<T> {
    tokio::pin!(work);
    tokio::select! {
        biased;
        output = &mut work => return Some(output),
        () = clock.sleep_until(deadline) => {}
    }
    for _turn in 0..2 {
        tokio::task::yield_now().await;
        if let Some(output) = futures::future::FutureExt::now_or_never(&mut work) {
            return Some(output);
        }
    }
    None
}

/// How a script is named to the server.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Digest,
    Text,
}

impl Form {
    fn eval<C: Call>(self, call: &C) -> Cmd {
        let (command, script) = match self {
            Self::Digest => ("EVALSHA", call.script().sha()),
            Self::Text => ("EVAL", call.script().source),
        };
        let mut cmd = Cmd::with_capacity(TYPICAL_ARGS, script.len() + TYPICAL_BYTES);
        cmd.arg(command).arg(script);
        call.write(&mut cmd);
        cmd
    }
}

/// Enough for one lock: command, digest, number of keys, key, a few arguments.
const TYPICAL_ARGS: usize = 12;
const TYPICAL_BYTES: usize = 256;
