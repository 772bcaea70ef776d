//! Whether replicas have what their master has granted.
//!
//! WAIT is about what its own connection has written last, so it stands behind a PUBLISH there. That
//! comes after all that was answered before, and replicas are told of it, too. A PING would do up to
//! Redis 7.0; since 7.2 it moves nothing, and WAIT would at once count all replicas that are there. In a
//! cluster messages go another way, so there a key is written, for a moment.
//!
//! # Invariants
//! - An acquire that is granted something has looked out before. The socket is the one of then, its run
//!   the one that granted, and its data the same in the end. In between the master was not another.
//! - One question is under way at a time. It answers for callers that asked before it was sent.

mod desk;
mod session;
mod task;

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

use self::desk::{CurrentPost, Post, ReplicasRequest, ReplicasTask, WantedRun};
use super::node_core::Core;
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    reach::{Replicated, before},
    standing::RunId,
};

/// The replicas of one node, asked on one connection. Dropping it ends its task and that.
#[derive(Debug, Clone)]
pub(super) struct Replicas {
    core: Arc<Core>,
    rule: Replicated,
    requests: mpsc::UnboundedSender<ReplicasRequest>,
    live: CurrentPost,
}

/// From where to look whether replicas have what was granted since.
#[derive(Debug, Clone)]
pub(crate) struct Lookout {
    replicas: Replicas,
    post: Post,
}

impl Replicas {
    /// Sends nothing before it is asked.
    pub(super) fn of(core: Arc<Core>, rule: Replicated, on: &Handle) -> Self {
        let (requests, inbox) = mpsc::unbounded_channel();
        let live = CurrentPost::default();
        let desk =
            ReplicasTask { core: core.clone(), rule: rule.clone(), inbox, live: live.clone() };
        let closed = core.closed.clone();
        on.spawn(async move { closed.run_until_cancelled(task::run(desk)).await });
        Self { core, rule, requests, live }
    }

    /// A socket to the run that is going to be asked for something; `slots` are some that are there, if it is
    /// one of a cluster.
    ///
    /// # Errors
    /// Why there is none; nothing was granted.
    pub(super) async fn look_out(
        &self,
        run_id: Option<RunId>,
        slots: impl FnOnce() -> Vec<u16>,
        deadline: Instant,
    ) -> Result<Lookout, NodeError> {
        let post = match self.live.get().filter(|post| post.is_at(run_id)) {
            Some(post) => post,
            None => {
                let late = NodeError::TimedOut { phase: Phase::Connecting };
                let wanted = WantedRun { run_id, slots: slots() };
                self.ask(deadline, late, |reply| ReplicasRequest::LookOut { wanted, reply }).await?
            }
        };
        Ok(Lookout { replicas: self.clone(), post })
    }

    async fn confirm(
        &self,
        from: Post,
        run_id: Option<RunId>,
        most: Duration,
    ) -> Result<(), NodeError> {
        let wanted = self.rule.by;
        let short = |replicas| NodeError::NotReplicated { wanted, replicas };
        if Some(from.run_id) != run_id {
            return Err(short(0));
        }
        let until = self.core.settings.clock.now() + self.rule.within.min(most);
        // The server keeps the time; what it says needs some to come here.
        let deadline = until + self.core.settings.node_timeout;
        let count = |reply| ReplicasRequest::Count { from, until, reply };
        match self.ask(deadline, short(0), count).await {
            Ok(replicas) if replicas >= wanted => Ok(()),
            Ok(replicas) => Err(short(replicas)),
            Err(_) => Err(short(0)),
        }
    }

    async fn ask<T>(
        &self,
        deadline: Instant,
        late: NodeError,
        request: impl FnOnce(oneshot::Sender<Result<T, NodeError>>) -> ReplicasRequest,
    ) -> Result<T, NodeError> {
        let (reply, answer) = oneshot::channel();
        if self.requests.send(request(reply)).is_err() {
            return Err(self.core.why_over());
        }
        match before(&self.core.settings.clock, deadline, answer).await {
            Some(Ok(answer)) => answer,
            Some(Err(_over)) => Err(self.core.why_over()),
            None => Err(late),
        }
    }
}

impl Lookout {
    /// Whether it tells nothing about what `run_id` has answered.
    pub(crate) fn is_elsewhere(&self, run_id: Option<RunId>) -> bool {
        Some(self.post.run_id) != run_id
    }

    /// Completes when enough replicas have what `run_id` has answered by now, within `most` at most.
    ///
    /// # Errors
    /// [`NodeError::NotReplicated`], whatever the reason.
    pub(crate) async fn replicated(
        &self,
        run_id: Option<RunId>,
        most: Duration,
    ) -> Result<(), NodeError> {
        self.replicas.confirm(self.post, run_id, most).await
    }
}
