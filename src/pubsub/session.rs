//! One pub/sub connection, from the SUBSCRIBEs for all that is wanted to its end.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use redis::{
    AsyncConnectionConfig, Cmd, PushInfo, PushKind, RedisError, RedisResult, Value,
    aio::MultiplexedConnection, cmd,
};
use tokio::sync::Notify;

use super::{
    desk::PubSubTask,
    event::{Events, PubSubEvent, Subject, SubscriptionChange},
    hosted, reading,
    reading::text,
};
use crate::{
    error::{NodeError, Phase},
    node::{Core, PubSubDriver, Upkeep},
    reach::{before, cause, handshake},
    wire::Publishing,
};

/// One connection.
pub(super) struct PubSubSession {
    core: Arc<Core>,
    subject: Subject,
    redis: MultiplexedConnection,
    driver: PubSubDriver,
    tie: Upkeep,
    pushes: Arc<Pushes>,
    replies: FuturesUnordered<BoxFuture<'static, SessionReply>>,
    refused: BTreeSet<Arc<str>>,
}

/// How a connection, or a pause between two, ended.
pub(super) enum SessionEnd {
    Lost,
    Idle,
    /// The `PubSub` was dropped.
    Over,
}

enum SessionReply {
    /// A name is a courtesy, whatever the server thinks of it.
    Name,
    Subscribe(Arc<str>, RedisResult<()>),
    Read(Arc<str>, RedisResult<u64>),
    /// Refused or not, it is over for us.
    Unsubscribe(Arc<str>),
}

impl PubSubSession {
    pub(super) async fn open(desk: &PubSubTask) -> Result<Self, NodeError> {
        let PubSubTask { core, events, subject, .. } = desk;
        let pushes = Arc::new(Pushes::new(events.clone()));
        let sink = pushes.clone();
        let config = config().set_push_sender(move |push: PushInfo| {
            sink.take(push);
            Ok::<(), std::convert::Infallible>(())
        });
        let (redis, driver, tie) = match subject {
            Subject::Channels => hosted::open(core, config).await?,
            // Not where users' code may block: what is told of keys is for the watchdog.
            Subject::Keys => core.open(config).await?,
        };
        let replies = FuturesUnordered::<BoxFuture<'static, SessionReply>>::new();
        if let Some(name) = handshake::name_command(&core.settings.client_name) {
            let mut redis = redis.clone();
            replies.push(Box::pin(async move {
                let _courtesy = redis.send_packed_command(&name).await;
                SessionReply::Name
            }));
        }
        let (core, subject, refused) = (core.clone(), *subject, BTreeSet::new());
        let mut session = Self { core, subject, redis, driver, tie, pushes, replies, refused };
        if subject == Subject::Keys {
            session.track().await?;
        }
        Ok(session)
    }

    /// Before the first key is read: what is read earlier is not told of.
    async fn track(&mut self) -> Result<(), NodeError> {
        let (command, clock) = (reading::track(), self.core.settings.clock.clone());
        let limit = clock.now() + self.core.settings.node_timeout;
        let answer = command.exec_async(&mut self.redis);
        let answer = tokio::select! {
            biased;
            answer = before(&clock, limit, answer) => answer,
            () = &mut self.driver => None,
        };
        let answer = answer.ok_or(NodeError::TimedOut { phase: Phase::Answering })?;
        answer.map_err(cause::of_redis)
    }

    pub(super) async fn run(mut self, desk: &mut PubSubTask) -> SessionEnd {
        let ending = self.serve(desk).await;
        if let SessionEnd::Lost = ending {
            desk.events.send(PubSubEvent::Gap);
        }
        // The end of the connection ended these too.
        let leaving = std::mem::take(&mut *self.pushes.leaving());
        for channel in leaving {
            desk.events.send(PubSubEvent::Unsubscribed(channel));
        }
        ending
    }

