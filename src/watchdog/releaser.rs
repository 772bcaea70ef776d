//! Finishes what others left: releases of dropped guards, rollbacks, late grants, counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, stream::FuturesUnordered};
use tokio::sync::{Notify, mpsc};

use super::{Due, Job, Report, Shared, Unanswered, Watched, stragglers};
use crate::{
    by_member::MemberId,
    clock::{Instant, SharedClock, has_timers},
    error::{LockName, NodeError, NodeId},
    node::{Answer, Connection, NextSocket, Node},
    panics::{contained, contained_async},
    wire::{Outcome, Statement},
};

/// The release of one claim on one node, repeated until it is final or the key has ended by itself.
#[derive(Debug)]
pub(crate) struct Release {
    /// What the lock is called in events.
    pub(crate) lock: LockName,
    pub(crate) holder: Arc<str>,
    pub(crate) node: Node,
    /// The socket of the acquire: behind it on the same socket a release is final at once.
    pub(crate) connection: Option<Connection>,
    pub(crate) statement: Statement,
    pub(crate) unanswered: Unanswered,
    /// When the key has ended by itself, whatever happens.
    pub(crate) give_up: Instant,
    /// For each try.
    pub(crate) timeout: Duration,
    /// Whether it may have been executed without an answer.
    pub(crate) may_be_done: bool,
    /// Counts this release as under way.
    pub(crate) _draining: Draining,
}

impl Release {
    /// Sends the release, and once more on the next socket if one broke under it: nobody else has
    /// this holder id, so to say it twice does no harm. Ok with the answer, whether or not that is
    /// final: see [`is_settled`](Self::is_settled).
    pub(crate) async fn send(&mut self, clock: &SharedClock) -> Result<Answer<Outcome>, NodeError> {
        // Nothing could be timed here. The connection is kept for whoever can.
        if !has_timers() {
            return Err(NodeError::NoRuntime);
        }
        let deadline = clock.now() + self.timeout;
        let mut next_socket = NextSocket::for_the_broken();
        loop {
            let connection = match self.connection.take().filter(Connection::is_live) {
                Some(connection) => Ok(connection),
                None => self.node.connection(self.statement.key(), deadline).await,
            };
            let connection = connection.map_err(|error| next_socket.told(error))?;
            match connection.call(&self.statement, deadline).await {
                Ok(answer) => {
                    self.unanswered.settle(connection.epoch(), answer.server_time);
                    self.connection = Some(connection);
                    return Ok(answer);
                }
                Err(error) => {
                    self.may_be_done |= error.is_unknown();
                    next_socket.after(error)?;
                }
            }
        }
    }

    /// Whether no acquire of the claim can follow an answered release any more.
    pub(crate) fn is_settled(&self) -> bool {
        self.unanswered.is_settled()
    }

    /// Sends the release until it is final.
    async fn finish(&mut self, shared: &Shared) {
        let clock = &shared.clock;
        let mut pause = RETRY_MIN;
        loop {
            let next = match self.send(clock).await {
                Ok(_) if self.is_settled() => break,
                Ok(answer) => clock.now() + self.until_final(&answer),
                Err(error) => {
                    let (lock, holder, node) = self.named();
                    contained(
                        || tracing::debug!(%lock, %holder, %node, %error, "a release is not confirmed yet"),
                    );
                    pause = (pause * 2).min(RETRY_MAX);
                    clock.now() + shared.random.most_of(pause)
                }
            };
            if !self.may_stand(shared) {
                let (lock, holder, node) = self.named();
                contained(|| {
                    tracing::warn!(
                        %lock, %holder, %node, "gave up a release: the key's lease is over"
                    )
                });
                break;
            }
            // Not before: whoever waits for the end of it is told that nothing is left.
            clock.sleep_until(next.min(self.give_up)).await;
        }
    }

    /// Whether the key may not have ended by itself yet.
    fn may_stand(&self, shared: &Shared) -> bool {
        shared.clock.now() < self.give_up
    }

    /// What it is called in events.
    fn named(&self) -> (&LockName, &str, &NodeId) {
        (&self.lock, &self.holder, self.node.id())
    }

    /// How long until the server's clock is past the stamps of all acquires.
    fn until_final(&self, answer: &Answer<Outcome>) -> Duration {
        let last = self.unanswered.last_stamp().unwrap_or(answer.server_time);
        let left = u64::try_from(last.saturating_sub(answer.server_time)).unwrap_or(0);
        Duration::from_micros(left) + Duration::from_millis(1)
    }
}

const RETRY_MIN: Duration = Duration::from_millis(25);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// The releaser's loop.
pub(super) async fn work(shared: &Shared, inbox: &mut mpsc::UnboundedReceiver<Job>) {
    let mut under_way = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            job = inbox.recv() => match job {
                Some(job) => under_way.push(contained_async(perform(shared, job))),
                None => return,
            },
            Some(_) = under_way.next(), if !under_way.is_empty() => {}
        }
    }
}

async fn perform(shared: &Shared, job: Job) {
    match job {
        Job::Release(mut release, _alive) => {
            while contained_async(release.finish(shared)).await.is_none()
                && release.may_stand(shared)
            {
                shared.clock.sleep_until(shared.clock.now() + RETRY_MAX).await;
            }
        }
        Job::Recount(claim) => recount(shared, &*claim).await,
        Job::LookAfterStragglers => stragglers::look_after(shared).await,
    }
}

/// Writes counts until the servers know the latest: one script in flight per hold and member.
async fn recount(shared: &Shared, claim: &dyn Watched) {
    loop {
        let due = claim.recount();
        if due.is_empty() {
            return;
        }
        let mut asked: FuturesUnordered<_> = due.into_iter().map(|due| ask(shared, due)).collect();
        while let Some((member, report)) = asked.next().await {
            contained(|| claim.on_recounted(member, report, shared.clock.now()));
        }
    }
}

async fn ask(shared: &Shared, due: Due) -> (MemberId, Report) {
    let deadline = shared.clock.now() + due.timeout;
    let answer = async {
        let (connection, answer) =
            due.node.call(due.statement.key(), &due.statement, deadline).await?;
        Ok::<_, NodeError>(Report::Answered {
            outcome: answer.reply,
            sent: answer.sent,
            run_id: connection.run_id(),
        })
    };
    (due.member, answer.await.unwrap_or_else(|cause| Report::Unknown { cause }))
}

/// How many releases and attempts of a client are under way.
#[derive(Debug, Default)]
pub(crate) struct Drain {
    count: AtomicUsize,
    one_done: Notify,
}

impl Drain {
    pub(crate) fn begin(self: &Arc<Self>) -> Draining {
        self.count.fetch_add(1, Ordering::AcqRel);
        Draining(self.clone())
    }

    pub(crate) fn under_way(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Completes once nothing is under way.
    pub(crate) async fn drained(&self) {
        loop {
            let one_done = self.one_done.notified();
            if self.under_way() == 0 {
                return;
            }
            one_done.await;
        }
    }
}

/// A release or an attempt that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Draining(Arc<Drain>);

impl Drop for Draining {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::AcqRel);
        self.0.one_done.notify_waiters();
    }
}
