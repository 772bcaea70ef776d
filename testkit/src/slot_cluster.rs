//! Redis Cluster: masters that share the slots, and their replicas.

use std::collections::BTreeSet;
use std::ops::Index;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::builder::{RedisServerBuilder, major_version};
use crate::cluster::Cluster;
use crate::port::PortClaim;
use crate::resp::Reply;
use crate::server::RedisServer;
use crate::stats;
use crate::tls::{Authority, TlsPort};

/// A Redis Cluster. Its masters come first, each with a third of the slots if there are three; then their
/// replicas, in the same order.
///
/// A master that is dead is noticed after about half a second.
#[derive(Debug)]
pub struct SlotCluster {
    servers: Vec<RedisServer>,
    masters: usize,
    dead: Mutex<BTreeSet<usize>>,
    /// Those of its bus, if they can be chosen.
    buses: Vec<Option<PortClaim>>,
    is_over_tls: bool,
}

impl SlotCluster {
    /// How many slots there are.
    pub const SLOTS: u16 = 16_384;

    /// Starts masters without replicas, and waits until they agree that all is well.
    ///
    /// # Panics
    /// One does not start, or they do not agree.
    #[must_use]
    pub fn start(masters: usize) -> Self {
        Self::start_with(masters, false, |server| server)
    }

    /// The same of servers that are set up further.
    ///
    /// # Panics
    /// One does not start, or they do not agree.
    #[must_use]
    pub fn start_of(
        masters: usize,
        set_up: impl Fn(RedisServerBuilder) -> RedisServerBuilder,
    ) -> Self {
        Self::start_with(masters, false, set_up)
    }

    /// The same with a replica of each.
    ///
    /// # Panics
    /// One does not start, or they do not agree.
    #[must_use]
    pub fn replicated(masters: usize) -> Self {
        Self::start_with(masters, true, |server| server)
    }

    /// The same of servers that are set up further.
    ///
    /// # Panics
    /// One does not start, or they do not agree.
    #[must_use]
    pub fn replicated_of(
        masters: usize,
        set_up: impl Fn(RedisServerBuilder) -> RedisServerBuilder,
    ) -> Self {
        Self::start_with(masters, true, set_up)
    }

    /// Masters that speak TLS, also among themselves, with certificates of this authority for 127.0.0.1.
    ///
    /// # Panics
    /// One does not start, or they do not agree.
    #[must_use]
    pub fn over_tls(masters: usize, authority: &Authority) -> Self {
        let certificate = authority.issue(&["127.0.0.1"]);
        let secured = |server: RedisServerBuilder| {
            let port = TlsPort::of_cluster(&certificate, &authority.root());
            server.tls(port).arg("--tls-cluster", "yes").arg("--tls-replication", "yes")
        };
        Self::form(masters, masters, true, secured)
    }

    fn start_with(
        masters: usize,
        with_replicas: bool,
        set_up: impl Fn(RedisServerBuilder) -> RedisServerBuilder,
    ) -> Self {
        let all = if with_replicas { 2 * masters } else { masters };
        Self::form(masters, all, false, set_up)
    }

    fn form(
        masters: usize,
        all: usize,
        is_over_tls: bool,
        set_up: impl Fn(RedisServerBuilder) -> RedisServerBuilder,
    ) -> Self {
        let with_replicas = all > masters;
        let may_choose = major_version() >= 7;
        let buses: Vec<_> = (0..all).map(|_| may_choose.then(PortClaim::new)).collect();
        let servers = buses.iter().map(|bus| set_up(server(bus.as_ref())).start()).collect();
        let cluster = Self { servers, masters, dead: Mutex::default(), buses, is_over_tls };
        cluster.share_slots();
        cluster.meet();
        if with_replicas {
            cluster.replicate();
        }
        cluster.wait_until_ok();
        cluster
    }

    fn share_slots(&self) {
        for (n, server) in self.servers.iter().enumerate() {
            // Two that claim the same number would have to find out which is to change it.
            server.cli(&["CLUSTER", "SET-CONFIG-EPOCH", &(n + 1).to_string()]);
        }
        let bound = |n: usize| u16::try_from(usize::from(Self::SLOTS) * n / self.masters);
        let bound = |n| bound(n).expect("invariant: not more than all slots");
        (0..self.masters).for_each(|n| self[n].serve_slots(bound(n)..bound(n + 1)));
    }

    fn meet(&self) {
        for (n, bus) in self.buses.iter().enumerate().skip(1) {
            let bus = bus.as_ref().map_or(self[n].port() + BUS, PortClaim::port).to_string();
            self[0].cli(&["CLUSTER", "MEET", "127.0.0.1", &self.port(n).to_string(), &bus]);
        }
        let known = format!("cluster_known_nodes:{}", self.servers.len());
        self.until("they know each other", |server| {
            let nodes = server.cli(&["CLUSTER", "NODES"]);
            server.cli(&["CLUSTER", "INFO"]).contains(&known) && !nodes.contains("handshake")
        });
    }

