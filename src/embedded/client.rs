//! What the server knows of one connection.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::pubsub::{ChannelKind, ClientId};
use super::resp::{Protocol, Reply};

#[derive(Debug)]
pub(crate) struct ConnectedClient {
    pub(crate) id: ClientId,
    pub(crate) address: String,
    pub(crate) name: String,
    pub(crate) library: Library,
    pub(crate) protocol: Protocol,
    pub(crate) db: usize,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) transaction: Option<Transaction>,
    pub(crate) outbox: ReplyBuffer,
    /// Nothing more is executed; the connection ends when the outbox has been written.
    pub(crate) closing: bool,
    pub(crate) connected_at: Instant,
    pub(crate) last_command: &'static str,
    /// Wakes the task that serves this connection.
    pub(crate) wake: Arc<Notify>,
}

/// What the client says of itself with `CLIENT SETINFO`.
#[derive(Debug, Default)]
pub(crate) struct Library {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// Commands queued between MULTI and EXEC.
#[derive(Debug, Default)]
pub(crate) struct Transaction {
    pub(crate) queue: Vec<Vec<Vec<u8>>>,
    /// A command could not be queued: EXEC will refuse.
    pub(crate) spoiled: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Subscriptions {
    channels: BTreeSet<Vec<u8>>,
    patterns: BTreeSet<Vec<u8>>,
    shards: BTreeSet<Vec<u8>>,
}

/// Answers on their way, in order.
#[derive(Debug, Default)]
pub(crate) struct ReplyBuffer {
    ready: Vec<u8>,
    later: VecDeque<(Instant, Vec<u8>)>,
}

impl ConnectedClient {
    pub(crate) fn new(id: ClientId, address: String, wake: Arc<Notify>, now: Instant) -> Self {
        Self {
            id,
            address,
            name: String::new(),
            library: Library::default(),
            protocol: Protocol::default(),
            db: 0,
            subscriptions: Subscriptions::default(),
            transaction: None,
            outbox: ReplyBuffer::default(),
            closing: false,
            connected_at: now,
            last_command: "NULL",
            wake,
        }
    }

    /// An old-protocol connection with subscriptions can do little else.
    pub(crate) fn only_listens(&self) -> bool {
        self.protocol == Protocol::Resp2 && self.subscriptions.any()
    }
}

impl Subscriptions {
    pub(crate) fn of(&self, kind: ChannelKind) -> &BTreeSet<Vec<u8>> {
        match kind {
            ChannelKind::Channel => &self.channels,
            ChannelKind::Pattern => &self.patterns,
            ChannelKind::Shard => &self.shards,
        }
    }

    pub(crate) fn of_mut(&mut self, kind: ChannelKind) -> &mut BTreeSet<Vec<u8>> {
        match kind {
            ChannelKind::Channel => &mut self.channels,
            ChannelKind::Pattern => &mut self.patterns,
            ChannelKind::Shard => &mut self.shards,
        }
    }

    /// The number SUBSCRIBE and its kin report: shard channels are counted apart.
    pub(crate) fn count(&self, kind: ChannelKind) -> usize {
        match kind {
            ChannelKind::Channel | ChannelKind::Pattern => {
                self.channels.len() + self.patterns.len()
            }
            ChannelKind::Shard => self.shards.len(),
        }
    }

    pub(crate) fn any(&self) -> bool {
        self.count(ChannelKind::Channel) + self.count(ChannelKind::Shard) > 0
    }
}

impl ReplyBuffer {
    /// Adds a reply, to be written `delay` from now, but never before an earlier one.
    pub(crate) fn push(
        &mut self,
        reply: &Reply,
        protocol: Protocol,
        now: Instant,
        delay: Duration,
    ) {
        if delay.is_zero() && self.later.is_empty() {
            reply.encode(protocol, &mut self.ready);
            return;
        }
        let mut bytes = Vec::new();
        reply.encode(protocol, &mut bytes);
        let due = (now + delay).max(self.later.back().map_or(now, |(due, _)| *due));
        self.later.push_back((due, bytes));
    }

    /// Moves what is due to the end of `out`; when to ask again, if anything is left.
    pub(crate) fn collect(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Instant> {
        if out.is_empty() {
            std::mem::swap(out, &mut self.ready);
        } else {
            out.append(&mut self.ready);
        }
        while self.later.front().is_some_and(|(due, _)| *due <= now) {
            out.extend(self.later.pop_front().into_iter().flat_map(|(_, bytes)| bytes));
        }
        self.later.front().map(|(due, _)| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_reply_never_overtakes() {
        let now = Instant::now();
        let mut outbox = ReplyBuffer::default();
        let second = Duration::from_secs(1);
        outbox.push(&Reply::Integer(1), Protocol::Resp2, now, second);
        outbox.push(&Reply::Integer(2), Protocol::Resp2, now, Duration::ZERO);
        let mut out = Vec::new();
        assert_eq!(outbox.collect(now, &mut out), Some(now + second));
        assert!(out.is_empty());
        assert_eq!(outbox.collect(now + second, &mut out), None);
        assert_eq!(out, b":1\r\n:2\r\n");
    }
}
