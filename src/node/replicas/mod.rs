//! Whether replicas have what their master has granted.
//!
//! WAIT is about what its own connection has written last, so it stands behind a PUBLISH there: that
//! comes after all that was answered before, and replicas are told of it, too. A PING would do up to
//! Redis 7.0; since 7.2 it moves nothing, and WAIT would at once count all replicas that are there.
//!
//! # Invariants
//! - Whoever is granted something has looked out before: the socket is the one of then, its run the one
//!   that granted, and its data the same in the end. In between the master was not another.
//! - One question is under way at a time. It answers for those who asked before it was sent.

mod desk;
mod session;
mod task;

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
};

pub(crate) use self::desk::Lookout;
use self::desk::{Desk, Live, Request};
use super::{deadline::before, node_core::Core, settings::Replicated};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    standing::RunId,
};

/// The replicas of one node, asked on one connection. Dropping it ends its task and that.
#[derive(Debug)]
pub(super) struct Replicas {
    core: Arc<Core>,
    rule: Replicated,
    requests: mpsc::UnboundedSender<Request>,
    live: Live,
}

impl Replicas {
    /// Sends nothing before it is asked.
    pub(super) fn of(core: Arc<Core>, rule: Replicated, on: &Handle) -> Self {
        let (requests, inbox) = mpsc::unbounded_channel();
        let live = Live::default();
        let desk = Desk { core: core.clone(), rule: rule.clone(), inbox, live: live.clone() };
        let closed = core.closed.clone();
        on.spawn(async move { closed.run_until_cancelled(task::run(desk)).await });
        Self { core, rule, requests, live }
    }

    /// A socket to the run that is going to be asked for something.
    ///
    /// # Errors
    /// Why there is none; nothing was granted.
    pub(super) async fn look_out(
        &self,
        run_id: Option<RunId>,
        deadline: Instant,
    ) -> Result<Lookout, NodeError> {
        if let Some(lookout) = self.live.get().filter(|lookout| lookout.is_at(run_id)) {
            return Ok(lookout);
        }
        let late = NodeError::TimedOut { phase: Phase::Connecting };
        self.ask(deadline, late, |reply| Request::LookOut { run_id, reply }).await
    }

    /// Waits until enough replicas have what `run_id` has answered since `from`, at most as long as is
    /// set, or `most`.
    ///
    /// # Errors
    /// [`NodeError::NotReplicated`], whatever the reason.
    pub(super) async fn confirm(
        &self,
        from: Lookout,
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
        let count = |reply| Request::Count { from, until, reply };
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
        request: impl FnOnce(oneshot::Sender<Result<T, NodeError>>) -> Request,
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
