//! One caller: wants one of the locks, again and again, and in the calm gets what it asks for.

use std::{sync::Arc, time::Duration};

use checkers::{
    history::{Event, Refusal},
    random::Random,
};
use palisade::{AcquireError, OnOutage};
use workload::{Call, Lane, Latches, Target, Timekeeper};

use crate::{clock::SimClock, intent, latches, nonsense, semaphores, stage::Stage};

#[derive(Debug)]
pub(crate) struct Caller {
    pub(crate) stage: Arc<Stage>,
    pub(crate) targets: Arc<Vec<Target>>,
    pub(crate) random: Random,
    pub(crate) lane: Lane,
    /// In place of targets, if there are any.
    pub(crate) latches: Option<Latches>,
    /// If there is one, it asks in step with the others of its process.
    pub(crate) beat: Option<Beat>,
}

/// The moments at which callers of a process ask.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) clock: SimClock,
    pub(crate) every_us: u64,
}

impl Caller {
    /// Until it is told to finish. What has been asked for by then is waited for.
    pub(crate) async fn run(mut self) {
        let sections = self.stage.plan.sections;
        while self.lane.section.number < sections && !self.stage.finish.is_here() {
            self.next().await;
        }
        // Whatever happened before, in the calm every caller gets what it asks for.
        self.stage.calm.wait().await;
        for _ in 0..IN_THE_CALM {
            self.next().await;
        }
    }

    async fn next(&mut self) {
        let calm = self.stage.calm.is_here();
        if let Some(Beat { clock, every_us }) = &self.beat {
            let since = self.stage.world.now_us() % every_us;
            clock.sleep(Duration::from_micros(every_us - since)).await;
        }
        if let Some(latches) = &self.latches {
            let turn = latches::draw(&mut self.random, calm);
            self.lane.section.number += 1;
            return self.lane.take_turn(latches, &turn).await;
        }
        let process = usize::try_from(self.lane.section.worker.place).unwrap_or(0);
        let (choice, mut intent) = intent::draw(&mut self.random, &self.stage.plan, process, calm);
        self.lane.section.number += 1;
        intent.parks = intent.parks.filter(|_| self.may_park());
        let choice = usize::try_from(choice % self.targets.len() as u64).unwrap_or(0);
        let targets = self.targets.clone();
        if let Some(target) = targets.get(choice).filter(|_| self.random.one_in(NONSENSE_ONE_IN)) {
            self.ask_for_nonsense(target).await;
        }
        if let Some(target) = targets.get(choice).filter(|target| !calm || self.to_be_had(target)) {
            self.lane.attempt(target, &intent, self.not_to_be_had(target)).await;
        }
        self.lane.rest(&intent).await;
    }

    /// A caller that is the first in line may have been granted what it does not look for. Where
    /// nothing breaks, others do not wait for that.
    fn may_park(&self) -> bool {
        let (waiting, section) = (&self.stage.waiting, self.lane.section);
        let may_park = self.stage.plan.faulty || waiting.in_process(section.worker);
        if may_park {
            waiting.will_park(section);
        }
        may_park
    }

    /// Whether enough servers of a target work in the calm.
    fn to_be_had(&self, target: &Target) -> bool {
        let plan = &self.stage.plan;
        let all: Vec<usize> = (0..plan.nodes.len()).collect();
        let on = if target.on.is_empty() { &all } else { &target.on };
        let works = on.iter().filter(|node| !plan.is_broken(**node)).count();
        works >= target.kind.need(on.len())
    }

    /// Completes in the calm, if this lock is not to be had there.
    async fn not_to_be_had(&self, target: &Target) {
        self.stage.calm.wait().await;
        if self.to_be_had(target) {
            std::future::pending::<()>().await;
        }
    }

    /// A lease that no lock takes is refused at once, and nothing is sent.
    async fn ask_for_nonsense(&mut self, target: &Target) {
        if !semaphores::has_leases(target) {
            return;
        }
        let lease = nonsense::lease(&mut self.random, &self.stage.plan.leases);
        let why = match target.lock.ask(lease, OnOutage::Fail, Call::TryAcquire).await {
            Err(AcquireError::Config(_)) => return self.stage.log.saw("refused: lease"),
            Err(other) => other.to_string(),
            Ok(None) => "held by another".to_owned(),
            Ok(Some(_guard)) => "it was granted".to_owned(),
        };
        let why = Refusal::Unexpected(format!("{lease:?} was not refused for what it is: {why}"));
        self.stage.log.record(Event::GaveUp { section: self.lane.section, why });
    }
}

const IN_THE_CALM: u64 = 2;
const NONSENSE_ONE_IN: u64 = 40;