    fn replicate(&self) {
        for n in 0..self.masters {
            let master = self.id(n);
            self[n].cli(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"]);
            self[self.masters + n].cli(&["CLUSTER", "REPLICATE", &master]);
        }
        self.until("the replicas have their masters' data", |server| {
            let info = server.cli(&["INFO", "replication"]);
            info.contains("master_link_status:up") || info.contains("connected_slaves:1")
        });
    }

    /// From now on they take no server for dead that is only slow, as all are on a busy machine: they have to be
    /// [told](Self::replace).
    ///
    /// # Panics
    /// One refuses.
    #[must_use]
    pub fn patient(self) -> Self {
        for server in self.living() {
            let said = server.cli(&["CONFIG", "SET", "cluster-node-timeout", PATIENT_MS]);
            assert_eq!(said, "OK", "the time after which one is taken for dead");
        }
        self.wait_until_ok();
        self
    }

    /// Has the other of a pair take the place of a master that is dead, and waits until all know. It needs no
    /// votes, so no other has to have noticed the death.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn replace(&self, dead: usize) {
        let other = if dead < self.masters { dead + self.masters } else { dead - self.masters };
        self[other].cli(&["CLUSTER", "FAILOVER", "TAKEOVER"]);
        self.wait_until_replaced(dead);
    }

