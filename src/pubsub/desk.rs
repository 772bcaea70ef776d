//! What is wanted, and by which listeners.

use std::{collections::BTreeSet, sync::Arc};

use tokio::sync::mpsc;

use super::event::{Events, PubSubEvent, Subject, SubscriptionChange};
use crate::{error::NodeError, node::Core};

/// What the task keeps from connection to connection.
pub(super) struct PubSubTask {
    pub(super) core: Arc<Core>,
    pub(super) subject: Subject,
    pub(super) events: Events,
    pub(super) inbox: mpsc::UnboundedReceiver<SubscriptionChange>,
    pub(super) wanted: BTreeSet<Arc<str>>,
}

impl PubSubTask {
    pub(super) const fn new(
        core: Arc<Core>,
        subject: Subject,
        events: Events,
        inbox: mpsc::UnboundedReceiver<SubscriptionChange>,
    ) -> Self {
        Self { core, subject, events, inbox, wanted: BTreeSet::new() }
    }

    /// Keeps a change in mind while there is no connection.
    pub(super) fn note(&mut self, change: &SubscriptionChange) {
        match change {
            SubscriptionChange::Subscribe(channel) => {
                self.wanted.insert(channel.clone());
            }
            SubscriptionChange::Unsubscribe(channel) => {
                self.wanted.remove(channel);
                self.events.send(PubSubEvent::Unsubscribed(channel.clone()));
            }
        }
    }

    pub(super) fn refuse_all(&self, error: &NodeError) {
        for channel in &self.wanted {
            self.events.send(PubSubEvent::Refused(channel.clone(), error.clone()));
        }
    }
}

impl Drop for PubSubTask {
    fn drop(&mut self) {
        self.inbox.close();
        self.events.send(PubSubEvent::Gap);
        self.refuse_all(&self.core.why_over());
        while let Ok(change) = self.inbox.try_recv() {
            self.events.over(change, &self.core);
        }
    }
}
