//! Statements about many locks of one node, sent in few calls: up to [`BATCH`] in each.
//!
//! Each call goes through the outbox of the link like any other. This module decides which
//! statements share a call, and how many calls may be unanswered at the same time.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::atomic::Ordering,
    time::Duration,
};

use futures::{StreamExt, stream};

use super::{deployment::Node, next_socket::NextSocket, replicas::Lookout};
use crate::{
    clock::Instant,
    error::NodeError,
    logging::NODE,
    metering::BatchSort,
    socket::{Answer, Connection, Priority},
    standing::RunId,
    telling,
    wire::{Batch, Outcome, Statement, key},
};

/// Locks in one script call. One of 256 would keep a server from others for more than half a
/// millisecond, and cost it no less for each.
const BATCH: usize = 64;

/// No more is put in one call, in bytes, than its first lock and so much: a thousand permits of a holder
/// cost a server as much as a thousand locks.
const BATCH_BYTES: usize = 16 * 1024;

/// One of many statements, and the caller that is to get the answer.
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
    /// alone in its call. Part of it may have been executed by then, so every statement must bear to
    /// be said twice. A server of a cluster takes one slot in a call, and is known by its refusal.
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
        let calls = stream::iter(self.calls(items));
        let call = |call| async {
            let _permit = self.0.core.batches.acquire().await;
            self.call_halving(call, report).await;
        };
        calls.for_each_concurrent(None, call).await;
    }

    fn calls<T>(&self, items: Vec<BatchItem<T>>) -> Vec<BatchCall<T>> {
        let is_cut = self.is_cut_by_slot();
        let slot = |of: &Statement| if is_cut { key::slot(of.key()) } else { 0 };
        calls(items, slot).collect()
    }

    fn is_cut_by_slot(&self) -> bool {
        self.0.core.by_slot.load(Ordering::Relaxed)
    }

    /// Makes a call, and again in halves for as long as one key may be the reason for its error.
    async fn call_halving<T>(
        &self,
        call: BatchCall<T>,
        report: &impl Fn(&T, Result<BatchAnswer, NodeError>),
    ) {
        let mut open = vec![call];
        while let Some(mut call) = open.pop() {
            match self.call_looking_out(&call).await {
                Ok(answered) => self.report_replicated(&call, answered, report).await,
                Err(error) if error.is_crossslot() && !self.is_cut_by_slot() => {
                    self.0.core.by_slot.store(true, Ordering::Relaxed);
                    open.extend(self.calls(call.into_items()));
                }
                Err(error) if error.may_concern_one_key() && call.is_divisible() => {
                    let rest = call.split_off(call.askers.len() / 2);
                    open.extend([rest, call]);
                }
                Err(error) => {
                    let (locks, script) = (call.askers.len(), call.batch.shared_script().name);
                    let cause = error.clone();
                    telling::event(
                        move || tracing::debug!(target: NODE, locks, script, %cause, "a batch was not answered"),
                    );
                    call.askers.iter().for_each(|asker| report(asker, Err(error.clone())));
                }
            }
        }
    }

    /// Where to ask afterwards whether replicas have it. That it cannot be asked is no reason not to
    /// send it: it is to be known whether the locks are still ours, and to stand for longer there.
    async fn look_out_for<T>(
        &self,
        call: &BatchCall<T>,
        connection: Option<&Connection>,
    ) -> Option<Result<Box<Lookout>, NodeError>> {
        if call.batch.lease_ms().is_none_or(|lease_ms| lease_ms == 0) {
            return None;
        }
        let deadline = self.0.core.settings.clock.now() + call.timeout;
        self.look_out(call.batch.key(), connection, deadline).await.transpose()
    }

    /// Makes a call with a look-out where it is answered.
    async fn call_looking_out<T>(&self, call: &BatchCall<T>) -> Result<Answered, NodeError> {
        let mut from = self.look_out_for(call, None).await;
        let (mut answers, mut connection) = self.call_once(call).await?;
        let run_id = connection.server_run();
        if matches!(&from, Some(Ok(from)) if from.is_elsewhere(run_id)) {
            // The slot has moved, or is about to: said once more to the server that has answered.
            from = self.look_out_for(call, Some(&connection)).await;
            (answers, connection) = self.call_once(call).await?;
        }
        Ok(Answered { answers, run_id: connection.server_run(), from })
    }

    /// Reports what was done once replicas have it, and all else at once.
    async fn report_replicated<T>(
        &self,
        call: &BatchCall<T>,
        Answered { answers, run_id, from }: Answered,
        report: &impl Fn(&T, Result<BatchAnswer, NodeError>),
    ) {
        let all = call.askers.iter().zip(answers);
        let Some(from) = from else {
            return all.for_each(|(asker, answer)| report(asker, Ok(answer)));
        };
        let is_done = |(_, answer): &(&T, BatchAnswer)| answer.outcome.code == Outcome::DONE;
        let (done, others): (Vec<_>, Vec<_>) = all.partition(is_done);
        others.into_iter().for_each(|(asker, answer)| report(asker, Ok(answer)));
        if done.is_empty() {
            return;
        }
        let replicated = match from {
            Ok(from) => from.replicated(run_id, call.timeout).await,
            Err(error) => Err(error),
        };
        for (asker, answer) in done {
            report(asker, replicated.clone().map(|()| answer));
        }
    }

    async fn call_once<T>(
        &self,
        call: &BatchCall<T>,
    ) -> Result<(Vec<BatchAnswer>, Connection), NodeError> {
        let deadline = self.0.core.settings.clock.now() + call.timeout;
        let next_socket = NextSocket::for_the_unsent().divisible(call.is_divisible());
        let key = call.batch.key();
        let (connection, answer) = match self.call_on_another_runtimes(call, deadline).await {
            Some(answered) => answered,
            None => {
                self.call_until(next_socket, key, Priority::Renewal, &call.batch, deadline).await?
            }
        };
        self.0.core.settings.meters.batch(BatchSort::Renewals, call.askers.len());
        let (sent, run_id) = (answer.sent, connection.run_id());
        let outcomes = answer.reply.into_iter();
        let answers = outcomes.map(|outcome| BatchAnswer { outcome, sent, run_id }).collect();
        Ok((answers, connection))
    }
}

