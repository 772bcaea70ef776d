//! One contender: asks, works, lets go, and has every step recorded.

mod asking;
mod calling;
mod downgrading;
mod holding;
mod inscribing;
mod latching;
mod leading;
mod running;
mod spending;

use std::{sync::Arc, time::Duration};

use checkers::{
    history::{Event, Refusal, SectionId, Worker},
    time::Time,
};
use palisade::{LockGuard, Owner};
use tokio::select;

pub use self::inscribing::inscriptions;
use crate::{
    intent::Intent,
    observer::Observer,
    store::Store,
    target::{Grant, Target, token},
    timekeeper::Timekeeper,
};

/// A contender for locks. Its owner draws its intents, and decides how often it tries.
#[derive(Debug)]
pub struct Lane {
    /// The last one.
    pub section: SectionId,
    clock: Arc<dyn Timekeeper>,
    store: Arc<dyn Store>,
    observer: Arc<dyn Observer>,
    owner: Owner,
    /// The last round whose latch it has set.
    has_set: Option<u64>,
}

impl Lane {
    /// Before its first section.
    pub fn new(
        worker: Worker,
        lane: u32,
        clock: Arc<dyn Timekeeper>,
        store: Arc<dyn Store>,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let section = SectionId { worker, lane, number: 0 };
        Self { section, clock, store, observer, owner: Owner::new(), has_set: None }
    }

    /// Asks for a lock, no longer than until `hopeless` completes, and uses what it is granted.
    pub async fn attempt(
        &self,
        target: &Target,
        intent: &Intent,
        hopeless: impl Future<Output = ()>,
    ) {
        let section = self.section;
        self.record(Event::Asked {
            section,
            lock: target.name.to_owned(),
            kind: target.kind,
            renewed: intent.is_renewed(),
            manner: intent.manner,
            careless: intent.careless,
            on: target.on.clone(),
            shared: target.shared,
            share: target.share,
            queued: target.queued,
            keys: target.keys.clone(),
        });
        let asked = self.clock.now();
        let answer = select! {
            biased;
            answer = self.ask(target, intent) => answer,
            () = hopeless => Err(Refusal::Dropped),
        };
        match answer {
            Ok(grant) => {
                if self.clock.now().since(asked) > LONG_WAIT {
                    self.observer.saw("grant: after waiting");
                }
                if let Some(guard) = grant.guard() {
                    self.observer.granted(section, target, guard);
                    let (deadline, token) = (self.deadline(guard), token(guard));
                    self.record(Event::Granted { section, deadline, token });
                }
                match grant {
                    Grant::Write(guard) if intent.downgrades => {
                        self.write_and_read_on(target, guard, intent).await;
                    }
                    Grant::Write(guard) => self.use_up(target, guard.into(), intent).await,
                    Grant::Lock(guard) => self.use_up(target, guard, intent).await,
                    Grant::Leads(leadership) => self.lead(target, leadership, intent).await,
                    Grant::Permits(guard) => self.spend(guard, intent).await,
                }
            }
            Err(why) => self.record(Event::GaveUp { section, why }),
        }
    }

    pub async fn rest(&self, intent: &Intent) {
        self.clock.sleep(intent.rest).await;
    }

    fn deadline(&self, guard: &LockGuard) -> Time {
        self.clock.time_of(guard.deadline())
    }

    fn record(&self, event: Event) {
        self.observer.record(event);
    }
}

const LONG_WAIT: Duration = Duration::from_millis(100);
