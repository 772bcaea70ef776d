//! All that the server remembers, behind one lock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::client::{ConnectedClient, ReplyBuffer};
use super::clock::EngineClock;
use super::data::Keyspace;
use super::pubsub::{ChannelKind, ClientId, SubscriberTable};
use super::resp::Reply;
use super::stats::Stats;
use super::tracking::TrackingTable;

/// How many databases `SELECT` knows.
pub(crate) const DATABASES: usize = 16;

/// Two days. A server that was just made has nothing to forget, and clients that keep out of the way
/// of young servers need not: only its restart is one.
const AGE_AT_BIRTH_MS: i64 = 2 * 86_400 * 1000;

#[derive(Debug)]
pub(crate) struct EngineState {
    pub(crate) mode: ServerMode,
    pub(crate) clock: EngineClock,
    /// The time of the request being executed, in Unix milliseconds.
    pub(crate) now_ms: i64,
    databases: BTreeMap<usize, Keyspace>,
    pub(crate) registry: SubscriberTable,
    pub(crate) tracking: TrackingTable,
    pub(crate) clients: BTreeMap<ClientId, ConnectedClient>,
    next_client: ClientId,
    pub(crate) life: Life,
    pub(crate) names: Names,
    pub(crate) stats: Stats,
    pub(crate) config: BTreeMap<&'static str, String>,
    pub(crate) delay: Duration,
    /// The connection for which the current script runs.
    pub(crate) script: Caller,
    /// Woken whenever the mode changes: the listeners.
    pub(crate) watchers: Vec<Arc<Notify>>,
}

/// Whether the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerMode {
    /// Left by `freeze`, `kill` and `stop`.
    Running,
    /// Nothing is read, executed or answered. Left by `thaw`, `kill` and `stop`.
    Frozen,
    /// No connections. Left by `restart` and `stop`.
    Killed,
    /// As killed, for good.
    Stopped,
}

/// What distinguishes one run of the server from the next.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) run_id: String,
    /// By the wall clock, as in Redis: when that jumps, so does the uptime.
    pub(crate) started_ms: i64,
    pub(crate) history: History,
}

/// Which history the data is, by the names that replicas go by.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) replid: String,
    /// What it was called before the last promotion.
    pub(crate) before: String,
    promotions: u64,
}

/// All data of a server at a moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    databases: BTreeMap<usize, Keyspace>,
    replid: String,
}

/// Stands for the name of no history.
pub(crate) const NO_HISTORY: &str = "0000000000000000000000000000000000000000";

/// On whose behalf a command is executed, and in which database.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Caller {
    pub(crate) client: ClientId,
    pub(crate) db: usize,
}

impl EngineState {
    pub(crate) fn new(clock: EngineClock, mut names: Names) -> Self {
        let config = [
            ("appendonly", "no"),
            ("databases", "16"),
            ("maxmemory", "0"),
            ("maxmemory-policy", "noeviction"),
            ("save", ""),
            ("timeout", "0"),
        ];
        Self {
            mode: ServerMode::Running,
            now_ms: clock.unix_ms(),
            databases: BTreeMap::new(),
            registry: SubscriberTable::default(),
            tracking: TrackingTable::default(),
            clients: BTreeMap::new(),
            next_client: 1,
            life: Life::new(names.next(), clock.unix_ms() - AGE_AT_BIRTH_MS),
            names,
            stats: Stats::default(),
            config: config.map(|(name, value)| (name, value.to_owned())).into(),
            delay: Duration::ZERO,
            script: Caller::default(),
            watchers: Vec::new(),
            clock,
        }
    }

    /// Notes the time at the start of a request. All of a request happens at one time.
    pub(crate) fn begin(&mut self) {
        self.now_ms = self.clock.unix_ms();
    }

    pub(crate) fn database(&mut self, db: usize) -> &mut Keyspace {
        let is_tracked = !self.tracking.is_idle();
        self.databases.entry(db).or_default().at(self.now_ms, is_tracked)
    }

    pub(crate) fn flush(&mut self) {
        self.databases.clear();
        self.tell_of_change_of_all();
    }

    /// Tells the connections that track what has changed by now.
    pub(crate) fn tell_of_changes(&mut self) {
        let changes: Vec<_> =
            self.databases.values_mut().flat_map(Keyspace::take_changes).collect();
        for key in changes {
            for client in self.tracking.changed(&key) {
                self.push(client, &invalidation(Reply::bulks([key.clone()])));
            }
        }
    }

    /// The same where no key is named.
    pub(crate) fn tell_of_change_of_all(&mut self) {
        for client in self.tracking.all_changed() {
            self.push(client, &invalidation(Reply::Nil));
        }
    }

    /// What is left when the server was made a replica of an empty one, and a master again.
    pub(crate) fn change_roles(&mut self) {
        self.flush();
        self.stats.taken_in += EMPTY_SNAPSHOT;
        self.life.promote();
    }

