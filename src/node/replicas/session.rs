//! One socket on which replicas are waited for.

use std::{
    future::pending,
    sync::atomic::{AtomicU64, Ordering},
};

use redis::{Cmd, FromRedisValue, RedisResult, Value, cmd};
use tokio::io::AsyncReadExt;

use super::desk::Lookout;
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    node::{
        Stream, cause, commands::words, deadline::before, exchange::exchange, handshake::no_error,
        info::field, node_core::Core, opening::Tie, settings::Replicated,
    },
    standing::RunId,
    wire::excerpt,
};

pub(super) struct Session {
    pub(super) lookout: Lookout,
    /// Of the data, when the socket was made: another one since, and what was written in between may
    /// be gone from the master itself.
    replid: RunId,
    stream: Box<dyn Stream>,
    tie: Tie,
}

impl Session {
    /// Asks at once all that is asked later, so that a right which is missing is known before anything
    /// is granted.
    pub(super) async fn open(core: &Core, rule: &Replicated) -> Result<Self, NodeError> {
        static SOCKETS: AtomicU64 = AtomicU64::new(1);
        let deadline = core.connected_by();
        let (mut stream, tie) = core.logged_in(deadline).await?;
        let questions = [
            words(&["INFO", "server"]),
            words(&["INFO", "replication"]),
            announcement(rule),
            wait(0, 1),
        ];
        let asked = async { Ok(exchange(&mut stream, &questions).await) };
        let answers = core.in_time(deadline, "the server did not answer", asked).await?;
        let [server, replication, announced, waited] = four(answers)?;
        for answer in [announced, waited] {
            read_count(answer)?;
        }
        let told = |info, name| field(info, name).and_then(RunId::new);
        let run_id = told(&server, "run_id").ok_or(NodeError::Unidentified)?;
        let replid = told(&replication, "master_replid").ok_or(NodeError::Unidentified)?;
        if field(&replication, "role") == Some("slave") {
            return Err(NodeError::Replica);
        }
        if field(&server, "redis_mode").or(field(&server, "server_mode")) == Some("cluster") {
            // There a PUBLISH goes to all and is written nowhere.
            let what = "replicas cannot be waited for in a cluster".into();
            return Err(NodeError::Unsupported { what });
        }
        let socket = SOCKETS.fetch_add(1, Ordering::Relaxed);
        Ok(Self { lookout: Lookout { socket, run_id }, replid, stream, tie })
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
        let questions = [announcement(rule), wait(rule.by, ms), words(&["INFO", "replication"])];
        let asked = exchange(&mut self.stream, &questions);
        let answered = before(clock, now.max(until) + core.settings.node_timeout, asked).await;
        let answers = answered.ok_or(NodeError::TimedOut { phase: Phase::Answering })?;
        let mut answers = answers.into_iter();
        let mut next = || no_error(answers.next().unwrap_or(Ok(Value::Nil)));
        read_count(next()?)?;
        let count = read_count(next()?)?;
        // Asked last: whoever is master of the same data now has been it all the while.
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
            // Nobody speaks there unasked but who hangs up.
            _read = stream.read(&mut nothing) => {}
            () = core.moved_from(tie) => {}
            () = login_ends => {}
        }
    }
}

/// What the server writes itself, and sends to its replicas as it would an acquire.
fn announcement(rule: &Replicated) -> Cmd {
    words(&["PUBLISH", &rule.channel, ""])
}

fn wait(replicas: u32, ms: impl ToString) -> Cmd {
    let mut command = cmd("WAIT");
    command.arg(replicas).arg(ms.to_string());
    command
}

fn four(answers: Vec<RedisResult<Value>>) -> Result<[Value; 4], NodeError> {
    let answers: Result<Vec<_>, _> = answers.into_iter().map(no_error).collect();
    let answers = <[Value; 4]>::try_from(answers?);
    answers.map_err(|_others| cause::malformed(&"four questions have other answers"))
}

fn read_count(answer: Value) -> Result<u32, NodeError> {
    let what = || cause::malformed(&format!("a count was expected, not {}", excerpt(&answer)));
    u32::from_redis_value_ref(&answer).map_err(|_ignored| what())
}
