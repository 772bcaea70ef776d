//! What is made of the callers' steps: the history, and what is to be seen sometimes.

use checkers::history::{Event, Kind, SectionId};
use palisade::LockGuard;
use workload::{Observer, Target};

use crate::stage::Stage;

impl Observer for Stage {
    fn record(&self, event: Event) {
        if let Event::Releasing { section, .. } = event {
            self.network.turn_ends(section);
        }
        self.waiting.note(&event);
        self.log.record(event);
    }

    fn saw(&self, what: &'static str) {
        self.log.saw(what);
    }

    fn granted(&self, section: SectionId, target: &Target, guard: &LockGuard) {
        self.network.granted(guard.holder_id(), section);
        self.log.saw(match (target.kind, guard.fencing_token().is_some()) {
            (Kind::Lock, false) => "grant: Lock",
            (Kind::MultiLock, false) => "grant: MultiLock",
            (Kind::RedLock, false) => "grant: RedLock",
            (Kind::Lock, true) => "grant: FencedLock",
            (Kind::MultiLock, true) => "grant: FencedMultiLock",
            (Kind::RedLock, true) => "grant: FencedRedLock",
        });
        let works = |node| self.network.with_node(node, |node| node.works());
        let all_work = || (0..self.plan.nodes.len()).all(|node| works(node).unwrap_or(true));
        if target.on.is_empty() && !all_work() {
            self.log.saw("grant: with a minority down");
            if self.calm.is_here() {
                self.log.saw("progress without a minority");
            }
        }
    }

    fn passed_on(&self, section: SectionId) {
        self.log.saw("passed on inside the process");
        self.network.passed_on(section);
    }

    fn orphaned(&self, guard: &LockGuard) {
        guard.holder_ids().iter().for_each(|holder| self.network.excuse(holder));
    }
}