    /// What a replica is sent.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot { databases: self.databases.clone(), replid: self.life.history.replid.clone() }
    }

    /// The data becomes that of a master.
    pub(crate) fn take_in(&mut self, snapshot: Snapshot) {
        self.databases = snapshot.databases;
        self.tell_of_change_of_all();
        self.life.history.replid = snapshot.replid;
        self.stats.taken_in += EMPTY_SNAPSHOT;
    }

    /// Admits a connection, unless the server is down.
    pub(crate) fn open(&mut self, address: Option<String>, wake: Arc<Notify>) -> Option<ClientId> {
        if matches!(self.mode, ServerMode::Killed | ServerMode::Stopped) {
            return None;
        }
        let id = self.next_client;
        self.next_client += 1;
        let address = address.unwrap_or_else(|| format!("embedded:{id}"));
        self.clients.insert(id, ConnectedClient::new(id, address, wake, self.clock.instant()));
        Some(id)
    }

    /// Forgets a connection and wakes its task, which then ends.
    pub(crate) fn close(&mut self, id: ClientId) {
        let Some(client) = self.clients.remove(&id) else { return };
        self.tracking.end(id);
        for kind in [ChannelKind::Channel, ChannelKind::Pattern, ChannelKind::Shard] {
            for name in client.subscriptions.of(kind) {
                self.registry.unsubscribe(kind, name, id);
            }
        }
        client.wake.notify_one();
    }

    /// Queues a reply or a push. Every byte that leaves the server passes here.
    pub(crate) fn respond(&mut self, id: ClientId, reply: &Reply) {
        let now = self.clock.instant();
        if let Some(ConnectedClient { outbox, protocol, .. }) = self.clients.get_mut(&id) {
            outbox.push(reply, *protocol, now, self.delay);
        }
    }

    /// Queues a push and wakes the task that serves its receiver.
    pub(crate) fn push(&mut self, id: ClientId, reply: &Reply) {
        self.respond(id, reply);
        if let Some(client) = self.clients.get(&id) {
            client.wake.notify_one();
        }
    }

    /// Moves what can be written to the end of `out`.
    pub(crate) fn collect(&mut self, id: ClientId, out: &mut Vec<u8>) -> Option<Instant> {
        let now = self.clock.instant();
        let outbox: &mut ReplyBuffer = &mut self.clients.get_mut(&id)?.outbox;
        outbox.collect(now, out)
    }

    pub(crate) fn set_mode(&mut self, mode: ServerMode) {
        self.mode = mode;
        if matches!(mode, ServerMode::Killed | ServerMode::Stopped) {
            while let Some(id) = self.clients.keys().next().copied() {
                self.close(id);
            }
        }
        self.clients.values().for_each(|client| client.wake.notify_one());
        self.watchers.iter().for_each(|watcher| watcher.notify_one());
    }

    /// Begins a new life with the data there is.
    pub(crate) fn revive(&mut self) {
        self.life = Life::new(self.names.next(), self.clock.unix_ms());
        self.stats = Stats::default();
        self.set_mode(ServerMode::Running);
    }
}

impl Life {
    fn new(run_id: String, started_ms: i64) -> Self {
        let before = NO_HISTORY.to_owned();
        let history = History { replid: replid(&run_id, 0), before, promotions: 0 };
        Self { run_id, started_ms, history }
    }

    pub(crate) fn promote(&mut self) {
        self.history.promotions += 1;
        let now = replid(&self.run_id, self.history.promotions);
        self.history.before = std::mem::replace(&mut self.history.replid, now);
    }
}

fn invalidation(of: Reply) -> Reply {
    Reply::Push(vec![Reply::bulk("invalidate"), of])
}

/// Not drawn, so that a seed gives the same run ids whichever server is promoted.
fn replid(run_id: &str, promotions: u64) -> String {
    sha1_smol::Sha1::from(format!("{run_id} {promotions}")).digest().to_string()
}

/// The length of a snapshot without data, in bytes.
const EMPTY_SNAPSHOT: u64 = 176;

/// By what the server is known: the same from the same seed.
#[derive(Debug)]
pub(crate) struct Names {
    /// Whence the run ids come.
    chance: u64,
    pub(crate) process_id: u32,
}

impl Names {
    pub(crate) fn by_chance() -> Self {
        Self { chance: rand::random(), process_id: std::process::id() }
    }

    /// The process that it is in is another one each time, so it is told of as in a container.
    pub(crate) const fn seeded(seed: u64) -> Self {
        Self { chance: seed, process_id: 1 }
    }

    /// 40 hexadecimal digits.
    fn next(&mut self) -> String {
        // SplitMix64, as published.
        let mut digits = || {
            self.chance = self.chance.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut mixed = self.chance;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            mixed ^ (mixed >> 31)
        };
        let (high, middle, low) = (digits(), digits(), digits());
        format!("{high:016x}{middle:016x}{:08x}", low >> 32)
    }
}
