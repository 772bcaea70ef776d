//! One caller: asks, works, lets go, again and again, and has every step recorded.

mod holding;

use std::{pin::pin, sync::Arc, task::Poll, time::Duration};

use checkers::{
    history::{Event, Kind, Manner, Refusal, SectionId, Worker},
    random::Random,
    time::Time,
};
use futures::future::poll_fn;
use palisade::{AcquireError, LockGuard, OnOutage, Owner};
use tokio::select;

use crate::{
    clock::SimClock,
    intent::Intent,
    nonsense,
    stage::Stage,
    targets::{self, Target},
};

#[derive(Debug)]
pub(crate) struct Lane {
    stage: Arc<Stage>,
    clock: SimClock,
    targets: Arc<Vec<Target>>,
    random: Random,
    section: SectionId,
    owner: Owner,
}

impl Lane {
    pub(crate) fn new(
        stage: Arc<Stage>,
        worker: Worker,
        lane: u32,
        clock: SimClock,
        targets: Arc<Vec<Target>>,
        random: Random,
    ) -> Self {
        let section = SectionId { worker, lane, number: 0 };
        Self { stage, clock, targets, random, section, owner: Owner::new() }
    }

    /// Until it is told to finish. What has been asked for by then is waited for.
    pub(crate) async fn run(mut self) {
        while self.section.number < self.stage.plan.sections && !self.stage.finish.is_here() {
            self.next().await;
        }
        // Whatever happened before, in the calm everybody gets what he asks for.
        self.stage.calm.wait().await;
        for _ in 0..IN_THE_CALM {
            self.next().await;
        }
    }

    async fn next(&mut self) {
        let calm = self.stage.calm.is_here();
        let intent = Intent::draw(&mut self.random, &self.stage.plan.leases, calm);
        self.section.number += 1;
        let choice = usize::try_from(intent.target % self.targets.len() as u64).unwrap_or(0);
        let targets = self.targets.clone();
        if let Some(target) = targets.get(choice).filter(|_| self.random.one_in(NONSENSE_ONE_IN)) {
            self.ask_for_nonsense(target).await;
        }
        if let Some(target) = targets.get(choice).filter(|target| !calm || self.to_be_had(target)) {
            self.attempt(target, &intent).await;
        }
        self.clock.sleep(intent.rest_us).await;
    }

    /// Whether enough servers of a target work in the calm.
    fn to_be_had(&self, target: &Target) -> bool {
        let plan = &self.stage.plan;
        let all: Vec<usize> = (0..plan.nodes.len()).collect();
        let on = if target.on.is_empty() { &all } else { &target.on };
        let works = on.iter().filter(|node| !plan.is_broken(**node)).count();
        works >= target.kind.need(on.len())
    }

    /// A lease that no lock takes is refused at once, and nothing is sent.
    async fn ask_for_nonsense(&mut self, target: &Target) {
        let lease = nonsense::lease(&mut self.random, &self.stage.plan.leases);
        let why = match target.lock.with(lease, OnOutage::Fail).try_acquire().await {
            Err(AcquireError::Config(_)) => return self.stage.log.saw("refused: lease"),
            Err(other) => other.to_string(),
            Ok(None) => "held by another".to_owned(),
            Ok(Some(_guard)) => "it was granted".to_owned(),
        };
        let why = Refusal::Unexpected(format!("{lease:?} was not refused for what it is: {why}"));
        self.record(Event::GaveUp { section: self.section, why });
    }

    async fn attempt(&self, target: &Target, intent: &Intent) {
        self.record(Event::Asked {
            section: self.section,
            lock: target.name.to_owned(),
            kind: target.kind,
            renewed: intent.renewed,
            manner: intent.manner,
            careless: intent.careless,
            on: target.on.clone(),
        });
        let asked = self.stage.world.now_us();
        let answer = select! {
            biased;
            answer = self.ask(target, intent) => answer,
            () = self.not_to_be_had(target) => Err(Refusal::Dropped),
        };
        match answer {
            Ok(guard) => {
                if self.stage.world.now_us() > asked + LONG_WAIT_US {
                    self.stage.log.saw("grant: after waiting");
                }
                self.granted(target, &guard);
                self.use_up(target, guard, intent).await;
            }
            Err(why) => self.refused(why),
        }
    }

