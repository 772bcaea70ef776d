//! Three masters with a replica each, and the slots of what is contended for.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use testkit::SlotCluster;

use crate::{
    history::Leftovers,
    leftovers,
    traffic::{Prize, names},
};

#[derive(Debug)]
pub(super) struct Shards {
    cluster: SlotCluster,
    prizes: &'static [Prize],
    slots: Vec<u16>,
    /// Held by a task that changes which slots a server has: a slot that is half moved when its master is
    /// replaced would be left to an operator.
    claim: Mutex<()>,
}

impl Shards {
    pub(super) fn start(prizes: &'static [Prize]) -> Self {
        let cluster = SlotCluster::replicated_of(MASTERS, |server| {
            let at_once = server.arg("--repl-diskless-sync-delay", "0");
            // One that is only slow is not replaced: nothing happens here that is not noted.
            at_once.arg("--cluster-node-timeout", "2000")
        });
        let slots = prizes.iter().flat_map(names).map(|name| cluster.slot_of(name)).collect();
        Self { cluster, prizes, slots, claim: Mutex::default() }
    }

    pub(super) fn url(&self) -> String {
        format!("redis+cluster://{}", self.cluster.hosts().join(","))
    }

    pub(super) fn cluster(&self) -> &SlotCluster {
        &self.cluster
    }

    pub(super) fn slots(&self) -> &[u16] {
        &self.slots
    }

    pub(super) fn claim(&self) -> MutexGuard<'_, ()> {
        self.claim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The other one of the shard that this server is of.
    pub(super) fn replica_of(&self, master: usize) -> usize {
        (master + MASTERS) % (2 * MASTERS)
    }

    /// Waits until it has its master's data.
    pub(super) fn wait_until_it_follows(&self, replica: usize) {
        let deadline = Instant::now() + LIMIT;
        let server = &self.cluster[replica];
        while !server.cli(&["INFO", "replication"]).contains("master_link_status:up") {
            assert!(Instant::now() < deadline, "the replica does not follow");
            thread::sleep(POLL);
        }
    }

    pub(super) fn leftovers(&self, dead: &[String]) -> Vec<Leftovers> {
        let of = |server: usize| {
            let is_here =
                |prize: &&Prize| self.cluster.owner_of(self.cluster.slot_of(prize.name)) == server;
            let here: Vec<_> = self.prizes.iter().filter(is_here).copied().collect();
            let redis = &self.cluster[server];
            // Servers have connections to each other, too.
            let connections = leftovers::connections_of_workers(redis);
            Leftovers { connections, ..leftovers::on(0, redis, &here, dead) }
        };
        self.cluster.serving().into_iter().map(of).collect()
    }
}

const MASTERS: usize = 3;
const POLL: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(30);
