//! Statements about many locks of one node, sent in few calls: up to [`BATCH`] in each.
//!
//! Each call goes through the outbox of the link like any other. This module decides which
//! statements share a call, and how many calls may be unanswered at the same time.

use std::{collections::BTreeMap, time::Duration};

use futures::{StreamExt, stream};

use super::Node;
use crate::{
    clock::Instant,
    error::NodeError,
    standing::RunId,
    wire::{Batch, Outcome, Script, Statement},
};

/// Locks in one script call. A call of 256 occupies a server for about half a millisecond.
const BATCH: usize = 256;

/// Calls to one node that may be unanswered at the same time: enough to keep the server busy, few
/// enough that the first answers are read before the last calls are sent.
const IN_FLIGHT: usize = 8;

/// One of many statements, and who is to get the answer.
#[derive(Debug)]
pub(crate) struct BatchItem<T> {
    pub(crate) statement: Statement,
    /// How long the answer may take, counted from when its call is made.
    pub(crate) timeout: Duration,
    pub(crate) asker: T,
}

/// The server's answer to one statement of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchAnswer {
    pub(crate) outcome: Outcome,
    /// Before the first byte of the call left.
    pub(crate) sent: Instant,
    /// The run of the server that answered, if it is known.
    pub(crate) run_id: Option<RunId>,
}

impl Node {
    /// Sends all statements in as few calls as possible, and hands every answer, or the error in
    /// its place, to `report` as soon as it is there.
    ///
    /// One key that the user may not touch makes the server refuse the whole call. The other locks
    /// in it must not fail for that: such a call is halved, and sent again, until the bad key is
    /// alone in its call.
    ///
    /// # Cancel safety
    /// After the future was dropped nothing more is reported. What was sent by then may or may not
    /// be executed.
    pub(crate) async fn call_batched<T: Send + Sync>(
        &self,
        items: Vec<BatchItem<T>>,
        report: impl Fn(&T, Result<BatchAnswer, NodeError>) + Sync,
    ) {
        let report = &report;
        let calls = group(items, |key| self.slot(key)).into_iter().flat_map(cut);
        let calls = stream::iter(calls);
        calls.for_each_concurrent(IN_FLIGHT, |call| self.call_halving(call, report)).await;
    }

    /// The slot of a key: only keys of the same slot may share a call. A single master takes all
    /// keys; a cluster would not.
    #[expect(clippy::unused_self, reason = "it is for the node to say")]
    const fn slot(&self, _key: &str) -> u16 {
        0
    }

    /// Makes a call, and again in halves for as long as one key may be the reason for its error.
    async fn call_halving<T>(
        &self,
        call: BatchCall<T>,
        report: &impl Fn(&T, Result<BatchAnswer, NodeError>),
    ) {
        let mut open = vec![call];
        while let Some(mut call) = open.pop() {
            match self.call_once(&call).await {
                Ok(answers) => {
                    let askers = call.askers.iter().zip(answers);
                    askers.for_each(|((_, asker), answer)| report(asker, Ok(answer)));
                }
                Err(error) if error.may_concern_one_key() && call.askers.len() > 1 => {
                    let rest = call.split_off(call.askers.len() / 2);
                    open.extend([rest, call]);
                }
                Err(error) => {
                    let (locks, script) = (call.askers.len(), call.batch.name());
                    tracing::debug!(locks, script, %error, "a batch was not answered");
                    call.askers.iter().for_each(|(_, asker)| report(asker, Err(error.clone())));
                }
            }
        }
    }

    async fn call_once<T>(&self, call: &BatchCall<T>) -> Result<Vec<BatchAnswer>, NodeError> {
        let timeout = call.askers.iter().map(|(timeout, _)| *timeout).min().unwrap_or_default();
        let deadline = self.0.core.settings.clock.now() + timeout;
        let connection = self.connection(call.batch.key(), deadline).await?;
        let answer = connection.call(&call.batch, deadline).await?;
        let (sent, run_id) = (answer.sent, connection.run_id());
        let outcomes = answer.reply.into_iter();
        Ok(outcomes.map(|outcome| BatchAnswer { outcome, sent, run_id }).collect())
    }
}

/// The statements of one call, and in the same order who is to get their answers.
#[derive(Debug)]
struct BatchCall<T> {
    batch: Batch,
    /// Each with its time-out.
    askers: Vec<(Duration, T)>,
}

impl<T> BatchCall<T> {
    fn split_off(&mut self, at: usize) -> Self {
        Self { batch: self.batch.split_off(at), askers: self.askers.split_off(at) }
    }
}

/// A call, of whatever size, for each script and slot. Inside it the order of `items` is kept.
fn group<T>(items: Vec<BatchItem<T>>, slot: impl Fn(&str) -> u16) -> Vec<BatchCall<T>> {
    type Group<T> = (&'static Script, Vec<Statement>, Vec<(Duration, T)>);
    let mut groups: BTreeMap<(u16, &'static str), Group<T>> = BTreeMap::new();
    for BatchItem { statement, timeout, asker } in items {
        let script = statement.script;
        let group = groups.entry((slot(statement.key()), script.text().sha));
        let (_, statements, askers) = group.or_insert_with(|| (script, Vec::new(), Vec::new()));
        statements.push(statement);
        askers.push((timeout, asker));
    }
    let call = |(script, statements, askers)| {
        let batch = Batch::new(script, statements);
        BatchCall { batch, askers }
    };
    groups.into_values().map(call).collect()
}

/// Cuts a call into calls of at most [`BATCH`] locks.
fn cut<T>(mut call: BatchCall<T>) -> Vec<BatchCall<T>> {
    let mut calls = Vec::new();
    while call.askers.len() > BATCH {
        let rest = call.split_off(BATCH);
        calls.push(std::mem::replace(&mut call, rest));
    }
    calls.push(call);
    calls
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{node::test_server::ECHO, wire::Arg};

    static OTHER: Script = Script::new("other.lua", "other", 1, || "f".repeat(40));

    fn item(script: &'static Script, asker: usize) -> BatchItem<usize> {
        let statement = Statement::new(script, [&asker.to_string().into()], [Arg::Int(0)]);
        BatchItem { statement, timeout: Duration::from_secs(1), asker }
    }

    fn askers(call: &BatchCall<usize>) -> Vec<usize> {
        call.askers.iter().map(|(_, asker)| *asker).collect()
    }

    #[test]
    fn calls_take_256_each_and_keep_the_order() {
        for (all, lengths) in [
            (1, vec![1]),
            (256, vec![256]),
            (257, vec![256, 1]),
            (600, vec![256, 256, 88]),
            (768, vec![256, 256, 256]),
        ] {
            let calls = group((0..all).map(|asker| item(&ECHO, asker)).collect(), |_| 0);
            let calls: Vec<_> = calls.into_iter().flat_map(cut).collect();
            assert_eq!(calls.iter().map(|call| call.askers.len()).collect::<Vec<_>>(), lengths);
            let order: Vec<_> = calls.iter().flat_map(askers).collect();
            assert_eq!(order, (0..all).collect::<Vec<_>>());
        }
    }

    #[test]
    fn scripts_and_slots_get_calls_of_their_own() {
        let all = vec![item(&OTHER, 0), item(&ECHO, 1), item(&OTHER, 2), item(&ECHO, 3)];
        let calls = group(all, |key| u16::from(key == "3"));
        let mut groups: Vec<_> = calls.iter().map(askers).collect();
        groups.sort();
        assert_eq!(groups, [vec![0, 2], vec![1], vec![3]]);
    }
}