    /// Waits until all that live say that every slot is served, and name the same server for each.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn wait_until_ok(&self) {
        self.until("all slots are served", |server| {
            server.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok")
                && owners(server) == owners(self.alive())
        });
    }

    /// Waits until another serves the slots of this one, and all is well again.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn wait_until_replaced(&self, n: usize) {
        let port = self[n].port();
        self.until("another has its slots", |server| {
            owners(server).iter().all(|(_, _, owner)| *owner != port)
        });
        self.wait_until_ok();
    }

    /// Its servers, where nothing but these is needed. Another may then take the port of a bus while its
    /// server is dead.
    #[must_use]
    pub fn into_servers(self) -> Cluster {
        Cluster::of(self.servers)
    }

    /// `host:port` of the masters that there were in the beginning.
    #[must_use]
    pub fn hosts(&self) -> Vec<String> {
        (0..self.masters).map(|n| format!("127.0.0.1:{}", self.port(n))).collect()
    }

    fn port(&self, n: usize) -> u16 {
        if self.is_over_tls { self[n].tls_port() } else { self[n].port() }
    }

    /// In which slot a key is.
    ///
    /// # Panics
    /// No server lives.
    #[must_use]
    pub fn slot_of(&self, key: &str) -> u16 {
        let slot = self.alive().cli(&["CLUSTER", "KEYSLOT", key]);
        slot.parse().expect("a slot is a number")
    }

    /// The server of a slot, as those that live have it.
    ///
    /// # Panics
    /// None does.
    #[must_use]
    pub fn owner_of(&self, slot: u16) -> usize {
        let owners = owners(self.alive());
        let owner = owners.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        let (_, _, port) = owner.expect("somebody serves the slot");
        let server = self.servers.iter().position(|server| server.port() == *port);
        server.expect("it is one of ours")
    }

    /// The server of any slot, as those that live have it.
    #[must_use]
    pub fn serving(&self) -> Vec<usize> {
        let ports: BTreeSet<_> =
            owners(self.alive()).into_iter().map(|(_, _, port)| port).collect();
        (0..self.servers.len()).filter(|n| ports.contains(&self[*n].port())).collect()
    }

    /// All that live.
    pub fn servers(&self) -> impl Iterator<Item = &RedisServer> {
        self.living()
    }

    /// Moves a slot with all its keys.
    ///
    /// # Panics
    /// They refuse.
    pub fn move_slot(&self, slot: u16, to: usize) {
        self.begin_move(slot, to);
        self.move_keys(slot, to);
        self.finish_move(slot, to);
    }

    /// Leaves a slot half moved: its owner still has the keys that it has, and sends for all others to the
    /// one that imports it.
    ///
    /// # Panics
    /// They refuse.
    pub fn begin_move(&self, slot: u16, to: usize) {
        let from = self.owner_of(slot);
        let slot = slot.to_string();
        self[to].cli(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &self.id(from)]);
        self[from].cli(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &self.id(to)]);
    }

    /// Moves the keys of a slot that is being moved.
    ///
    /// # Panics
    /// They refuse.
    pub fn move_keys(&self, slot: u16, to: usize) {
        let from = self.owner_of(slot);
        let count = ["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "1000"];
        let keys: Vec<_> =
            self[from].command(&count).array().iter().map(Reply::to_string).collect();
        keys.iter().for_each(|key| self.move_key(key, to));
    }

    /// Moves one key of a slot that is being moved.
    ///
    /// # Panics
    /// They refuse.
    pub fn move_key(&self, key: &str, to: usize) {
        let from = self.owner_of(self.slot_of(key));
        let port = self.port(to).to_string();
        // A failover may have left an older copy there.
        let migrate = ["MIGRATE", "127.0.0.1", &port, key, "0", "5000", "REPLACE"];
        let deadline = Instant::now() + LIMIT;
        loop {
            let reply = self[from].command(&migrate);
            let is_passing = reply.to_string().contains("CLUSTERDOWN");
            if !reply.is_error() {
                return;
            }
            assert!(is_passing && Instant::now() < deadline, "not moved: {reply}");
            thread::sleep(POLL);
        }
    }

    /// Ends a move: the slot is that of the one that imports it. All are told, as `redis-cli` does.
    ///
    /// # Panics
    /// They refuse.
    pub fn finish_move(&self, slot: u16, to: usize) {
        let (from, id, slot) = (self.owner_of(slot), self.id(to), slot.to_string());
        let serving = self.serving().into_iter();
        let others = serving.filter(|n| ![from, to].contains(n) && self.lives(*n));
        for n in [to, from].into_iter().chain(others) {
            self[n].cli(&["CLUSTER", "SETSLOT", &slot, "NODE", &id]);
        }
        // Else the next move may take the number of this one, and they would not agree for a while.
        let newest = epoch(&self[to]);
        self.until("all know of the move", |server| epoch(server) >= newest);
    }

    /// What a server is called by the others.
    ///
    /// # Panics
    /// It is dead.
    #[must_use]
    pub fn id(&self, n: usize) -> String {
        self[n].cli(&["CLUSTER", "MYID"])
    }

    /// As [`RedisServer::kill`].
    pub fn kill(&self, n: usize) {
        self.dead().insert(n);
        self[n].kill();
    }

    /// As [`RedisServer::restart`].
    pub fn restart(&self, n: usize) {
        self[n].restart();
        self.dead().remove(&n);
    }

    /// Has a replica take the place of its master, which lives on as a replica, and waits until all know.
    ///
    /// # Panics
    /// They do not within a minute.
    pub fn fail_over_to(&self, replica: usize) {
        let port = self[replica].port();
        self.until("the replica is the master", |server| {
            let done = owners(server).iter().any(|(_, _, owner)| *owner == port);
            if !done {
                // Refused while the one before is not over yet.
                self[replica].command(&["CLUSTER", "FAILOVER"]);
            }
            done
        });
        self.wait_until_ok();
    }

    /// All keys of all masters, sorted.
    #[must_use]
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<_> = self.living_masters().flat_map(RedisServer::keys).collect();
        keys.sort();
        keys
    }

    /// The masters that live.
    pub fn living_masters(&self) -> impl Iterator<Item = &RedisServer> {
        let masters = owners(self.alive()).into_iter().map(|(_, _, port)| port);
        let masters: BTreeSet<_> = masters.collect();
        self.living().filter(move |server| masters.contains(&server.port()))
    }

    fn until(&self, what: &str, done: impl Fn(&RedisServer) -> bool) {
        let deadline = Instant::now() + LIMIT;
        while !self.living().all(&done) {
            assert!(Instant::now() < deadline, "never happened: {what}");
            thread::sleep(POLL);
        }
    }

    fn living(&self) -> impl Iterator<Item = &RedisServer> {
        (0..self.servers.len()).filter(|n| self.lives(*n)).map(|n| &self[n])
    }

    fn alive(&self) -> &RedisServer {
        self.living().next().expect("a server lives")
    }

    fn lives(&self, n: usize) -> bool {
        !self.dead().contains(&n)
    }

    fn dead(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index<usize> for SlotCluster {
    type Output = RedisServer;

    fn index(&self, n: usize) -> &RedisServer {
        self.servers.get(n).unwrap_or_else(|| panic!("server {n} of {}", self.servers.len()))
    }
}

fn server(bus: Option<&PortClaim>) -> RedisServerBuilder {
    let server = RedisServer::builder().arg("--cluster-enabled", "yes");
    let server = match bus {
        Some(bus) => server.arg("--cluster-port", bus.port().to_string()),
        None => server,
    };
    server
        .arg("--cluster-node-timeout", NODE_TIMEOUT_MS)
        // One that has lost its master for a moment may take its place.
        .arg("--cluster-replica-validity-factor", "0")
}

/// The number of the newest change that it knows of.
fn epoch(server: &RedisServer) -> u64 {
    let info = server.cli(&["CLUSTER", "INFO"]);
    let epoch = stats::field(&info, "cluster_current_epoch").and_then(|epoch| epoch.parse().ok());
    epoch.expect("CLUSTER INFO tells it")
}

/// Ranges of slots with the port of their server, sorted.
fn owners(server: &RedisServer) -> Vec<(u16, u16, u16)> {
    let number = |reply: &Reply| reply.to_string().parse().expect("slots and ports are numbers");
    let range = |range: &Reply| match range.array() {
        [first, last, master, ..] => match master.array() {
            [_, port, ..] => (number(first), number(last), number(port)),
            other => panic!("no address: {other:?}"),
        },
        other => panic!("no range of slots: {other:?}"),
    };
    let reply = server.command(&["CLUSTER", "SLOTS"]);
    let mut owners: Vec<_> = reply.array().iter().map(range).collect();
    owners.sort_unstable();
    owners
}

/// So much is added to a server's port where that of its bus cannot be chosen.
const BUS: u16 = 10_000;
const NODE_TIMEOUT_MS: &str = "500";
/// Longer than any test.
const PATIENT_MS: &str = "600000";
const POLL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(60);
