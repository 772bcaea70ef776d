//! What everything that belongs to one node has in common.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool};

use tokio_util::sync::CancellationToken;

use super::{Endpoint, NodeSettings, endpoint::Identity};
use crate::{error::NodeError, standing::Standing};

/// What the tasks of a node share with it.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) endpoint: Endpoint,
    pub(super) identity: Arc<Identity>,
    pub(super) settings: NodeSettings,
    /// Of the newest handshake on any runtime.
    standing: Mutex<Option<Arc<Standing>>>,
    pub(super) closed: CancellationToken,
    /// Whether a call takes keys of one slot only: the server is one of a cluster, as it has said.
    pub(super) by_slot: AtomicBool,
}

impl Core {
    pub(super) fn new(endpoint: Endpoint, settings: NodeSettings) -> Self {
        let closed = CancellationToken::new();
        let identity = Arc::new(endpoint.identity(settings.connect_timeout));
        let (standing, by_slot) = (Mutex::default(), AtomicBool::new(false));
        Self { endpoint, identity, settings, standing, closed, by_slot }
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Option<Arc<Standing>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the tasks have ended: otherwise their runtime has.
    pub(super) fn why_over(&self) -> NodeError {
        if self.closed.is_cancelled() { NodeError::Closed } else { NodeError::NoRuntime }
    }
}
