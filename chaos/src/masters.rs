//! The masters, and the wires by which workers reach them.

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use testkit::{Cluster, FaultProxy, RedisServer, WallClocks};

/// Workers know the wires only; faults are injected on the servers directly.
#[derive(Debug)]
pub(crate) struct Masters {
    wires: Vec<FaultProxy>,
    servers: Cluster,
    /// Of what a master may be made a replica: it has no data.
    empty: RedisServer,
    /// Held while something is done to a master, so that it suffers one fault at a time.
    claims: Vec<Mutex<()>>,
    clocks: io::Result<Arc<WallClocks>>,
}

impl Masters {
    /// So many servers, which are new and vote at once.
    pub(crate) fn start(n: usize) -> Self {
        let clocks = WallClocks::build().map(Arc::new);
        let settings = match &clocks {
            Ok(clocks) => RedisServer::builder().settable_clock(clocks),
            Err(_) => RedisServer::builder(),
        };
        let servers = Cluster::start_with(n, &settings).blessed();
        Self {
            wires: servers.iter().map(FaultProxy::before).collect(),
            servers,
            empty: RedisServer::builder().arg("--repl-diskless-sync-delay", "0").start(),
            claims: (0..n).map(|_| Mutex::default()).collect(),
            clocks,
        }
    }

    /// Those of the wires.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.wires.iter().map(FaultProxy::url).collect()
    }

    pub(crate) fn servers(&self) -> &Cluster {
        &self.servers
    }

    pub(crate) fn wire(&self, master: usize) -> &FaultProxy {
        self.wires.get(master).expect("invariant: a schedule is drawn for as many masters")
    }

    pub(crate) fn empty(&self) -> &RedisServer {
        &self.empty
    }

    /// Why clocks cannot be set, if so.
    pub(crate) fn no_clocks(&self) -> Option<&io::Error> {
        self.clocks.as_ref().err()
    }

    /// Waits until nothing else is done to these.
    pub(crate) fn claim(&self, masters: &[usize]) -> Vec<MutexGuard<'_, ()>> {
        // In one order everywhere, or two tasks that want the same would wait for each other.
        let claims = self.claims.iter().enumerate();
        let wanted = claims.filter(|(master, _)| masters.contains(master));
        wanted.map(|(_, claim)| claim.lock().unwrap_or_else(PoisonError::into_inner)).collect()
    }
}