impl Node {
    /// Where this runtime has no connection, and comes to none in half of the time: what another runtime has lives
    /// on when no new one can be made, since the password is another now, or a certificate, or there are too many.
    async fn call_on_another_runtimes<T>(
        &self,
        call: &BatchCall<T>,
        deadline: Instant,
    ) -> Option<(Connection, Answer<Vec<Outcome>>)> {
        let key = call.batch.key();
        if self.connected(key).is_some() {
            return None;
        }
        let theirs = self.connected_anywhere(key)?;
        if self.connection(key, deadline - call.timeout / 2).await.is_ok() {
            return None;
        }
        // Else the cause is why there is no connection.
        let answer = theirs.call_of(Priority::Renewal, &call.batch, deadline).await.ok()?;
        Some((theirs, answer))
    }
}

/// What one call was answered, by which run, and from where to look whether replicas have it, if that
/// matters.
struct Answered {
    answers: Vec<BatchAnswer>,
    run_id: Option<RunId>,
    from: Option<Result<Box<Lookout>, NodeError>>,
}

/// The statements of one call, and in the same order the callers that are to get their answers.
#[derive(Debug)]
struct BatchCall<T> {
    batch: Batch,
    /// Of all statements but the first.
    bytes: usize,
    timeout: Duration,
    askers: Vec<T>,
}

impl<T> BatchCall<T> {
    fn of(BatchItem { statement, timeout, asker }: BatchItem<T>) -> Self {
        let batch = Batch::new(statement.script, vec![statement]);
        Self { batch, bytes: 0, timeout, askers: vec![asker] }
    }

    fn has_room_for(&self, statement: &Statement) -> bool {
        self.askers.len() < BATCH && self.bytes + statement.size() <= BATCH_BYTES
    }

    fn add(&mut self, BatchItem { statement, asker, .. }: BatchItem<T>) {
        self.bytes += statement.size();
        self.batch.push(statement);
        self.askers.push(asker);
    }

    fn is_divisible(&self) -> bool {
        self.askers.len() > 1 && !planted!(BatchNotHalved)
    }

