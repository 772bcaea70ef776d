//! The pub/sub connection of one node: what is subscribed stays subscribed.
//!
//! A connection is made at the first subscription and made again when it is lost. Messages in
//! between are lost too, so every loss and every new connection is reported as a gap.
//!
//! # Invariants
//! - A wanted channel is either being subscribed, subscribed or was refused; each of its outcomes
//!   is an event. Nobody waits for an event that does not come: a failed attempt to connect
//!   refuses every wanted channel.
//! - Events are reported without any lock of ours held.

mod session;

use std::{collections::BTreeSet, fmt, sync::Arc, time::Duration};

use tokio::{runtime::Handle, sync::mpsc};

use self::session::Session;
use super::{Core, connection::before, link::pauses};
use crate::{clock::Instant, error::NodeError};

/// What happens to the subscriptions.
#[derive(Debug)]
pub(crate) enum PubSubEvent {
    /// A message on a channel that we subscribed to. What it says does not matter: look again.
    Message(Arc<str>),
    /// The server confirmed the subscription, for the first time or after a gap.
    Subscribed(Arc<str>),
    /// The server or the network refused it. It is tried again every few seconds.
    Refused(Arc<str>, NodeError),
    /// The subscription has ended as we asked.
    Unsubscribed(Arc<str>),
    /// The connection was lost: messages may have been missed on every channel.
    Gap,
}

/// Subscriptions on one node. Dropping it ends its task and its connection.
#[derive(Debug)]
pub(crate) struct PubSub {
    core: Arc<Core>,
    commands: mpsc::UnboundedSender<Command>,
    events: Events,
}

/// Whoever sends these sends one per change of a channel's state and waits for its event, so
/// their number is bounded by the number of channels.
#[derive(Debug)]
enum Command {
    Subscribe(Arc<str>),
    Unsubscribe(Arc<str>),
}

#[derive(Clone)]
struct Events(Arc<dyn Fn(PubSubEvent) + Send + Sync>);

impl PubSub {
    pub(super) fn open(
        core: Arc<Core>,
        on: &Handle,
        events: Arc<dyn Fn(PubSubEvent) + Send + Sync>,
    ) -> Self {
        let (commands, inbox) = mpsc::unbounded_channel();
        let events = Events(events);
        let wanted = BTreeSet::new();
        let desk = Desk { core: core.clone(), events: events.clone(), inbox, wanted };
        let closed = core.closed.clone();
        on.spawn(async move { closed.run_until_cancelled(desk.run()).await });
        Self { core, commands, events }
    }

    /// Starts subscribing; answered by `Subscribed` or `Refused`. Asking again after `Refused` is
    /// a new attempt.
    pub(crate) fn subscribe(&self, channel: Arc<str>) {
        self.send(Command::Subscribe(channel));
    }

    /// Starts unsubscribing; answered by `Unsubscribed`.
    pub(crate) fn unsubscribe(&self, channel: Arc<str>) {
        self.send(Command::Unsubscribe(channel));
    }

    fn send(&self, command: Command) {
        if let Err(mpsc::error::SendError(command)) = self.commands.send(command) {
            self.events.over(command, &self.core);
        }
    }
}

impl Events {
    fn send(&self, event: PubSubEvent) {
        (self.0)(event);
    }

    /// Answers a command that nobody is there to carry out.
    fn over(&self, command: Command, core: &Core) {
        self.send(match command {
            Command::Subscribe(channel) => PubSubEvent::Refused(channel, core.why_over()),
            Command::Unsubscribe(channel) => PubSubEvent::Unsubscribed(channel),
        });
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}

/// The task: keeps what is wanted, from connection to connection.
struct Desk {
    core: Arc<Core>,
    events: Events,
    inbox: mpsc::UnboundedReceiver<Command>,
    wanted: BTreeSet<Arc<str>>,
}

/// How a connection, or a pause between two, ended.
enum SessionEnd {
    Lost,
    Idle,
    /// The `PubSub` was dropped.
    Over,
}

impl Desk {
    async fn run(mut self) {
        let settings = self.core.settings.clone();
        let mut pauses = pauses(&settings);
        loop {
            while self.wanted.is_empty() {
                let Some(command) = self.inbox.recv().await else { return };
                self.note(&command);
            }
            let tried = settings.clock.now();
            let error = match Session::open(&self.core, &self.events).await {
                Ok(session) => {
                    match session.run(&mut self).await {
                        SessionEnd::Over => return,
                        SessionEnd::Idle => continue,
                        SessionEnd::Lost => {}
                    }
                    if settings.clock.now().saturating_since(tried) >= settings.backoff_max {
                        pauses = super::link::pauses(&settings);
                        continue;
                    }
                    None
                }
                Err(error) => Some(error),
            };
            let pause = pauses.next().unwrap_or(settings.backoff_max);
            if let SessionEnd::Over = self.pause(tried, pause, error).await {
                return;
            }
        }
    }

    /// Waits before the next attempt to connect, and tells whoever subscribes meanwhile of the
    /// error of the last one, if it failed. New interest shortens the pause.
    async fn pause(
        &mut self,
        tried: Instant,
        pause: Duration,
        error: Option<NodeError>,
    ) -> SessionEnd {
        let clock = self.core.settings.clock.clone();
        let mut until = clock.now() + pause;
        if let Some(error) = &error {
            self.refuse_all(error);
        }
        loop {
            let Some(command) = before(&clock, until, self.inbox.recv()).await else {
                return SessionEnd::Lost;
            };
            let Some(command) = command else { return SessionEnd::Over };
            self.note(&command);
            if let Command::Subscribe(channel) = command {
                until = until.min(tried + LEAST_BETWEEN_ATTEMPTS);
                if let Some(error) = &error {
                    self.events.send(PubSubEvent::Refused(channel, error.clone()));
                }
            }
        }
    }

    /// Keeps a command in mind while there is no connection.
    fn note(&mut self, command: &Command) {
        match command {
            Command::Subscribe(channel) => {
                self.wanted.insert(channel.clone());
            }
            Command::Unsubscribe(channel) => {
                self.wanted.remove(channel);
                self.events.send(PubSubEvent::Unsubscribed(channel.clone()));
            }
        }
    }

    fn refuse_all(&self, error: &NodeError) {
        for channel in &self.wanted {
            self.events.send(PubSubEvent::Refused(channel.clone(), error.clone()));
        }
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.inbox.close();
        self.events.send(PubSubEvent::Gap);
        self.refuse_all(&self.core.why_over());
        while let Ok(command) = self.inbox.try_recv() {
            self.events.over(command, &self.core);
        }
    }
}

/// However many subscribe while there is no connection, it is tried at most this often.
const LEAST_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);
