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
//! # Invariants
//! - A wanted channel is either being subscribed, subscribed or was refused; each of its outcomes
//!   is an event. No listener waits for an event that does not come: a failed attempt to connect refuses every
//!   wanted channel.
//! - Events are reported without any lock of ours held.
//! - A channel is asked for at one place at a time (`routes`).
//!
//! # What proves them
//! `notifier/tests.rs` on real servers, tables at the end of `routes`, `tests/it/deployment/sharded.rs`, and the
//! planted bug `no-resubscribe`.
//!
//! # To change…
//! - what is said on the connection: `session`; when it is made again: `task`
//! - where a channel is subscribed in a cluster: `routes`; when a slot has moved: `sharded`
//! - on which runtime it is read: `hosted`, and `node/host.rs`

mod desk;
mod event;
mod hosted;
mod routes;
mod session;
mod sharded;
mod task;

use std::sync::Arc;

use tokio::{runtime::Handle, sync::mpsc};

pub(crate) use self::event::{PubSubEvent, SubscriptionChange};
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
        let (core, events) = (node.core().clone(), Arc::new(events));
        match node.cluster() {
            None => Self::open(core, on, events),
            Some(cluster) => Self::open_sharded(core, cluster.clone(), on, events),
        }
    }

    fn open(core: Arc<Core>, on: &Handle, events: Arc<dyn Fn(PubSubEvent) + Send + Sync>) -> Self {
        Self::carried_out(core, on, Events::new(events), task::run)
    }

    /// The same of a cluster.
    fn open_sharded(
        core: Arc<Core>,
        cluster: Arc<Cluster>,
        on: &Handle,
        events: Arc<dyn Fn(PubSubEvent) + Send + Sync>,
    ) -> Self {
        Self::carried_out(core, on, Events::new(events), |desk| sharded::run(desk, cluster))
    }

    fn carried_out<F>(
        core: Arc<Core>,
        on: &Handle,
        events: Events,
        task: impl FnOnce(PubSubTask) -> F,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (changes, inbox) = mpsc::unbounded_channel();
        let task = task(PubSubTask::new(core.clone(), events.clone(), inbox));
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
