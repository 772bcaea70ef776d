//! What stands on one server, and what happened there since the step began.

use std::collections::{BTreeMap, BTreeSet};

use testkit::{Connection, RedisServer, Reply};

use super::words::{shown, shown_lease, shown_ttl};

pub(super) struct View<'a> {
    server: &'a RedisServer,
    /// Is told of every message and of every key that is written.
    listener: Connection,
    /// What stood there before anything was done.
    first: BTreeMap<String, String>,
    before: BTreeSet<String>,
    messages: Vec<String>,
    written: BTreeSet<String>,
}

impl<'a> View<'a> {
    pub(super) fn of(server: &'a RedisServer) -> Self {
        server.cli(&["CONFIG", "SET", "notify-keyspace-events", "KA"]);
        let mut listener = server.connect();
        listener.command(&["PSUBSCRIBE", "*"]).unwrap();
        let first = keys(server);
        let (messages, written) = (Vec::new(), BTreeSet::new());
        Self { server, listener, first, before: BTreeSet::new(), messages, written }
    }

    pub(super) fn begin(&mut self) {
        // What the last step did may be told only now.
        self.listen();
        self.before = keys(self.server).into_keys().collect();
        self.messages.clear();
        self.written.clear();
    }

    pub(super) fn lines(&mut self) -> Vec<String> {
        self.listen();
        let now = keys(self.server);
        let gone = |key: &&String| !now.contains_key(*key) && !self.before.contains(*key);
        let gone: Vec<_> = self.written.iter().filter(gone).collect();
        let stands = now.iter().filter(|(key, value)| self.first.get(*key) != Some(value));
        let stands = stands.map(|(key, value)| format!("{} = {value}", shown(key)));
        let messages = self.messages.iter().cloned();
        let gone = gone.into_iter().map(|key| format!("{} came and went", shown(key)));
        stands.chain(messages).chain(gone).collect()
    }

    /// Hears everything that was published by now: a message of ours comes behind it.
    fn listen(&mut self) {
        self.server.cli(&["PUBLISH", END, ""]);
        loop {
            let push = self.listener.read().unwrap();
            let [_, _, channel, message] = push.array() else { panic!("{push:?}") };
            let channel = channel.to_string();
            if channel == END {
                return;
            }
            match channel.strip_prefix("__keyspace@0__:") {
                Some(key) if is_left_out(key) => {}
                Some(key) => drop(self.written.insert(key.to_owned())),
                None => self.messages.push(format!("{} <- {message}", shown(&channel))),
            }
        }
    }
}

const END: &str = "interop:end";

/// What Java does not know, and whose content is another at each run: the mark, which a client writes anew whose
/// leases are longer than what it tells, and the last zero of a latch, which stays for ten minutes.
fn is_left_out(key: &str) -> bool {
    key == "palisade:marker" || key.ends_with(":palisade_zero")
}

/// Each with what it holds, but for those that are left out.
fn keys(server: &RedisServer) -> BTreeMap<String, String> {
    let keys = server.command(&["KEYS", "*"]);
    let keys = keys.array().iter().map(Reply::to_string).filter(|key| !is_left_out(key));
    keys.filter_map(|key| Some((key.clone(), value(server, &key)?))).collect()
}

/// What a key holds, and for how long; `None` if it went meanwhile.
fn value(server: &RedisServer, key: &str) -> Option<String> {
    let content = match server.cli(&["TYPE", key]).as_str() {
        "hash" => server.cli(&["HGETALL", key]),
        "string" => server.cli(&["GET", key]),
        "list" => server.cli(&["LRANGE", key, "0", "-1"]),
        // Of a queue, deadlines that the snapshot has set itself.
        "zset" if key.starts_with("redisson_lock_timeout:") => {
            server.cli(&["ZRANGE", key, "0", "-1", "WITHSCORES"])
        }
        "zset" => permits(server, key),
        _ => return None,
    };
    let ttl = server.command(&["PTTL", key]).int();
    (ttl != -2).then(|| format!("{}, {}", shown(&content), shown_ttl(ttl)))
}

/// The permits of a semaphore, each with how long it still has.
fn permits(server: &RedisServer, key: &str) -> String {
    let time = server.command(&["TIME"]);
    let now_ms = time.array()[0].to_string().parse::<i64>().unwrap() * 1_000;
    let members = server.command(&["ZRANGE", key, "0", "-1", "WITHSCORES"]);
    let shown = members.array().chunks(2).map(|pair| {
        let lease = shown_lease(pair[1].to_string().parse::<i64>().unwrap() - now_ms);
        match &pair[0] {
            Reply::Bulk(bytes) if bytes.len() == 16 => format!("<permit> for {lease}"),
            other => format!("{other} for {lease}"),
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}
