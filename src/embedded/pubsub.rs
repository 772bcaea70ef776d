//! Which connection listens to what. Plain and sharded channels are apart, as in Redis; so are
//! patterns.

use std::collections::{BTreeMap, BTreeSet};

use super::glob;

/// Names a connection for as long as the server's process lives; never used twice.
pub(crate) type ClientId = u64;

/// What one can subscribe to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelKind {
    Channel,
    Pattern,
    Shard,
}

#[derive(Debug, Default)]
pub(crate) struct SubscriberTable {
    channels: Topics,
    patterns: Topics,
    shards: Topics,
}

/// Subscribers by name. No name is kept without one.
type Topics = BTreeMap<Vec<u8>, BTreeSet<ClientId>>;

/// Where a message goes: the subscriber, and the pattern by which it was found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    pub(crate) to: ClientId,
    pub(crate) pattern: Option<Vec<u8>>,
}

impl SubscriberTable {
    pub(crate) fn subscribe(&mut self, kind: ChannelKind, name: &[u8], client: ClientId) {
        self.topics_mut(kind).entry(name.to_vec()).or_default().insert(client);
    }

    pub(crate) fn unsubscribe(&mut self, kind: ChannelKind, name: &[u8], client: ClientId) {
        let topics = self.topics_mut(kind);
        if let Some(clients) = topics.get_mut(name) {
            clients.remove(&client);
            if clients.is_empty() {
                topics.remove(name);
            }
        }
    }

    /// The connections that get a message, in order of connecting: those of the channel, then those
    /// of patterns.
    pub(crate) fn audience(&self, kind: ChannelKind, channel: &[u8]) -> Vec<Delivery> {
        let direct = self.topics(kind).get(channel).into_iter().flatten();
        let mut audience: Vec<_> =
            direct.map(|client| Delivery { to: *client, pattern: None }).collect();
        if kind == ChannelKind::Channel {
            for (pattern, clients) in &self.patterns {
                if glob::matches(pattern, channel) {
                    let pattern = Some(pattern.clone());
                    let found = |to: &ClientId| Delivery { to: *to, pattern: pattern.clone() };
                    audience.extend(clients.iter().map(found));
                }
            }
        }
        audience
    }

    pub(crate) fn subscribers(&self, kind: ChannelKind, name: &[u8]) -> usize {
        self.topics(kind).get(name).map_or(0, BTreeSet::len)
    }

    /// Names with at least one subscriber, in order.
    pub(crate) fn names(&self, kind: ChannelKind) -> impl Iterator<Item = &Vec<u8>> {
        self.topics(kind).keys()
    }

    fn topics(&self, kind: ChannelKind) -> &Topics {
        match kind {
            ChannelKind::Channel => &self.channels,
            ChannelKind::Pattern => &self.patterns,
            ChannelKind::Shard => &self.shards,
        }
    }

    fn topics_mut(&mut self, kind: ChannelKind) -> &mut Topics {
        match kind {
            ChannelKind::Channel => &mut self.channels,
            ChannelKind::Pattern => &mut self.patterns,
            ChannelKind::Shard => &mut self.shards,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_reaches_channel_and_pattern_but_not_shard() {
        let mut registry = SubscriberTable::default();
        registry.subscribe(ChannelKind::Channel, b"news", 2);
        registry.subscribe(ChannelKind::Channel, b"news", 1);
        registry.subscribe(ChannelKind::Pattern, b"n*", 1);
        registry.subscribe(ChannelKind::Shard, b"news", 3);
        let to: Vec<_> =
            registry.audience(ChannelKind::Channel, b"news").iter().map(|d| d.to).collect();
        assert_eq!(to, [1, 2, 1]);
        assert_eq!(registry.audience(ChannelKind::Shard, b"news").len(), 1);
    }

    #[test]
    fn last_to_leave_takes_the_name_along() {
        let mut registry = SubscriberTable::default();
        registry.subscribe(ChannelKind::Channel, b"news", 1);
        registry.unsubscribe(ChannelKind::Channel, b"news", 1);
        assert_eq!(registry.names(ChannelKind::Channel).count(), 0);
        assert_eq!(registry.subscribers(ChannelKind::Channel, b"news"), 0);
    }
}
