//! What everything that belongs to one node has in common.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::{Endpoint, NodeSettings};
use crate::{error::NodeError, standing::Standing};

/// What the tasks of a node share with it.
#[derive(Debug)]
pub(super) struct Core {
    pub(super) endpoint: Endpoint,
    pub(super) settings: NodeSettings,
    /// Of the newest handshake on any runtime.
    standing: Mutex<Option<Arc<Standing>>>,
    pub(super) closed: CancellationToken,
}

impl Core {
    pub(super) fn new(endpoint: Endpoint, settings: NodeSettings) -> Self {
        let closed = CancellationToken::new();
        Self { endpoint, settings, standing: Mutex::default(), closed }
    }

    pub(super) fn standing(&self) -> MutexGuard<'_, Option<Arc<Standing>>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the tasks have ended: otherwise their runtime has.
    pub(super) fn why_over(&self) -> NodeError {
        if self.closed.is_cancelled() { NodeError::Closed } else { NodeError::NoRuntime }
    }
}
