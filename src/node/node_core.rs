//! What everything that belongs to one node has in common.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak, atomic::AtomicBool};

use tokio::{runtime::Handle, sync::Semaphore};
use tokio_util::sync::CancellationToken;

use super::host::Host;
use crate::{
    error::NodeError,
    reach::{ClusterAddresses, ConnectionKey, Endpoint, HostPort, NodeSettings, Runs},
    standing::{RunId, ServerRun},
};

/// What is concerned about a node also while nothing is asked of it.
pub(crate) trait Resident: Send + Sync {
    /// Whether it is to be reached again as soon as it is there.
    fn needs_node(&self) -> bool;

    /// A link is connected after its socket broke or an attempt failed, or to another process than
    /// any link before.
    fn node_is_back(&self);
}

/// Calls about many locks that may be unanswered at the same time: enough to keep the server busy, few
/// enough that the first answers are read before the last calls are sent.
const BATCHES: usize = 32;

/// What the tasks of a node share with it.
#[derive(Debug)]
pub(crate) struct Core {
    pub(super) endpoint: Endpoint,
    pub(super) identity: Arc<ConnectionKey>,
    pub(crate) settings: NodeSettings,
    /// Of the newest handshake on any runtime.
    standing: Mutex<Option<Arc<ServerRun>>>,
    /// What its cluster calls it, as of the same, if it is one of a cluster's and tells.
    cluster_id: Mutex<Option<Arc<str>>>,
    /// Where the masters of a cluster are of which it is one.
    among: Option<ClusterAddresses>,
    pub(super) runs: Runs,
    pub(crate) closed: CancellationToken,
    /// Whether a call takes keys of one slot only: the server is one of a cluster, as it has said.
    pub(super) by_slot: AtomicBool,
    /// Whether it was said that it cannot be reached, and not yet that it can again.
    pub(super) is_told_down: AtomicBool,
    /// Whether it was said that the server evicts keys.
    pub(super) warned_of_eviction: AtomicBool,
    /// One for each call that speaks of many locks and may be unanswered.
    pub(super) batches: Semaphore,
    pub(super) resident: OnceLock<Weak<dyn Resident>>,
    /// Where that is done which all callers need, whatever becomes of their own runtimes.
    pub(super) background: OnceLock<Handle>,
    /// Where messages are read: of a cluster, those of all its servers.
    pub(crate) host: Arc<Host>,
}

impl Core {
    pub(super) fn new(endpoint: Endpoint, settings: NodeSettings) -> Self {
        let closed = CancellationToken::new();
        let identity = Arc::new(endpoint.identity(&settings));
        let by_slot = AtomicBool::new(endpoint.is_cluster());
        let standing = Mutex::default();
        Self {
            endpoint,
            identity,
            settings,
            standing,
            cluster_id: Mutex::default(),
            among: None,
            runs: Runs::default(),
            closed,
            by_slot,
            is_told_down: AtomicBool::new(false),
            warned_of_eviction: AtomicBool::new(false),
            batches: Semaphore::new(BATCHES),
            resident: OnceLock::new(),
            background: OnceLock::new(),
            host: Arc::default(),
        }
    }

    /// That of one server of this cluster.
    pub(crate) fn at(&self, place: &HostPort) -> Self {
        let one = Self::new(self.endpoint.at(place), self.settings.clone());
        let among = self.endpoint.places().cloned();
        let one = Self { host: self.host.clone(), among, ..one };
        if let Some(resident) = self.resident.get() {
            let _the_first = one.resident.set(resident.clone());
        }
        if let Some(runtime) = self.background.get() {
            let _the_first = one.background.set(runtime.clone());
        }
        if self.closed.is_cancelled() {
            one.closed.cancel();
        }
        one
    }

    pub(super) fn resident(&self) -> Option<Arc<dyn Resident>> {
        self.resident.get()?.upgrade()
    }

    pub(super) fn run_id(&self) -> Option<RunId> {
        self.standing().as_ref()?.run_id()
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Option<Arc<ServerRun>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn cluster_id(&self) -> Option<Arc<str>> {
        self.cluster_id.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn is_called(&self, cluster_id: Option<Arc<str>>) {
        *self.cluster_id.lock().unwrap_or_else(PoisonError::into_inner) = cluster_id;
    }

    /// Whether it is where something is served, as far as is known: one of a cluster may have been a master
    /// once.
    pub(super) fn serves(&self) -> bool {
        let place = self.endpoint.place_in_cluster();
        self.among.as_ref().zip(place).is_none_or(|(among, place)| among.serve_at(&place))
    }

    /// Why the tasks have ended: otherwise their runtime has.
    pub(crate) fn why_over(&self) -> NodeError {
        if self.closed.is_cancelled() { NodeError::Closed } else { NodeError::NoRuntime }
    }
}
