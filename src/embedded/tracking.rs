//! Which connection is told when which key changes: client-side caching, as `CLIENT TRACKING ON` has it.

use std::collections::{BTreeMap, BTreeSet};

use super::commands::Args;
use super::pubsub::ClientId;

/// A key is told of once to each connection that read it, whichever database it is in.
#[derive(Debug, Default)]
pub(crate) struct TrackingTable {
    clients: BTreeSet<ClientId>,
    readers: BTreeMap<Vec<u8>, BTreeSet<ClientId>>,
}

impl TrackingTable {
    pub(crate) fn is_idle(&self) -> bool {
        self.clients.is_empty()
    }

    pub(crate) fn begin(&mut self, client: ClientId) {
        self.clients.insert(client);
    }

    pub(crate) fn end(&mut self, client: ClientId) {
        if self.clients.remove(&client) {
            self.readers.retain(|_, readers| {
                readers.remove(&client);
                !readers.is_empty()
            });
        }
    }

    /// A command was executed for `client`.
    pub(crate) fn note(&mut self, client: ClientId, command: &str, args: Args<'_>) {
        if !self.clients.contains(&client) {
            return;
        }
        for key in keys_read_by(command, args) {
            self.readers.entry(key.to_vec()).or_default().insert(client);
        }
    }

    /// The connections that are to be told of a change, and have to read again to hear of the next.
    pub(crate) fn changed(&mut self, key: &[u8]) -> BTreeSet<ClientId> {
        self.readers.remove(key).unwrap_or_default()
    }

    /// The same of everything.
    pub(crate) fn all_changed(&mut self) -> BTreeSet<ClientId> {
        self.readers.clear();
        self.clients.clone()
    }
}

/// Those of commands that only read, as far as locks have use for them.
fn keys_read_by<'a>(command: &str, args: Args<'a>) -> &'a [&'a [u8]] {
    match command {
        "exists" => args.from(1),
        "get" | "hexists" | "hget" | "hgetall" | "hlen" | "hmget" | "llen" | "pttl" | "strlen"
        | "type" | "zcard" | "zscore" => args.from(1).get(..1).unwrap_or_default(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn change_is_told_once_to_each_connection_that_has_read() {
        let mut table = TrackingTable::default();
        let read = |table: &mut TrackingTable, client| {
            table.note(client, "hlen", Args(&[b"hlen", b"x"]));
        };
        table.begin(1);
        table.begin(2);
        [1, 2, 3].into_iter().for_each(|client| read(&mut table, client));
        assert_eq!(table.changed(b"x"), BTreeSet::from([1, 2]), "3 has not asked for it");
        assert_eq!(table.changed(b"x"), BTreeSet::new());
        read(&mut table, 1);
        table.end(1);
        assert_eq!(table.changed(b"x"), BTreeSet::new());
        assert_eq!(table.all_changed(), BTreeSet::from([2]));
    }
}