    async fn serve(&mut self, desk: &mut PubSubTask) -> SessionEnd {
        let mut heartbeat = self.heartbeat();
        for channel in &desk.wanted {
            self.subscribe(channel.clone());
        }
        let mut idle_beats = 0;
        let mut logged_in = self.keep_logged_in();
        let mut moved = self.moved();
        loop {
            tokio::select! {
                biased;
                () = &mut logged_in => return SessionEnd::Lost,
                () = &mut moved => return SessionEnd::Lost,
                () = &mut self.driver => return SessionEnd::Lost,
                () = self.pushes.broken.notified() => return SessionEnd::Lost,
                Some(reply) = self.replies.next() => self.settle(reply, desk),
                change = desk.inbox.recv() => match change {
                    Some(change) => self.obey(change, desk),
                    None => return SessionEnd::Over,
                },
                alive = &mut heartbeat => {
                    idle_beats = if desk.wanted.is_empty() { idle_beats + 1 } else { 0 };
                    if !alive {
                        return SessionEnd::Lost;
                    }
                    if self.beat() * idle_beats >= IDLE {
                        return SessionEnd::Idle;
                    }
                    for channel in std::mem::take(&mut self.refused) {
                        self.subscribe(channel);
                    }
                    heartbeat = self.heartbeat();
                }
            }
        }
    }

    fn moved(&self) -> BoxFuture<'static, ()> {
        let (core, tie) = (self.core.clone(), self.tie.clone());
        Box::pin(async move { core.moved_from(&tie).await })
    }

    /// Goes on for ever.
    fn keep_logged_in(&self) -> BoxFuture<'static, ()> {
        let (core, redis, renew_at) =
            (self.core.clone(), self.redis.clone(), self.tie.renew_login_at);
        Box::pin(async move {
            let say = |command: Cmd| -> BoxFuture<'_, Result<(), NodeError>> {
                let (mut redis, core) = (redis.clone(), core.clone());
                Box::pin(async move {
                    let (clock, limit) = (&core.settings.clock, core.settings.node_timeout);
                    let answer = command.exec_async(&mut redis);
                    let Some(answer) = before(clock, clock.now() + limit, answer).await else {
                        return Err(NodeError::TimedOut { phase: Phase::Answering });
                    };
                    answer.map_err(cause::of_redis)
                })
            };
            core.keep_logged_in(renew_at, &say).await;
        })
    }

    fn obey(&mut self, change: SubscriptionChange, desk: &mut PubSubTask) {
        match change {
            SubscriptionChange::Subscribe(channel) => {
                self.refused.remove(&channel);
                desk.wanted.insert(channel.clone());
                self.subscribe(channel);
            }
            SubscriptionChange::Unsubscribe(channel) => {
                self.refused.remove(&channel);
                desk.wanted.remove(&channel);
                self.unsubscribe(channel);
            }
        }
    }

    fn subscribe(&self, channel: Arc<str>) {
        let mut redis = self.redis.clone();
        if self.subject == Subject::Keys {
            self.replies.push(Box::pin(async move {
                let counted = reading::count(&mut redis, &channel).await;
                SessionReply::Read(channel, counted)
            }));
            return;
        }
        let command = self.command(Publishing::subscribe, &channel);
        self.replies.push(Box::pin(async move {
            let reply = command.exec_async(&mut redis).await;
            SessionReply::Subscribe(channel, reply)
        }));
    }

    fn unsubscribe(&self, channel: Arc<str>) {
        if self.subject == Subject::Keys {
            // The server forgets a key when it tells of it, and cannot be asked to sooner.
            self.replies.push(Box::pin(async move { SessionReply::Unsubscribe(channel) }));
            return;
        }
        self.pushes.leaving().insert(channel.clone());
        let mut redis = self.redis.clone();
        let command = self.command(Publishing::unsubscribe, &channel);
        self.replies.push(Box::pin(async move {
            let _either = command.exec_async(&mut redis).await;
            SessionReply::Unsubscribe(channel)
        }));
    }

    fn command(&self, word: fn(Publishing) -> &'static str, channel: &str) -> Cmd {
        let mut command = cmd(word(self.core.settings.sharding.publishing()));
        command.arg(channel);
        command
    }

    fn settle(&mut self, reply: SessionReply, desk: &PubSubTask) {
        match reply {
            SessionReply::Name => {}
            SessionReply::Subscribe(channel, Ok(())) => {
                desk.events.send(PubSubEvent::Subscribed(channel));
            }
            SessionReply::Read(key, Ok(holders)) => {
                desk.events.send(PubSubEvent::Read(key, holders));
            }
            SessionReply::Subscribe(channel, Err(error))
            | SessionReply::Read(channel, Err(error)) => self.settle_failed(channel, error, desk),
            SessionReply::Unsubscribe(channel) => {
                self.pushes.leaving().remove(&channel);
                desk.events.send(PubSubEvent::Unsubscribed(channel));
            }
        }
    }

    fn settle_failed(&mut self, channel: Arc<str>, error: RedisError, desk: &PubSubTask) {
        match cause::of_redis(error) {
            // The driver is about to end, and what is wanted is subscribed on the next one.
            NodeError::Disconnected { .. } => {}
            error => {
                if desk.wanted.contains(&channel) {
                    self.refused.insert(channel.clone());
                }
                desk.events.send(PubSubEvent::Refused(channel, error));
            }
        }
    }

    const fn beat(&self) -> Duration {
        match self.subject {
            Subject::Channels => BEAT,
            Subject::Keys => BEAT_OF_KEYS,
        }
    }

    /// Completes after a while: whether the server still answers on this connection. A half-open
    /// one looks like a quiet one otherwise.
    fn heartbeat(&self) -> BoxFuture<'static, bool> {
        let (clock, beat) = (self.core.settings.clock.clone(), self.beat());
        let mut redis = self.redis.clone();
        Box::pin(async move {
            clock.sleep_until(clock.now() + beat).await;
            let ping = cmd("PING");
            let reply = before(&clock, clock.now() + BEAT_ANSWER, redis.send_packed_command(&ping));
            matches!(reply.await, Some(Ok(_)))
        })
    }
}

