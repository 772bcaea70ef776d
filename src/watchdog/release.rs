//! The release of one claim on one node, said until nothing of it can stand there any more.

use std::{fmt, sync::Arc, time::Duration};

use super::{Draining, Shared, Unanswered};
use crate::{
    clock::{Instant, SharedClock, has_timers},
    error::{LockName, NodeError, NodeId},
    logging::WATCHDOG,
    node::{NextSocket, Node},
    socket::{Answer, Connection, Priority},
    telling,
    wire::{Outcome, PlainRelease, Statement},
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
    pub(crate) said: ReleaseCommand,
    pub(crate) unanswered: Unanswered,
    /// When the key has ended by itself, whatever happens.
    pub(crate) give_up: Instant,
    /// For each try.
    pub(crate) timeout: Duration,
    /// Whether it may have been executed without an answer.
    pub(crate) may_be_done: bool,
    /// The longest that the last try could be after the one before; at first nothing.
    pub(crate) pause: Duration,
    /// What waits for its answer.
    pub(crate) priority: Priority,
    /// Called with what the server said in the end.
    pub(crate) told: Option<ReleaseCallback>,
    /// Counts this release as under way.
    pub(crate) _draining: Draining,
}

/// How a release is said.
#[derive(Debug)]
pub(crate) enum ReleaseCommand {
    /// Without a script where no acquire can follow.
    Plainly(PlainRelease),
    /// On the heap: the everyday lock needs none, and there may be very many releases.
    ByScript(Box<Statement>),
}

impl ReleaseCommand {
    fn key(&self) -> &str {
        match self {
            Self::Plainly(plain) => &plain.key,
            Self::ByScript(statement) => statement.key(),
        }
    }

    fn by_script(&self) -> Statement {
        match self {
            Self::Plainly(plain) => (plain.by_script)(plain),
            Self::ByScript(statement) => Statement::clone(statement),
        }
    }
}

/// Is told the answer to a release that another task finishes.
pub(crate) struct ReleaseCallback(Box<dyn FnOnce(Outcome) + Send + Sync>);

impl ReleaseCallback {
    pub(crate) fn new(tell: impl FnOnce(Outcome) + Send + Sync + 'static) -> Self {
        Self(Box::new(tell))
    }
}

impl fmt::Debug for ReleaseCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Told").finish_non_exhaustive()
    }
}

impl Release {
    /// Sends the release, and once more on the next socket if one broke under it. No other claim
    /// has this holder id, so to say it twice does no harm. Ok with the answer, whether or not that
    /// is final: see [`is_settled`](Self::is_settled).
    pub(crate) async fn send(&mut self, clock: &SharedClock) -> Result<Answer<Outcome>, NodeError> {
        // Nothing could be timed here. The connection is kept for a task that can.
        if !has_timers() {
            return Err(NodeError::NoRuntime);
        }
        let deadline = clock.now() + self.timeout;
        let mut next_socket = NextSocket::for_the_broken();
        loop {
            let known =
                self.connection.take().filter(|known| known.is_live() && !known.stands_still());
            let connection = match known.filter(|_| next_socket.is_free()) {
                Some(connection) => Ok(connection),
                None => {
                    let key = self.said.key();
                    self.node.next_connection(&mut next_socket, key, deadline).await
                }
            };
            let connection = connection.map_err(|error| next_socket.told(error))?;
            match self.say_on(&connection, deadline).await {
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

    async fn say_on(
        &self,
        connection: &Connection,
        deadline: Instant,
    ) -> Result<Answer<Outcome>, NodeError> {
        let is_last = self.unanswered.is_all_on(connection.epoch());
        if is_last
            && let ReleaseCommand::Plainly(plain) = &self.said
            && let Some(answer) = connection.release_plainly(self.priority, plain, deadline).await?
        {
            return Ok(answer);
        }
        // The time tells how much later it is than what may follow.
        let mut statement = self.said.by_script();
        statement.set_brief(is_last);
        connection.call_of(self.priority, &statement, deadline).await
    }

    /// Whether no acquire of the claim can follow an answered release any more.
    pub(crate) fn is_settled(&self) -> bool {
        self.unanswered.is_settled()
    }

    /// Sends the release. When to send it again, if it is not final.
    pub(super) async fn attempt(&mut self, shared: &Shared) -> Option<Instant> {
        let clock = &shared.clock;
        let next = match self.send(clock).await {
            Ok(answer) if self.is_settled() => {
                if let Some(ReleaseCallback(tell)) = self.told.take() {
                    tell(answer.reply);
                }
                return None;
            }
            Ok(answer) => clock.now() + self.until_final(&answer),
            Err(error) => {
                let (lock, holder, node) = self.named();
                telling::event(move || {
                    tracing::debug!(target: WATCHDOG, %lock, %holder, %node, %error, "a release is not confirmed yet");
                });
                self.pause = (self.pause * 2).clamp(RETRY_MIN, RETRY_MAX);
                clock.now() + shared.random.most_of(self.pause)
            }
        };
        if !self.may_stand(shared) {
            let (lock, holder, node) = self.named();
            telling::event(move || {
                tracing::warn!(target: WATCHDOG, %lock, %holder, %node, "gave up a release: the key's lease is over");
            });
            return None;
        }
        // Not before it has ended: a caller that waits for that is told that nothing is left.
        Some(next.min(self.give_up))
    }

    /// Whether the key may not have ended by itself yet.
    pub(super) fn may_stand(&self, shared: &Shared) -> bool {
        shared.clock.now() < self.give_up
    }

    /// What it is called in events.
    fn named(&self) -> (LockName, Arc<str>, NodeId) {
        (self.lock.clone(), self.holder.clone(), self.node.id().clone())
    }

    // keeps: final-release
    /// How long until the server's clock is past the stamps of all acquires.
    fn until_final(&self, answer: &Answer<Outcome>) -> Duration {
        let last = self.unanswered.last_stamp().unwrap_or(answer.server_time);
        let left = u64::try_from(last.saturating_sub(answer.server_time)).unwrap_or(0);
        Duration::from_micros(left) + Duration::from_millis(1)
    }
}

const RETRY_MIN: Duration = Duration::from_millis(50);
pub(super) const RETRY_MAX: Duration = Duration::from_secs(1);
