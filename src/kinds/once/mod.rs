//! Changes that are no repetitions of themselves, made at most once: counting down, for instance.
//!
//! The script of each keeps its answer in a key of its own, so that it can be sent again after an
//! unknown outcome. That is done on the next socket, and until an answer comes or that key may have
//! ended.

mod attempts;
pub(crate) mod script;

use std::{sync::Arc, time::Duration};

use futures::FutureExt;

use self::{
    attempts::{ChangeVerdict, LIFE_US, SentChanges},
    script::{ChangeRequest, Forget},
};
use super::counter::Counter;
use crate::{
    clock::Instant,
    error::{ChangeError, NodeError, Phase},
    node::NextSocket,
    socket::Answer,
    wire::{Outcome, key},
};
pub(crate) use script::Change;

impl Counter {
    /// Makes a change at most once.
    ///
    /// # Cancel safety
    /// If the future is dropped, the change was made or not, or will be until the last attempt's stamp.
    pub(crate) async fn change(&self, change: Change) -> Result<Outcome, ChangeError> {
        self.check()?;
        let mut stale = 0;
        loop {
            let outcome = Changing::of(self, &change).make().await?;
            if outcome.code == Outcome::FOREIGN {
                return Err(self.not_made(NodeError::ForeignKey));
            }
            if outcome.code != Outcome::STALE {
                return Ok(outcome);
            }
            // It was late, or we were wrong about the server's clock, which that answer has mended.
            stale += 1;
            if stale == MOST_STALE {
                return Err(self.not_made(NodeError::TimedOut { phase: Phase::Answering }));
            }
        }
    }

    fn not_made(&self, source: NodeError) -> ChangeError {
        let (name, node) = (self.shown_name(), self.services.node_id().clone());
        ChangeError::NotMade { name, node, source }
    }

    fn unknown(&self, source: NodeError) -> ChangeError {
        let (name, node) = (self.shown_name(), self.services.node_id().clone());
        ChangeError::Unknown { name, node, source }
    }
}

/// One change that is being made, under one key.
struct Changing<'a> {
    counter: &'a Counter,
    change: &'a Change,
    once: Arc<str>,
    attempts: SentChanges,
    /// When what the first attempt left may have ended, by our clock.
    ends: Instant,
}

impl<'a> Changing<'a> {
    fn of(counter: &'a Counter, change: &'a Change) -> Self {
        let services = &counter.services;
        let once = key::once(&counter.key, &services.process.fresh_id());
        let ends = services.now() + services.settings.node_timeout + LIFE;
        Self { counter, change, once, attempts: SentChanges::default(), ends }
    }

    /// Asks until it is known what came of it: done, not done, or stale, which is not done either.
    async fn make(mut self) -> Result<Outcome, ChangeError> {
        let mut next_socket = NextSocket::for_the_unsent();
        let mut pause = RETRY_MIN;
        loop {
            let error = match self.attempt(&mut next_socket).await {
                Ok(answer) => return self.answered(&answer),
                Err(error) => error,
            };
            if error.is_unknown() {
                self.attempts.unanswered();
            }
            if !self.attempts.is_in_doubt() {
                next_socket.after(error).map_err(|error| self.counter.not_made(error))?;
                self.attempts = SentChanges::default();
                continue;
            }
            let services = &self.counter.services;
            let until = services.now() + services.process.random.most_of(pause);
            next_socket = NextSocket::for_the_unsent();
            let is_sent_on = next_socket.after(error.clone()).is_ok();
            if !(may_pass(&error) || is_sent_on) || until >= self.ends {
                return Err(self.counter.unknown(error));
            }
            pause = (pause * 2).min(RETRY_MAX);
            services.process.clock.sleep_until(until).await;
        }
    }

    async fn attempt(
        &mut self,
        next_socket: &mut NextSocket,
    ) -> Result<Answer<Outcome>, NodeError> {
        let services = &self.counter.services;
        let now = services.now();
        let deadline = now + services.settings.node_timeout;
        let node = &services.node;
        let connection = node.next_connection(next_socket, &self.counter.key, deadline).await?;
        let (now, until) = (connection.server_time_at(now), connection.server_time_at(deadline));
        let Some(not_after) = self.attempts.stamp(now, until) else {
            self.ends = services.now();
            return Err(NodeError::TimedOut { phase: Phase::Answering });
        };
        let once = self.once.clone();
        let attempt = ChangeRequest { change: self.change.clone(), once, not_after };
        let answer = connection.call(&attempt, deadline).await?;
        if answer.reply.code == Outcome::STALE {
            connection.believe(answer.sample());
        } else if !self.attempts.is_in_doubt() || planted!(OnceKeyRemoved) {
            self.forget();
        }
        Ok(answer)
    }

    fn answered(&self, answer: &Answer<Outcome>) -> Result<Outcome, ChangeError> {
        if answer.reply.code == Outcome::STALE
            && self.attempts.stale(answer.server_time) == ChangeVerdict::Unknown
        {
            let late = NodeError::TimedOut { phase: Phase::Answering };
            return Err(self.counter.unknown(late));
        }
        Ok(answer.reply)
    }

    /// Deletes what is kept, in the background: of a change that was sent once, and answered, nothing is on
    /// its way any more. Whatever is sent more often is kept until it ends by itself, or an attempt
    /// that comes late would make the change again.
    fn forget(&self) {
        let services = self.counter.services.clone();
        let forget = Forget { name: self.counter.key.clone(), once: self.once.clone() };
        let work = async move {
            let deadline = services.now() + services.settings.node_timeout;
            // Whatever comes of it: the key ends by itself.
            let _ended = services.node.call(&forget.name, &forget, deadline).await;
        };
        self.counter.services.process.watchdog.attend(work.boxed());
    }
}

/// Whether a server that answers so may still tell what came of an attempt before.
fn may_pass(error: &NodeError) -> bool {
    matches!(
        error,
        NodeError::Disconnected { .. }
            | NodeError::Unreachable { .. }
            | NodeError::TimedOut { .. }
            | NodeError::Loading
            | NodeError::MasterDown
            | NodeError::Replica
    )
}

/// How often a change is begun anew whose attempts were all too late.
const MOST_STALE: u32 = 4;

/// As the scripts count it.
const LIFE: Duration = Duration::from_micros(LIFE_US.unsigned_abs());

/// The pause between two attempts grows between these.
const RETRY_MIN: Duration = Duration::from_millis(25);
const RETRY_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that is not there yet, or not the master yet, may tell later; a refusal would only be repeated.
    #[test]
    fn answer_is_waited_for_as_long_as_a_server_may_give_another() {
        let timed_out = NodeError::TimedOut { phase: Phase::Answering };
        let unreachable = NodeError::Unreachable { reason: "it is down".into() };
        for error in
            [timed_out, unreachable, NodeError::Loading, NodeError::MasterDown, NodeError::Replica]
        {
            assert!(may_pass(&error), "{error}");
        }
        for error in [NodeError::ForeignKey, NodeError::OtherKind, NodeError::Closed] {
            assert!(!may_pass(&error), "{error}");
        }
    }
}
