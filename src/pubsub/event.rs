//! What is asked of the task, and what it reports.

use std::{fmt, sync::Arc};

use crate::{error::NodeError, node::Core};

/// What happens to the subscriptions.
#[derive(Debug)]
pub(crate) enum PubSubEvent {
    /// A message on a channel that we subscribed to, and its text.
    Message(Arc<str>, Vec<u8>),
    /// The server confirmed the subscription, for the first time or after a gap.
    Subscribed(Arc<str>),
    /// The server or the network refused it. It is tried again every few seconds.
    Refused(Arc<str>, NodeError),
    /// The subscription has ended as we asked.
    Unsubscribed(Arc<str>),
    /// The connection was lost: messages may have been missed on every channel.
    Gap,
    /// The same on one channel alone. `Subscribed` or `Refused` follows, as for each after a `Gap`.
    GapOn(Arc<str>),
    /// A key has changed since it was last read, and is to be read again.
    Changed(Arc<str>),
    /// A key was read, as `Subscribed` is of a channel: its next change is told. So many have a part of what
    /// stands there; 0 if nothing does that can be held.
    Read(Arc<str>, u64),
    /// Each key that was read may have changed, and is to be read again: the server tells of none of them any more.
    AllChanged,
}

/// What the names are that are subscribed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// Channels, of which messages are heard.
    Channels,
    /// Keys, of which it is told once that they changed after each time that they are read.
    Keys,
}

/// What is asked of the server. The sender of these sends one per change of a channel's state and
/// waits for its event, so their number is bounded by the number of channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubscriptionChange {
    /// Answered by `Subscribed` or `Refused`. Asking again after `Refused` is a new attempt.
    Subscribe(Arc<str>),
    /// Answered by `Unsubscribed`.
    Unsubscribe(Arc<str>),
}

/// The listeners to events.
#[derive(Clone)]
pub(super) struct Events(Arc<dyn Fn(PubSubEvent) + Send + Sync>);

impl Events {
    pub(super) fn new(sink: Arc<dyn Fn(PubSubEvent) + Send + Sync>) -> Self {
        Self(sink)
    }

    pub(super) fn send(&self, event: PubSubEvent) {
        (self.0)(event);
    }

    /// Answers a change that cannot be carried out any more.
    pub(super) fn over(&self, change: SubscriptionChange, core: &Core) {
        self.send(match change {
            SubscriptionChange::Subscribe(channel) => {
                PubSubEvent::Refused(channel, core.why_over())
            }
            SubscriptionChange::Unsubscribe(channel) => PubSubEvent::Unsubscribed(channel),
        });
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Events")
    }
}
