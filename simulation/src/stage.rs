//! What all parts of a run share, and the signals that tell all of them how far it is.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{
    event::ProcessId, log::Log, memory::Memory, network::Network, plan::Plan, waiting::Waiting,
    world::World,
};

/// What all processes, and the faults that are done to them, have in common.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) plan: Plan,
    pub(crate) world: Arc<World>,
    pub(crate) network: Arc<Network>,
    pub(crate) log: Arc<Log>,
    pub(crate) memory: Arc<Memory>,
    pub(crate) waiting: Waiting,
    pub(crate) calm: Signal,
    pub(crate) finish: Signal,
    /// What the holder ids of each process begin with.
    pub(crate) names: Mutex<BTreeMap<ProcessId, String>>,
}

impl Stage {
    pub(crate) fn names(&self) -> MutexGuard<'_, BTreeMap<ProcessId, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that comes once.
#[derive(Debug, Default)]
pub(crate) struct Signal {
    here: AtomicBool,
    comes: tokio::sync::Notify,
}

impl Signal {
    pub(crate) fn give(&self) {
        self.here.store(true, Ordering::Relaxed);
        self.comes.notify_waiters();
    }

    pub(crate) fn is_here(&self) -> bool {
        self.here.load(Ordering::Relaxed)
    }

    pub(crate) async fn wait(&self) {
        let comes = self.comes.notified();
        if !self.is_here() {
            comes.await;
        }
    }
}
