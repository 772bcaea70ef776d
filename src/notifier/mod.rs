//! Wake-ups: one subscription per channel and client, however many wait.
//!
//! A wake-up is a hint to look again, never a grant. It comes with every message, and whenever messages may have
//! been missed. A listener may count those of one text: what that means is for it to know.
//!
//! Which channel is the lock's is for its kind, and what a message means for the waiter. Here are listeners and
//! channels only: `registry` decides, without I/O or a clock, and this file carries out what it says.
//!
//! ```text
//!               first listener                     confirmed
//!  (no entry) ────SUBSCRIBE────► Joining ───────────────────────► Joined
//!      ▲                          │  ▲ ▲                            │
//!      │                   refused│  │ └─────── a gap: all wake ────┤
//!      │                          ▼  │ a newcomer                   │ last listener: UNSUBSCRIBE
//!      │◄──── last listener ── Refused                              ▼
//!      └─────────────────────── confirmed ────────────────────── Leaving
//! ```
//!
//! A listener that comes while a channel is left waits for a new subscription.
//!
//! # Invariants
//! - **Per channel at most one command is under way** (`registry`).
//! - **A listener is ready once messages cannot be missed any more**: an attempt follows that moment, so a release
//!   before it is seen.
//! - **A gap wakes all**: on one channel, or on all when the connection is lost.
//! - **A refusal is told**: a waiter that cannot listen asks now and then.
//!
//! # Deadlock safety
//! The registry is asked under its lock; its answer is carried out without it. `on_message` may listen and drop
//! listeners.
//!
//! # What proves them
//! Tables and random sequences at the end of `registry`, `tests` here on real servers. In `tests/it`:
//! `mutex::waiting`, `waits`, `polls`, `deployment::sharded`, `regressions::channels`. In the simulation: I4.
//! Planted: `no-second-look`, `no-resubscribe`.
//!
//! # To change…
//! - when a channel is subscribed or left: `registry`
//! - how a connection for messages is kept: `pubsub`; where in a cluster: `pubsub/routes.rs`
//! - what a waiter does with a wake-up: `wait/head.rs`
//! - which channel a lock has: its kind, by `wire/key.rs`

mod registry;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::FutureExt;
use tokio::{runtime::Handle, sync::Notify};

use self::registry::{Effects, ListenerId, Registry};
use crate::{
    error::NodeError,
    home::Home,
    latest::Latest,
    node::Node,
    pubsub::{PubSub, PubSubEvent},
};

/// The subscriptions of one client.
#[derive(Debug, Clone)]
pub(crate) struct Notifier(Arc<NotifierInner>);

struct NotifierInner {
    home: Home,
    registry: Mutex<Registry<Arc<Signals>>>,
    pubsub: PubSub,
    on_message: Box<dyn Fn(&str) + Send + Sync>,
}

/// What one listener waits for.
#[derive(Debug)]
struct Signals {
    wake: Notify,
    /// How many messages came.
    messages: AtomicU64,
    /// The text that it counts, and how many messages had it.
    heeded: Option<&'static str>,
    matches: AtomicU64,
    /// Not by a message: something happened to the client or its connection.
    alarm: Notify,
    /// `None` until the subscription was confirmed or refused.
    ready: Latest<Option<Result<(), NodeError>>>,
}

impl Notifier {
    /// Sends nothing yet. The connection will be kept on `on`; `on_message` is called for every
    /// message on a channel that is listened to, on any thread, and must not block.
    pub(crate) fn new(
        node: &Node,
        on: Handle,
        on_message: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new_cyclic(|inner: &std::sync::Weak<NotifierInner>| {
            let inner = inner.clone();
            let pubsub = PubSub::of(node, &on, move |event| {
                if let Some(inner) = inner.upgrade() {
                    inner.on_event(&event);
                }
            });
            let registry = Mutex::new(Registry::new());
            NotifierInner { home: Home::here(), registry, pubsub, on_message: Box::new(on_message) }
        }))
    }

    /// Listens to `channel`, and subscribes if it is the first to do so. Never blocks.
    pub(crate) fn listen(&self, channel: Arc<str>) -> Listener {
        self.listen_with(channel, Signals::new(None))
    }

    /// The same, and [counts](Listener::matches) messages of this text. Every other wakes, too.
    pub(crate) fn listen_for(&self, channel: Arc<str>, text: &'static str) -> Listener {
        self.listen_with(channel, Signals::new(Some(text)))
    }

    fn listen_with(&self, channel: Arc<str>, signals: Signals) -> Listener {
        let signals = Arc::new(signals);
        let (id, effects) = self.0.registry().add(&channel, signals.clone());
        self.0.carry_out(effects);
        Listener { inner: self.0.clone(), channel, id, signals }
    }

    /// Hears of nothing but alarms, and is never ready.
    pub(crate) fn ignore(&self) -> Listener {
        let signals = Arc::new(Signals::new(None));
        signals.learn(&Err(NodeError::Closed));
        let id = self.0.registry().add_deaf(signals.clone());
        Listener { inner: self.0.clone(), channel: Arc::default(), id, signals }
    }

    /// Has all listeners look again.
    pub(crate) fn wake_all(&self) {
        let everybody = self.0.registry().everybody();
        everybody.iter().for_each(|signals| {
            signals.alarm.notify_one();
            signals.wake.notify_one();
        });
    }

    /// Whether what is announced on `channel` is heard here.
    pub(crate) fn hears(&self, channel: &str) -> bool {
        self.0.registry().is_joined(channel)
    }

    /// Channels that are subscribed or being subscribed.
    pub(crate) fn subscriptions(&self) -> usize {
        self.0.registry().subscriptions()
    }
}

