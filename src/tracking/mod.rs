//! Keys of holds, of which a server tells that they have changed.
//!
//! A renewal learns that a lock was deleted, a third of its lease later at worst. The server can say so at once, by
//! [client-side caching](https://redis.io/docs/latest/develop/reference/client-side-caching/): it remembers which
//! keys a connection has read, and tells of the first change of each. What it tells is a hint. It moves no deadline,
//! and neither ends nor confirms a hold: that is for the answer to a look, which is a renewal of 0 ms.
//!
//! ```text
//!           follow                read: the next change is told
//! (no key) ────────► Reading ──────────────────────────────────► Standing
//!    ▲                ▲   │ told meanwhile                          │ told
//!    │ not held       │   └────────────────► Waiting ◄──────────────┘
//!    └────────────────│─────────────────────   │
//!                     └──── not too often ─────┘ and then the holds are looked at
//!
//! the connection is lost ─► Unheard ── read again ─► looked at, Standing
//! ```
//!
//! # Invariants
//! - **A key is read before its holds are looked at**, so no change between the two goes unheard.
//! - **What is told while a key is read makes one more look**: its entry on the server is used up.
//! - **No loops**: [`pace`] bounds how often a key is read. Beyond that it is not read before its next renewal.
//! - **A key that nothing here holds costs no command** when it is told of.
//!
//! # What proves them
//! Stories in `tests`; the simulation with `--tracking`; planted: `told-is-verdict`, `gap-not-looked-at`,
//! `look-renews`, `not-read-again`. In `tests/it/tracking`, on real servers: each way to take a key away, on each kind.
//!
//! # To change…
//! - how often is looked: `pace`; what follows of what is heard: `table`; where a key stands: `entries`
//! - when a hold is followed first: `claim/following.rs`
//! - what operators are told, and how often: `news`
//! - what an answer to a look means: `claim/looking.rs`
//! - what is said on the connection: `pubsub/reading.rs`

mod entries;
mod news;
mod pace;
mod table;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use tokio::{runtime::Handle, sync::Notify};

pub(crate) use self::pace::Followed;
use self::{
    news::TrackingNews,
    table::{KeyTable, TrackingStep},
};
use crate::{
    clock::{Instant, SharedClock, due_or_nudged},
    error::NodeId,
    logging::NODE,
    node::Node,
    pubsub::{PubSub, PubSubEvent, SubscriptionChange},
    telling,
};

/// What is held, by the channels on which holds are listed.
///
/// A trait because holds stand above this room.
pub(crate) trait Holds: Send + Sync {
    /// Until when the first of those on `channel` stands; `None` if nothing is held there.
    fn held_until(&self, channel: &str) -> Option<Instant>;

    /// Has it looked at once whether those on `channel` still stand. Must not block.
    fn look(&self, channel: &str);
}

/// The keys that are followed on one node, for one client.
#[derive(Debug)]
pub(crate) struct Tracker(Arc<TrackerInner>);

struct TrackerInner {
    node: NodeId,
    clock: SharedClock,
    table: Mutex<KeyTable>,
    /// Something became due earlier.
    nudge: Arc<Notify>,
    pubsub: PubSub,
    holds: Weak<dyn Holds>,
}

impl Tracker {
    /// Sends nothing yet. What it does goes on on `on`.
    pub(crate) fn new(
        node: &Node,
        on: &Handle,
        clock: SharedClock,
        holds: Weak<dyn Holds>,
    ) -> Self {
        let inner = Arc::new_cyclic(|inner: &Weak<TrackerInner>| {
            let heard = inner.clone();
            let pubsub = PubSub::about_keys(node, on, move |event| {
                if let Some(inner) = heard.upgrade() {
                    inner.on_event(&event);
                }
            });
            let (table, nudge) = (Mutex::default(), Arc::default());
            TrackerInner { node: node.id().clone(), clock, table, nudge, pubsub, holds }
        });
        on.spawn(look_when_due(Arc::downgrade(&inner), inner.clock.clone(), inner.nudge.clone()));
        Self(inner)
    }

    /// From now on changes of a key are heard of, until nothing is held on its channel. Never blocks.
    pub(crate) fn follow(&self, key: &Arc<str>, followed: Followed) {
        let steps = self.0.table().follow(key, followed, self.0.clock.now());
        self.0.carry_out(steps);
    }
}

/// Until the tracker is dropped.
async fn look_when_due(tracker: Weak<TrackerInner>, clock: SharedClock, nudge: Arc<Notify>) {
    loop {
        let Some(due) = tracker.upgrade().map(|inner| inner.table().next_due()) else { return };
        due_or_nudged(&clock, due, &nudge).await;
        let Some(inner) = tracker.upgrade() else { return };
        inner.be_due();
    }
}

impl TrackerInner {
    fn on_event(&self, event: &PubSubEvent) {
        let Some(holds) = self.holds.upgrade() else { return };
        let held_until = |channel: &str| holds.held_until(channel);
        let (steps, is_earlier) = {
            let mut table = self.table();
            let due = table.next_due();
            let steps = table.on_event(event, self.clock.now(), &held_until);
            (steps, table.next_due().is_some_and(|at| due.is_none_or(|due| at < due)))
        };
        self.carry_out(steps);
        if is_earlier {
            self.nudge.notify_one();
        }
    }

    fn be_due(&self) {
        let Some(holds) = self.holds.upgrade() else { return };
        let steps = self.table().be_due(self.clock.now(), &|channel| holds.held_until(channel));
        self.carry_out(steps);
    }

    fn carry_out(&self, steps: Vec<TrackingStep>) {
        for step in steps {
            match step {
                TrackingStep::Read(key) => self.pubsub.send(SubscriptionChange::Subscribe(key)),
                TrackingStep::Leave(key) => self.pubsub.send(SubscriptionChange::Unsubscribe(key)),
                TrackingStep::Look(channel) => {
                    self.holds.upgrade().iter().for_each(|holds| holds.look(&channel));
                }
                TrackingStep::Tell(news) => self.tell(news),
            }
        }
    }

    fn tell(&self, news: TrackingNews) {
        let node = self.node.clone();
        let (why, cause) = match news {
            TrackingNews::Restored => {
                return telling::event_elsewhere(
                    move || tracing::info!(target: NODE, %node, "that a lock was taken away is told at once again"),
                );
            }
            TrackingNews::NoMore => {
                return telling::event_elsewhere(
                    move || tracing::info!(target: NODE, %node, "more is held here than is told of at once when it is taken away"),
                );
            }
            TrackingNews::Lost(cause) => ("the connection for it is lost", Some(cause)),
            TrackingNews::Refused(cause) => ("the server does not tell this user", Some(cause)),
            TrackingNews::TooManyKeys => (
                "keys are told of too often: they change so often, or tracking-table-max-keys is too small",
                None,
            ),
        };
        telling::event_elsewhere(move || {
            tracing::warn!(
                target: NODE, %node, why, cause = cause.as_ref().map(tracing::field::display),
                "that a lock was taken away is not told at once: it is found when that is renewed"
            )
        });
    }

    fn table(&self) -> MutexGuard<'_, KeyTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TrackerInner {
    /// So that its task ends.
    fn drop(&mut self) {
        self.nudge.notify_one();
    }
}

impl fmt::Debug for TrackerInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tracker").field("node", &self.node).finish_non_exhaustive()
    }
}
