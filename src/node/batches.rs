//! Many statements about locks of one node, said in few calls: up to [`BATCH`] in each.
//!
//! Each call enters the outbox of the link like any other; here is decided what travels together,
//! and how many calls are on their way at the same time.

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

/// Batches of one node that are on their way at the same time: enough to keep it busy, few enough
/// that the answers to the first are read before the last are sent.
const IN_FLIGHT: usize = 8;

/// One of many statements, and who wants to know what came of it.
#[derive(Debug)]
pub(crate) struct Said<T> {
    pub(crate) statement: Statement,
    /// How long the answer may take, from when its call is made.
    pub(crate) timeout: Duration,
    pub(crate) by: T,
}

/// What the server answered to one of many statements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Told {
    pub(crate) outcome: Outcome,
    /// Before the first byte of the call left.
    pub(crate) sent: Instant,
    /// The run of the server that answered, if it is known.
    pub(crate) run_id: Option<RunId>,
}

impl Node {
    /// Says everything, in as few calls as may be, and tells of each statement what came of it, as
    /// soon as that is known.
    ///
    /// An error for a whole call must not condemn every lock in it (one key the user may not touch
    /// is enough): such a call is halved until the culprit stands alone.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open what was executed; nothing more is told.
    pub(crate) async fn say_all<T: Send + Sync>(
        &self,
        all: Vec<Said<T>>,
        tell: impl Fn(&T, Result<Told, NodeError>) + Sync,
    ) {
        let tell = &tell;
        let calls = group(all, |key| self.slot(key)).into_iter().flat_map(cut);
        stream::iter(calls).for_each_concurrent(IN_FLIGHT, |load| self.say(load, tell)).await;
    }

    /// What travels in one call: keys for which this is the same. One master takes them all; a
    /// cluster takes those of one slot.
    #[expect(clippy::unused_self, reason = "it is for the node to say")]
    const fn slot(&self, _key: &str) -> u16 {
        0
    }

    async fn say<T>(&self, load: Load<T>, tell: &impl Fn(&T, Result<Told, NodeError>)) {
        let mut open = vec![load];
        while let Some(mut load) = open.pop() {
            match self.call_all(&load).await {
                Ok(told) => {
                    load.by.iter().zip(told).for_each(|((_, by), told)| tell(by, Ok(told)));
                }
                Err(error) if error.may_concern_one_key() && load.by.len() > 1 => {
                    let rest = load.split_off(load.by.len() / 2);
                    open.extend([rest, load]);
                }
                Err(error) => {
                    let (locks, script) = (load.by.len(), load.call.name());
                    tracing::debug!(locks, script, %error, "a batch was not answered");
                    load.by.iter().for_each(|(_, by)| tell(by, Err(error.clone())));
                }
            }
        }
    }

    async fn call_all<T>(&self, load: &Load<T>) -> Result<Vec<Told>, NodeError> {
        let timeout = load.by.iter().map(|(timeout, _)| *timeout).min().unwrap_or_default();
        let deadline = self.0.core.settings.clock.now() + timeout;
        let connection = self.connection(load.call.key(), deadline).await?;
        let answer = connection.call(&load.call, deadline).await?;
        let (sent, run_id) = (answer.sent, connection.run_id());
        Ok(answer.reply.into_iter().map(|outcome| Told { outcome, sent, run_id }).collect())
    }
}

/// What goes into one call.
#[derive(Debug)]
struct Load<T> {
    call: Batch,
    by: Vec<(Duration, T)>,
}

impl<T> Load<T> {
    fn split_off(&mut self, at: usize) -> Self {
        Self { call: self.call.split_off(at), by: self.by.split_off(at) }
    }
}

/// What may travel together, in the order in which it was given.
fn group<T>(all: Vec<Said<T>>, slot: impl Fn(&str) -> u16) -> Vec<Load<T>> {
    type Group<T> = (&'static Script, Vec<Statement>, Vec<(Duration, T)>);
    let mut groups: BTreeMap<(u16, &'static str), Group<T>> = BTreeMap::new();
    for Said { statement, timeout, by } in all {
        let script = statement.script;
        let group = groups.entry((slot(statement.key()), script.text().sha));
        let (_, statements, whose) = group.or_insert_with(|| (script, Vec::new(), Vec::new()));
        statements.push(statement);
        whose.push((timeout, by));
    }
    let load = |(script, statements, by)| Load { call: Batch::new(script, statements), by };
    groups.into_values().map(load).collect()
}

/// Cut into calls.
fn cut<T>(mut load: Load<T>) -> Vec<Load<T>> {
    let mut loads = Vec::new();
    while load.by.len() > BATCH {
        let rest = load.split_off(BATCH);
        loads.push(std::mem::replace(&mut load, rest));
    }
    loads.push(load);
    loads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{node::test_server::ECHO, wire::Arg};

    static OTHER: Script = Script::new("other.lua", "other", 1, || "f".repeat(40));

    fn said(script: &'static Script, by: usize) -> Said<usize> {
        let statement = Statement::new(script, [&by.to_string().into()], [Arg::Int(0)]);
        Said { statement, timeout: Duration::from_secs(1), by }
    }

    fn owners(load: &Load<usize>) -> Vec<usize> {
        load.by.iter().map(|(_, by)| *by).collect()
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
            let loads = group((0..all).map(|by| said(&ECHO, by)).collect(), |_| 0);
            let loads: Vec<_> = loads.into_iter().flat_map(cut).collect();
            assert_eq!(loads.iter().map(|load| load.by.len()).collect::<Vec<_>>(), lengths);
            let order: Vec<_> = loads.iter().flat_map(owners).collect();
            assert_eq!(order, (0..all).collect::<Vec<_>>());
        }
    }

    #[test]
    fn scripts_and_slots_travel_by_themselves() {
        let all = vec![said(&OTHER, 0), said(&ECHO, 1), said(&OTHER, 2), said(&ECHO, 3)];
        let loads = group(all, |key| u16::from(key == "3"));
        let mut groups: Vec<_> = loads.iter().map(owners).collect();
        groups.sort();
        assert_eq!(groups, [vec![0, 2], vec![1], vec![3]]);
    }
}