    fn refused(&self, why: Refusal) {
        match why {
            Refusal::Held => self.stage.log.saw("refused: held by another"),
            Refusal::Outage(_) => self.stage.log.saw("refused: outage"),
            Refusal::Dropped | Refusal::Unexpected(_) => {}
        }
        self.record(Event::GaveUp { section: self.section, why });
    }

    /// Completes in the calm, if this lock is not to be had there.
    async fn not_to_be_had(&self, target: &Target) {
        self.stage.calm.wait().await;
        if self.to_be_had(target) {
            std::future::pending::<()>().await;
        }
    }

    async fn ask(&self, target: &Target, intent: &Intent) -> Result<LockGuard, Refusal> {
        let fast = target.lock.with(intent.lease, OnOutage::Fail);
        let patient = target.lock.with(intent.lease, OnOutage::Wait);
        let answer = match intent.manner {
            Manner::Patient if intent.as_owner => patient.acquire_as(&self.owner).await.map(Some),
            Manner::Patient => patient.acquire().await.map(Some),
            Manner::FailFast => fast.acquire().await.map(Some),
            Manner::Limited => {
                patient.try_acquire_for(Duration::from_micros(intent.patience_us)).await
            }
            Manner::Once => fast.try_acquire().await,
            Manner::Dropped => match self.ask_and_drop(patient.acquire(), intent).await {
                Some(answer) => answer.map(Some),
                None => return Err(Refusal::Dropped),
            },
        };
        match answer {
            Ok(guard) => guard.ok_or(Refusal::Held),
            Err(AcquireError::Unavailable { ballot, .. }) => {
                Err(Refusal::Outage(ballot.to_string()))
            }
            Err(error @ AcquireError::Quarantined { .. }) => {
                self.stage.log.saw("refused: quarantine");
                Err(Refusal::Outage(error.to_string()))
            }
            Err(other) => Err(Refusal::Unexpected(other.to_string())),
        }
    }

    /// Drops the future after a while, or after so many polls.
    async fn ask_and_drop<T>(&self, work: impl Future<Output = T>, intent: &Intent) -> Option<T> {
        let answer = match intent.polls {
            Some(polls) => some_polls(work, polls).await,
            None => select! {
                biased;
                answer = work => Some(answer),
                () = self.clock.sleep(intent.patience_us) => None,
            },
        };
        if answer.is_none() {
            self.stage.log.saw(if intent.polls.is_some() {
                "fault: future dropped at a poll"
            } else {
                "fault: future dropped"
            });
        }
        answer
    }

    fn granted(&self, target: &Target, guard: &LockGuard) {
        self.stage.network.granted(guard.holder_id(), self.section);
        let (section, token) = (self.section, targets::token(guard));
        self.record(Event::Granted { section, deadline: self.deadline(guard), token });
        self.stage.log.saw(match (target.kind, token.is_some()) {
            (Kind::Lock, false) => "grant: Lock",
            (Kind::MultiLock, false) => "grant: MultiLock",
            (Kind::RedLock, false) => "grant: RedLock",
            (Kind::Lock, true) => "grant: FencedLock",
            (Kind::MultiLock, true) => "grant: FencedMultiLock",
            (Kind::RedLock, true) => "grant: FencedRedLock",
        });
        let nodes = 0..self.stage.plan.nodes.len();
        let works = |node| self.stage.network.with_node(node, |node| node.works());
        if target.on.is_empty() && !nodes.clone().all(|node| works(node).unwrap_or(true)) {
            self.stage.log.saw("grant: with a minority down");
            if self.stage.calm.is_here() {
                self.stage.log.saw("progress without a minority");
            }
        }
    }

    fn deadline(&self, guard: &LockGuard) -> Time {
        self.clock.time_of(guard.deadline())
    }

    fn record(&self, event: Event) {
        self.stage.log.record(event);
    }
}

/// The output of `work`, or nothing after so many polls that did not bring it.
async fn some_polls<T>(work: impl Future<Output = T>, polls: u64) -> Option<T> {
    let mut work = pin!(work);
    let mut left = polls;
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

const IN_THE_CALM: u64 = 2;
const NONSENSE_ONE_IN: u64 = 40;
const LONG_WAIT_US: u64 = 100_000;