impl NotifierInner {
    fn on_event(&self, event: &PubSubEvent) {
        // First: a waiter that is woken may be granted the lock, and be taken for its holder, at
        // once.
        if let PubSubEvent::Message(channel, _) = event {
            (self.on_message)(channel);
        }
        let effects = self.registry().on_event(event);
        for signals in &effects.wake {
            match event {
                PubSubEvent::Message(_, text) => signals.heard(text),
                PubSubEvent::Gap | PubSubEvent::GapOn(_) => signals.alarm.notify_one(),
                _ => {}
            }
        }
        self.carry_out(effects);
    }

    fn carry_out(&self, effects: Effects<Arc<Signals>>) {
        // First: an acquire that asks as soon as it hears is not to be woken by that it hears.
        for signals in effects.wake {
            signals.wake.notify_one();
        }
        if let Some((listeners, news)) = effects.news {
            for signals in listeners {
                signals.learn(&news);
            }
        }
        if let Some(change) = effects.change {
            self.pubsub.send(change);
        }
    }

    fn registry(&self) -> MutexGuard<'_, Registry<Arc<Signals>>> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for NotifierInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").field("pubsub", &self.pubsub).finish_non_exhaustive()
    }
}

impl Signals {
    fn new(heeded: Option<&'static str>) -> Self {
        let (wake, alarm) = (Notify::new(), Notify::new());
        let (messages, matches) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { wake, messages, heeded, matches, alarm, ready: Latest::new(None) }
    }

    fn heard(&self, text: &[u8]) {
        self.messages.fetch_add(1, Ordering::Relaxed);
        if self.heeded.is_some_and(|heeded| heeded.as_bytes() == text) {
            self.matches.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn learn(&self, news: &Result<(), NodeError>) {
        // Once confirmed, a listener stays ready: gaps wake it, that is all it needs to know.
        self.ready.replace_unless(|ready| matches!(ready, Some(Ok(()))), Some(news.clone()));
    }
}

/// Interest in one channel. Dropping it stops listening; the last one unsubscribes.
#[derive(Debug)]
pub(crate) struct Listener {
    inner: Arc<NotifierInner>,
    channel: Arc<str>,
    id: ListenerId,
    signals: Arc<Signals>,
}

impl Listener {
    /// Waits until the subscription is confirmed; stays so afterwards.
    ///
    /// # Errors
    /// The subscription was refused, or no connection can be made: poll instead. It is tried
    /// again all the same, and a success is a wake-up.
    ///
    /// # Cancel safety
    /// Dropping the future has no effect.
    pub(crate) async fn ready(&self) -> Result<(), NodeError> {
        let known = self.signals.ready.wait_for(Option::is_some).await;
        known.unwrap_or(Err(NodeError::Closed))
    }

    /// Whether the subscription was confirmed.
    pub(crate) fn is_ready(&self) -> bool {
        self.signals.ready.look(|ready| matches!(ready, Some(Ok(()))))
    }

    /// How many messages came since it began to listen.
    pub(crate) fn messages(&self) -> u64 {
        self.signals.messages.load(Ordering::Relaxed)
    }

    /// How many of them had the text that it listens for.
    pub(crate) fn matches(&self) -> u64 {
        self.signals.matches.load(Ordering::Relaxed)
    }

    /// Whether this is a listener of `notifier` to `channel`.
    pub(crate) fn is_of(&self, notifier: &Notifier, channel: &str) -> bool {
        Arc::ptr_eq(&self.inner, &notifier.0) && *self.channel == *channel
    }

    /// Waits for the next wake-up: a message, a gap, a confirmation, a refusal. One that came while
    /// no task waited is kept.
    ///
    /// # Cancel safety
    /// No wake-up is lost, unless the future is dropped after it has completed.
    pub(crate) async fn woken(&self) {
        self.signals.wake.notified().await;
    }

    /// Forgets a wake-up that was kept: all is looked at next in any case.
    pub(crate) fn forget_wake_up(&self) {
        let _kept = self.woken().now_or_never();
    }

    /// Waits until the connection is lost or the client is shut down, which wakes too. For waiters
    /// that wait for others, but need this server all the same.
    ///
    /// # Cancel safety
    /// As [`woken`](Self::woken).
    pub(crate) async fn alarmed(&self) {
        self.signals.alarm.notified().await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A thread that the child of a fork does not have may have held the mutex.
        if !self.inner.home.is_here() {
            return;
        }
        let change = self.inner.registry().remove(&self.channel, self.id);
        if let Some(change) = change {
            self.inner.pubsub.send(change);
        }
    }
}
