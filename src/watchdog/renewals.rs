//! Renewals, by node: what is due on one travels together, if it may be said by one and the same user.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use super::{Due, LOOK_AGAIN, Report, Shared, Watched};
use crate::{
    by_member::MemberId,
    error::NodeError,
    metering::DueTime,
    node::{BatchAnswer, BatchItem, Node},
    panics::contained,
    reach::ConnectionKey,
};

/// Where the answer is told.
#[derive(Debug)]
struct Asker<'a> {
    shared: &'a Shared,
    id: u64,
    claim: Arc<dyn Watched>,
    member: MemberId,
    node: Node,
    is_look: bool,
    due_at: DueTime,
    is_told: AtomicBool,
}

impl Asker<'_> {
    fn tell(&self, report: Report) {
        self.is_told.store(true, Ordering::Relaxed);
        let now = self.shared.clock.now();
        let next = contained(|| match self.is_look {
            true => self.claim.on_looked(self.member, report, now),
            false => self.claim.on_report(self.member, report, now),
        });
        self.shared.reschedule(self.id, next.unwrap_or(Some(now + LOOK_AGAIN)));
    }
}

impl Drop for Asker<'_> {
    /// After a panic nothing else would say that nothing came of the request.
    fn drop(&mut self) {
        if std::thread::panicking() && !self.is_told.load(Ordering::Relaxed) {
            let cause = NodeError::Unreachable { reason: PANICKED.into() };
            contained(|| self.tell(Report::Unknown { cause }));
        }
    }
}

/// What is due, by node. Clients share the connections of one of them where nothing tells theirs apart.
#[derive(Debug, Default)]
pub(super) struct Renewals<'a>(BTreeMap<Arc<ConnectionKey>, Vec<BatchItem<Asker<'a>>>>);

impl<'a> Renewals<'a> {
    /// A request that is due, and the claim that wants to know what came of it.
    pub(super) fn add(&mut self, shared: &'a Shared, id: u64, claim: &Arc<dyn Watched>, due: Due) {
        let Due { member, node, statement, timeout, is_look, due_at } = due;
        let identity = node.identity().clone();
        let (claim, is_told) = (claim.clone(), AtomicBool::new(false));
        let asker = Asker { shared, id, claim, member, node, is_look, due_at, is_told };
        self.0.entry(identity).or_default().push(BatchItem { statement, timeout, asker });
    }

    /// Renews what is due, node by node, and tells every hold what came of it.
    pub(super) fn send(self) -> impl Iterator<Item = impl Future<Output = ()> + use<'a>> {
        let groups = self.0;
        #[cfg(planted_bugs)]
        let groups =
            crate::planted::batches::by_address(groups, |item| item.asker.node.id().as_str());
        groups.into_values().map(renew_all)
    }
}

async fn renew_all(group: Vec<BatchItem<Asker<'_>>>) {
    let Some(node) = group.first().map(|item| item.asker.node.clone()) else { return };
    node.call_batched(group, report).await;
}

fn report(asker: &Asker<'_>, answer: Result<BatchAnswer, NodeError>) {
    if let Ok(BatchAnswer { sent, .. }) = answer {
        asker.node.meters().renewed(asker.due_at, sent);
    }
    let report = match answer {
        // An answer from a process that is gone says nothing about the one that runs now.
        Ok(BatchAnswer { outcome, sent, run_id }) if asker.node.run_id() == run_id => {
            Report::Answered { outcome, sent, run_id }
        }
        Ok(_) => Report::Unknown { cause: NodeError::Unreachable { reason: RESTARTED.into() } },
        Err(cause) => Report::Unknown { cause },
    };
    asker.tell(report);
}

const PANICKED: &str = "the watchdog panicked";
const RESTARTED: &str = "the server was restarted meanwhile";

#[cfg(feature = "embedded")]
#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{
        clock::{Instant, TokioClock},
        embedded::Server,
        random::Random,
        standing::RunId,
        watchdog::{Schedule, Table, Tick, stragglers},
        wire::Outcome,
    };

    /// Notes whether the server has answered.
    #[derive(Debug, Default)]
    struct Noting(Mutex<Vec<bool>>);

    impl Watched for Noting {
        fn end_in_time(&self, _now: Instant) -> Option<Instant> {
            None
        }

        fn tick(self: Arc<Self>, _now: Instant, _most: usize) -> Tick {
            Tick::default()
        }

        fn on_report(&self, _member: MemberId, report: Report, _now: Instant) -> Option<Instant> {
            let is_answered = matches!(report, Report::Answered { .. });
            self.0.lock().expect("nobody panics").push(is_answered);
            None
        }

        fn recount(&self) -> Vec<Due> {
            Vec::new()
        }

        fn on_recounted(&self, _member: MemberId, _report: Report, _now: Instant) {}
    }

    fn shared() -> Shared {
        Shared {
            clock: Arc::new(TokioClock::new()),
            random: Arc::new(Random::seeded(1)),
            table: Mutex::new(Table { schedule: Schedule::new(), wakes_at: None }),
            nudge: tokio::sync::Notify::new(),
            stragglers: stragglers::StragglerList::default(),
            is_running: AtomicBool::new(true),
        }
    }

    /// Its connections may lead to another process since.
    #[tokio::test(start_paused = true)]
    async fn answer_counts_only_if_it_is_of_the_run_that_is_there_now() {
        let client = Server::start_here().client().expect("it needs no server yet");
        let lock = client.lock("x");
        lock.is_locked().await.expect("it is up");
        let (shared, claim) = (shared(), Arc::new(Noting::default()));
        let asker = Asker {
            shared: &shared,
            id: 1,
            claim: claim.clone(),
            member: MemberId::FIRST,
            node: lock.voter().services.node.clone(),
            is_look: false,
            due_at: DueTime::default(),
            is_told: AtomicBool::new(false),
        };
        for run_id in [asker.node.run_id(), RunId::new(&"a".repeat(40)), None] {
            let outcome = Outcome { code: Outcome::DONE, value: 30_000, token: 0 };
            report(&asker, Ok(BatchAnswer { outcome, sent: shared.clock.now(), run_id }));
        }
        assert_eq!(*claim.0.lock().expect("nobody panics"), [true, false, false]);
    }
}