/// Takes what the server sends unasked; called by the driver, so it must not block.
struct Pushes {
    events: Events,
    /// Channels whose UNSUBSCRIBE is under way.
    leaving: Mutex<BTreeSet<Arc<str>>>,
    broken: Notify,
}

impl Pushes {
    fn new(events: Events) -> Self {
        Self { events, leaving: Mutex::default(), broken: Notify::new() }
    }

    fn changed(&self, keys: Option<Vec<Arc<str>>>) {
        match keys {
            Some(keys) => {
                keys.into_iter().for_each(|key| self.events.send(PubSubEvent::Changed(key)))
            }
            None => self.events.send(PubSubEvent::AllChanged),
        }
    }

    fn leaving(&self) -> MutexGuard<'_, BTreeSet<Arc<str>>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, push: PushInfo) {
        if push.kind == PushKind::Invalidate {
            return self.changed(reading::changed(push.data));
        }
        let mut data = push.data.into_iter();
        let Some(channel) = data.next().and_then(text) else { return };
        match push.kind {
            PushKind::Message | PushKind::SMessage => {
                self.events
                    .send(PubSubEvent::Message(channel, data.next().map_or_else(Vec::new, bytes)));
            }
            // redis-rs takes an unsubscription without a request for it as the reply to the oldest
            // request: every later reply would be one off. So this connection is done.
            PushKind::Unsubscribe | PushKind::SUnsubscribe
                if !self.leaving().contains(&channel) =>
            {
                self.broken.notify_one();
            }
            _ => {}
        }
    }
}

fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.into_bytes(),
        _ => Vec::new(),
    }
}

const BEAT: Duration = Duration::from_secs(2);
/// Waiters rely on their messages. What is told of keys is found by renewals, too.
const BEAT_OF_KEYS: Duration = Duration::from_secs(10);
const BEAT_ANSWER: Duration = Duration::from_secs(1);

/// So long without a subscription, and the connection is closed until the next one.
const IDLE: Duration = Duration::from_secs(10);

/// Every call has a deadline of ours; redis-rs's own would only cut in.
fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None)
        .set_pipeline_buffer_size(BUFFER)
}

/// Subscriptions that redis-rs takes in before the first of them is written.
const BUFFER: usize = 1024;
