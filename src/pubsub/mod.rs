//! The pub/sub connection of one node: what is subscribed stays subscribed. In a cluster that publishes by
//! shard there is one to each master that serves a channel's slot.
//!
//! A connection is made at the first subscription and made again when it is lost. Messages in
//! between are lost too, so every loss and every new connection is reported as a gap. It is kept by a task,
//! and read on the [host](crate::node::host) of its node.
//!
//! ```text
//! idle ──subscribe──► connecting ──made──► one session: SUBSCRIBE for all that is wanted, and a gap
//!  ▲                   ▲      │                       │               │
//!  │                   │      └─failed: all refused─► pause ◄──lost, a gap
//!  │                   └──────────────────────────────┘               │
//!  └──────────────── nothing wanted for a while ──────────────────────┘
//! ```
//!
//! In a cluster that publishes by shard there is such a task for each place, and `routes` decides which channel is
//! asked for where.
//!
//! Keys can be subscribed, too, on connections of their own: a server tells once that one has changed since it was
//! last read there (`CLIENT TRACKING`). A subscription is a read then, and is to be asked for again after each
//! message.
//!
//! # Invariants
//! - A wanted channel is either being subscribed, subscribed or was refused; each of its outcomes
//!   is an event. No listener waits for an event that does not come: a failed attempt to connect refuses every
//!   wanted channel.
//! - Events are reported without any lock of ours held.
//! - A channel is asked for at one place at a time (`routes`).
//! - Nothing is written where keys are read: the server forgets what it was to tell of a key that is.
//!
//! # What proves them
//! `notifier/tests.rs` on real servers, tables at the end of `routes`, `tests/it/deployment/sharded.rs`, and the
//! planted bug `no-resubscribe`.
//!
//! # To change…
//! - what is said on the connection: `session`, of keys `reading`; when it is made again: `task`
//! - where a channel is subscribed in a cluster: `routes`; when a slot has moved: `sharded`
//! - on which runtime it is read: `hosted`, and `node/host.rs`

mod desk;
mod event;
mod hosted;
mod reading;
mod routes;
mod session;
mod sharded;
mod task;

use std::sync::Arc;

use tokio::{runtime::Handle, sync::mpsc};

pub(crate) use self::event::{PubSubEvent, Subject, SubscriptionChange};
use self::{desk::PubSubTask, event::Events};
use crate::node::{Cluster, Core, Node};

/// Subscriptions on one node. Dropping it ends its task and its connection.
#[derive(Debug)]
pub(crate) struct PubSub {
    core: Arc<Core>,
    changes: mpsc::UnboundedSender<SubscriptionChange>,
    events: Events,
}

impl PubSub {
    /// A connection for pub/sub, made at the first subscription; in a cluster that publishes by shard
    /// several, each where a slot is. The runtime `on` keeps them, and reads what has no [host](crate::node::host::Host).
    pub(crate) fn of(
        node: &Node,
        on: &Handle,
        events: impl Fn(PubSubEvent) + Send + Sync + 'static,
    ) -> Self {
        Self::about(Subject::Channels, node, on, events)
    }

    /// The same about keys, on connections of their own.
    pub(crate) fn about_keys(
        node: &Node,
        on: &Handle,
        events: impl Fn(PubSubEvent) + Send + Sync + 'static,
    ) -> Self {
        Self::about(Subject::Keys, node, on, events)
    }

    fn about(
        subject: Subject,
        node: &Node,
        on: &Handle,
        events: impl Fn(PubSubEvent) + Send + Sync + 'static,
    ) -> Self {
        let (core, events) = (node.core().clone(), Arc::new(events));
        match node.cluster() {
            None => Self::open(core, subject, on, events),
            Some(cluster) => Self::open_sharded(core, cluster.clone(), subject, on, events),
        }
    }

    fn open(
        core: Arc<Core>,
        subject: Subject,
        on: &Handle,
        events: Arc<dyn Fn(PubSubEvent) + Send + Sync>,
    ) -> Self {
        Self::carried_out(core, subject, on, Events::new(events), task::run)
    }

    /// The same of a cluster.
    fn open_sharded(
        core: Arc<Core>,
        cluster: Arc<Cluster>,
        subject: Subject,
        on: &Handle,
        events: Arc<dyn Fn(PubSubEvent) + Send + Sync>,
    ) -> Self {
        let run = |desk| sharded::run(desk, cluster);
        Self::carried_out(core, subject, on, Events::new(events), run)
    }

    fn carried_out<F>(
        core: Arc<Core>,
        subject: Subject,
        on: &Handle,
        events: Events,
        task: impl FnOnce(PubSubTask) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (changes, inbox) = mpsc::unbounded_channel();
        let task = task(PubSubTask::new(core.clone(), subject, events.clone(), inbox));
        let closed = core.closed.clone();
        on.spawn(async move { closed.run_until_cancelled(task).await });
        Self { core, changes, events }
    }

    /// Starts a change; its outcome is an event.
    pub(crate) fn send(&self, change: SubscriptionChange) {
        if let Err(mpsc::error::SendError(change)) = self.changes.send(change) {
            self.events.over(change, &self.core);
        }
    }
}
