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
    node::{BatchAnswer, BatchItem, Node},
    panics::contained,
    reach::Identity,
};

/// Who wants to know.
#[derive(Debug)]
struct Asker<'a> {
    shared: &'a Shared,
    id: u64,
    claim: Arc<dyn Watched>,
    member: MemberId,
    node: Node,
    is_told: AtomicBool,
}

impl Asker<'_> {
    fn tell(&self, report: Report) {
        self.is_told.store(true, Ordering::Relaxed);
        let now = self.shared.clock.now();
        let next = contained(|| self.claim.on_report(self.member, report, now));
        self.shared.reschedule(self.id, next.unwrap_or(Some(now + LOOK_AGAIN)));
    }
}

impl Drop for Asker<'_> {
    /// After a panic nobody else would say that nothing came of the request.
    fn drop(&mut self) {
        if std::thread::panicking() && !self.is_told.load(Ordering::Relaxed) {
            let cause = NodeError::Unreachable { reason: PANICKED.into() };
            contained(|| self.tell(Report::Unknown { cause }));
        }
    }
}

/// What is due, by node. Clients share the connections of one of them where nothing tells theirs apart.
#[derive(Debug, Default)]
pub(super) struct Renewals<'a>(BTreeMap<Arc<Identity>, Vec<BatchItem<Asker<'a>>>>);

impl<'a> Renewals<'a> {
    /// A request that is due, and the claim that wants to know what came of it.
    pub(super) fn add(&mut self, shared: &'a Shared, id: u64, claim: &Arc<dyn Watched>, due: Due) {
        let Due { member, node, statement, timeout } = due;
        let identity = node.identity().clone();
        let (claim, is_told) = (claim.clone(), AtomicBool::new(false));
        let asker = Asker { shared, id, claim, member, node, is_told };
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
