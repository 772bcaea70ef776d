//! Renewals travel in batches: one script call for up to [`BATCH`] locks of a node.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt, stream};

use super::{Due, Report, Shared, Watched};
use crate::{
    error::NodeError,
    node::{Answer, Connection, NodeId},
    wire::{Batch, Outcome, Statement},
};

/// Locks in one script call. A call of 256 occupies a server for about half a millisecond.
const BATCH: usize = 256;

/// A request that is due, and the hold that wants to know what came of it.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) id: u64,
    pub(super) hold: Arc<dyn Watched>,
    pub(super) due: Due,
}

impl Item {
    fn script(&self) -> &'static str {
        self.due.statement.script.name
    }
}

/// Batches of one node that are on their way at the same time: enough to keep it busy, few enough
/// that the answers to the first are read before the last are sent.
const IN_FLIGHT: usize = 8;

/// What is due, by node and script.
pub(super) fn groups(items: Vec<Item>) -> impl Iterator<Item = Vec<Item>> {
    let mut groups: BTreeMap<(NodeId, &'static str), Vec<Item>> = BTreeMap::new();
    for item in items {
        let group = (item.due.node.id().clone(), item.due.statement.script.sha());
        groups.entry(group).or_default().push(item);
    }
    groups.into_values()
}

/// Renews what is due on one node, in batches.
pub(super) async fn renew_all(shared: &Shared, group: Vec<Item>) {
    let batches = stream::iter(cut(group));
    batches.for_each_concurrent(IN_FLIGHT, |batch| renew(shared, batch)).await;
}

fn cut(mut group: Vec<Item>) -> Vec<Vec<Item>> {
    let mut batches = Vec::new();
    while group.len() > BATCH {
        let rest = group.split_off(BATCH);
        batches.push(std::mem::replace(&mut group, rest));
    }
    batches.push(group);
    batches
}

/// Sends a batch and tells every hold what came of it.
///
/// An error for the whole call must not condemn every lock in it (one key the user may not touch
/// is enough): the batch is halved until the culprit stands alone.
async fn renew(shared: &Shared, batch: Vec<Item>) {
    let mut open = vec![batch];
    while let Some(mut batch) = open.pop() {
        match ask(shared, &batch).await {
            Ok((answer, connection)) => tell(shared, &batch, &answer, &connection),
            Err(error) if error.may_concern_one_key() && batch.len() > 1 => {
                let rest = batch.split_off(batch.len() / 2);
                open.extend([rest, batch]);
            }
            Err(error) => {
                let (locks, script) = (batch.len(), batch.first().map(Item::script));
                tracing::debug!(locks, script, %error, "a renewal was not answered");
                for item in &batch {
                    report(shared, item, Report::Unknown);
                }
            }
        }
    }
}

async fn ask(
    shared: &Shared,
    batch: &[Item],
) -> Result<(Answer<Vec<Outcome>>, Connection), NodeError> {
    let Some(first) = batch.first() else {
        return Err(NodeError::Closed);
    };
    let timeout = batch.iter().map(|item| item.due.timeout).min().unwrap_or_default();
    let deadline = shared.clock.now() + timeout;
    let connection = first.due.node.connection(&first.due.statement.key, deadline).await?;
    let statements: Vec<Statement> = batch.iter().map(|item| item.due.statement.clone()).collect();
    let call = Batch::new(first.due.statement.script, statements);
    let answer = connection.call(&call, deadline).await?;
    Ok((answer, connection))
}

fn tell(shared: &Shared, batch: &[Item], answer: &Answer<Vec<Outcome>>, connection: &Connection) {
    let run_id = connection.run_id();
    for (item, outcome) in batch.iter().zip(&answer.reply) {
        // An answer from a process that is gone says nothing about the one that runs now.
        let current = item.due.node.run_id() == run_id;
        let answered = Report::Answered { outcome: *outcome, sent: answer.sent, run_id };
        report(shared, item, if current { answered } else { Report::Unknown });
    }
}

fn report(shared: &Shared, item: &Item, report: Report) {
    let next = item.hold.told(item.due.member, report, shared.clock.now());
    shared.reschedule(item.id, next);
}
