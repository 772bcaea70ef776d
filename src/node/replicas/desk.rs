//! What is asked of the task of a connection for replicas.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::{
    clock::Instant, error::NodeError, node::node_core::Core, reach::Replicated, standing::RunId,
};

/// A socket on which it is asked later what replicas have, and the run that it leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Post {
    pub(super) socket: u64,
    pub(super) run_id: RunId,
}

impl Post {
    /// Whether it leads to this run; to whichever, if none is known.
    pub(super) fn is_at(&self, run_id: Option<RunId>) -> bool {
        run_id.is_none_or(|run_id| run_id == self.run_id)
    }
}

/// To which run a socket is to lead, if that is known, and, in a cluster, slots that are there.
#[derive(Debug)]
pub(super) struct WantedRun {
    pub(super) run_id: Option<RunId>,
    pub(super) slots: Vec<u16>,
}

#[derive(Debug)]
pub(super) enum ReplicasRequest {
    /// A socket to this run, if one is known, from now on.
    LookOut { wanted: WantedRun, reply: oneshot::Sender<Result<Post, NodeError>> },
    /// How many replicas have, until then, what was written up to now.
    Count { from: Post, until: Instant, reply: oneshot::Sender<Result<u32, NodeError>> },
}

/// What the task has.
pub(super) struct ReplicasTask {
    pub(super) core: Arc<Core>,
    pub(super) rule: Replicated,
    pub(super) inbox: mpsc::UnboundedReceiver<ReplicasRequest>,
    pub(super) live: CurrentPost,
}

/// The socket of this moment, for callers that need not ask the task.
#[derive(Debug, Clone, Default)]
pub(super) struct CurrentPost(Arc<Mutex<Option<Post>>>);

impl CurrentPost {
    pub(super) fn is(&self, post: Option<Post>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = post;
    }

    pub(super) fn get(&self) -> Option<Post> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
