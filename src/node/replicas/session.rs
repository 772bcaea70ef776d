//! One socket on which replicas are waited for.

use std::{
    future::pending,
    sync::atomic::{AtomicU64, Ordering},
};

use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};
use tokio::io::AsyncReadExt;

use super::desk::Post;
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    node::{node_core::Core, opening::Upkeep},
    reach::{Replicated, Size, Stream, before, cause, exchange, field, no_error},
    socket::words,
    standing::RunId,
    wire::{excerpt, key},
};

pub(super) struct ReplicasSession {
    pub(super) post: Post,
    /// Of the data, when the socket was made: another one since, and what was written in between may
    /// be gone from the master itself.
    replid: RunId,
    /// What the server writes itself, and sends to its replicas as it would an acquire.
    announcement: Cmd,
    stream: Box<dyn Stream>,
    tie: Upkeep,
}

impl ReplicasSession {
    /// Asks at once all that is asked later, so that a right which is missing is known before anything
    /// is granted. In a cluster something is written in the first of `slots` where that can be.
    pub(super) async fn open(
        core: &Core,
        rule: &Replicated,
        slots: &[u16],
    ) -> Result<Self, NodeError> {
        static SOCKETS: AtomicU64 = AtomicU64::new(1);
        let deadline = core.connected_by();
        let (mut stream, tie) = core.logged_in(deadline).await?;
        let announcements = announcements(core, rule, slots);
        let questions = [words(&["INFO", "server"]), words(&["INFO", "replication"]), wait(0, 1)];
        let questions = [&questions[..], &announcements].concat();
        let asked = async { Ok(exchange(&mut stream, &questions, Size::FEW).await) };
        let mut answers = core.in_time(deadline, "the server did not answer", asked).await?;
        let announced = answers.split_off(answers.len().min(3));
        let [server, replication, waited] = three(answers)?;
        read_count(waited)?;
        let announcement = first_taken(announcements, announced)?;
        let told = |info, name| field(info, name).and_then(RunId::new);
        let run_id = told(&server, "run_id").ok_or(NodeError::Unidentified)?;
        let replid = told(&replication, "master_replid").ok_or(NodeError::Unidentified)?;
        if field(&replication, "role") == Some("slave") {
            return Err(NodeError::Replica);
        }
        let mode = field(&server, "redis_mode").or(field(&server, "server_mode"));
        if mode == Some("cluster") && !core.endpoint.is_of_cluster() {
            // There a PUBLISH goes to all and is written nowhere.
            let what =
                "replicas can be waited for in a cluster if it is named as one, redis+cluster://";
            return Err(NodeError::Unsupported { what: what.into() });
        }
        let socket = SOCKETS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { post: Post { socket, run_id }, replid, announcement, stream, tie })
    }

    /// How many replicas have, until then, what this run has written up to now.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the session unusable.
    pub(super) async fn count(
        &mut self,
        core: &Core,
        rule: &Replicated,
        until: Instant,
    ) -> Result<u32, NodeError> {
        let clock = &core.settings.clock;
        let now = clock.now();
        // 0 ms would be for ever.
        let ms = until.saturating_since(now).as_micros().div_ceil(1_000).max(1);
        let questions =
            [self.announcement.clone(), wait(rule.by, ms), words(&["INFO", "replication"])];
        let asked = exchange(&mut self.stream, &questions, Size::FEW);
        let answered = before(clock, now.max(until) + core.settings.node_timeout, asked).await;
        let answers = answered.ok_or(NodeError::TimedOut { phase: Phase::Answering })?;
        let mut answers = answers.into_iter();
        let mut next = || no_error(answers.next().unwrap_or(Ok(Value::Nil)));
        next()?;
        let count = read_count(next()?)?;
        // Asked last: a server that is master of the same data now has been it all the while.
        let replication = next()?;
        let replid = field(&replication, "master_replid").and_then(RunId::new);
        if replid != Some(self.replid) || field(&replication, "role") == Some("slave") {
            return Err(cause::unreachable(&"it was no master for a while"));
        }
        Ok(count)
    }

    /// Completes when it is of no use any more.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(super) async fn is_over(&mut self, core: &Core) {
        let Self { stream, tie, .. } = self;
        let mut nothing = [0; 1];
        let login_ends = async {
            match tie.renew_login_at {
                Some(at) => core.settings.clock.sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            biased;
            // Nothing comes there unasked but the end of the stream.
            _read = stream.read(&mut nothing) => {}
            () = core.moved_from(tie) => {}
            () = login_ends => {}
        }
    }
}

/// Any of which does. In a cluster a slot that is half moved takes no keys that it does not have.
fn announcements(core: &Core, rule: &Replicated, slots: &[u16]) -> Vec<Cmd> {
    if !core.endpoint.is_of_cluster() {
        return vec![words(&["PUBLISH", &rule.channel, ""])];
    }
    let set = |slot| words(&["SET", &key::in_slot(&rule.keys, slot), "", "PX", STANDS_FOR_MS]);
    slots.iter().copied().map(set).collect()
}

/// The first of them that the server has executed; else its first error.
fn first_taken(all: Vec<Cmd>, answers: Vec<RedisResult<Value>>) -> Result<Cmd, NodeError> {
    let mut failed = None;
    for (command, answer) in all.into_iter().zip(answers) {
        match no_error(answer) {
            Ok(_) => return Ok(command),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    Err(failed.unwrap_or_else(|| cause::malformed(&"nothing was answered")))
}

fn wait(replicas: u32, ms: impl ToString) -> Cmd {
    let mut command = cmd("WAIT");
    command.arg(replicas).arg(ms.to_string());
    command
}

fn three(answers: Vec<RedisResult<Value>>) -> Result<[Value; 3], NodeError> {
    let answers: Result<Vec<_>, _> = answers.into_iter().map(no_error).collect();
    let answers = <[Value; 3]>::try_from(answers?);
    answers.map_err(|_others| cause::malformed(&"three questions have other answers"))
}

fn read_count(answer: Value) -> Result<u32, NodeError> {
    let what = || cause::malformed(&format!("a count was expected, not {}", excerpt(&answer)));
    u32::from_redis_value_ref(&answer).map_err(|_ignored| what())
}

/// How long a key stands that was written for replicas only.
const STANDS_FOR_MS: &str = "1000";