    /// Takes out what comes from `at` on. No part is added to afterwards.
    fn split_off(&mut self, at: usize) -> Self {
        let (batch, askers) = (self.batch.split_off(at), self.askers.split_off(at));
        Self { batch, bytes: self.bytes, timeout: self.timeout, askers }
    }

    fn into_items(self) -> Vec<BatchItem<T>> {
        let all = self.batch.into_statements().into_iter().zip(self.askers);
        let item = |(statement, asker)| BatchItem { statement, timeout: self.timeout, asker };
        all.map(item).collect()
    }
}

/// Calls of at most [`BATCH`] locks and [`BATCH_BYTES`]. Each script, slot, lease and time-out has its
/// own: none is hurried by another. Inside them the order of `items` is kept.
fn calls<T>(
    items: Vec<BatchItem<T>>,
    slot: impl Fn(&Statement) -> u16,
) -> impl Iterator<Item = BatchCall<T>> {
    type Sort = (u16, &'static str, Option<i64>, Duration);
    let (mut full, mut open) = (Vec::new(), BTreeMap::<Sort, BatchCall<T>>::new());
    for item in items {
        let of = &item.statement;
        match open.entry((slot(of), of.script.text().sha, of.lease_ms(), item.timeout)) {
            Entry::Occupied(mut call) if call.get().has_room_for(of) => call.get_mut().add(item),
            Entry::Occupied(mut call) => full.push(call.insert(BatchCall::of(item))),
            Entry::Vacant(none) => _ = none.insert(BatchCall::of(item)),
        }
    }
    full.into_iter().chain(open.into_values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        reach::test_settings::ECHO,
        wire::{Arg, Script},
    };

    static OTHER: Script = Script::new("other.lua", "other", 1, || "f".repeat(40));

    fn item(script: &'static Script, asker: usize) -> BatchItem<usize> {
        let statement = Statement::new(script, [&asker.to_string().into()], [Arg::Int(0)]);
        BatchItem { statement, timeout: Duration::from_secs(1), asker }
    }

    fn askers(call: &BatchCall<usize>) -> Vec<usize> {
        call.askers.clone()
    }

    #[test]
    fn calls_take_64_each_keep_the_order_and_no_more_room_than_they_need() {
        for (all, lengths) in [
            (1, vec![1]),
            (64, vec![64]),
            (65, vec![64, 1]),
            (150, vec![64, 64, 22]),
            (192, vec![64, 64, 64]),
        ] {
            let items = (0..all).map(|asker| item(&ECHO, asker)).collect();
            let calls: Vec<_> = calls(items, |_| 0).collect();
            assert_eq!(calls.iter().map(|call| call.askers.len()).collect::<Vec<_>>(), lengths);
            assert!(calls.iter().all(|call| call.askers.capacity() <= 64));
            let order: Vec<_> = calls.iter().flat_map(askers).collect();
            assert_eq!(order, (0..all).collect::<Vec<_>>());
        }
    }

    #[test]
    fn calls_take_no_more_bytes_than_a_server_has_time_for() {
        let large = |asker: usize| {
            let args = [Arg::Bytes(vec![0; 7_000].into())];
            let statement = Statement::new(&ECHO, [&asker.to_string().into()], args);
            BatchItem { statement, ..item(&ECHO, asker) }
        };
        let calls = calls((0..7).map(large).collect(), |_| 0);
        let calls: Vec<_> = calls.map(|call| askers(&call)).collect();
        assert_eq!(calls, [vec![0, 1, 2], vec![3, 4, 5], vec![6]]);
    }

    #[test]
    fn scripts_slots_and_time_outs_get_calls_of_their_own() {
        let mut all = vec![item(&OTHER, 0), item(&ECHO, 1), item(&OTHER, 2), item(&ECHO, 3)];
        all.push(BatchItem { timeout: Duration::from_secs(2), ..item(&OTHER, 4) });
        let calls = calls(all, |of| u16::from(of.key() == "3"));
        let mut groups: Vec<_> = calls.map(|call| askers(&call)).collect();
        groups.sort();
        assert_eq!(groups, [vec![0, 2], vec![1], vec![3], vec![4]]);
    }
}
