//! One contender: wants one of the locks, again and again, on any side that it has.

use std::{future, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use workload::{Job, Lane, Latches, Target, Timekeeper, Turn};

use super::{
    intent, jobs,
    prizes::{MOST_COUNTED, Prize},
    subscriber,
};
use crate::{
    history::{Event, LatchAnswer, Refusal, RunAnswer},
    random::Random,
    recorder::Recorder,
    time::Machine,
};

#[derive(Debug)]
pub(super) struct Contender {
    pub(super) prize: Prize,
    pub(super) targets: Vec<Target>,
    /// In place of targets, if there are any.
    pub(super) latches: Option<Latches>,
    /// The same.
    pub(super) job: Option<Job>,
    pub(super) recorder: Arc<Recorder>,
    pub(super) random: Random,
    pub(super) machine: Arc<Machine>,
    pub(super) lane: Lane,
    /// Whether it blocks its runtime now and then.
    pub(super) blocks: bool,
}

impl Contender {
    /// Until it is told to finish. What has been asked for by then is waited for.
    pub(super) async fn run(mut self) {
        while !self.machine.is_time_up() {
            self.lane.section.number += 1;
            if let Some(latches) = self.latches.clone() {
                self.take_turn(&latches).await;
                continue;
            }
            if let Some(job) = self.job.clone() {
                self.run_job(&job).await;
                continue;
            }
            let mut intent = intent::draw(&self.prize, &mut self.random);
            intent.blocks &= self.blocks;
            let choice = self.random.below(self.targets.len() as u64);
            let target = usize::try_from(choice).ok().and_then(|choice| self.targets.get(choice));
            let target = target.expect("invariant: a prize has targets");
            self.lane.attempt(target, &intent, future::pending()).await;
            self.lane.rest(&intent).await;
        }
    }

    /// As one does whose future is dropped, where a subscriber panics within.
    async fn run_job(&mut self, job: &Job) {
        let (errand, rest) = jobs::draw(&mut self.random);
        let running = AssertUnwindSafe(self.lane.run_for(job, &errand)).catch_unwind();
        if let Err(panic) = running.await {
            subscriber::resume_unless_planned(panic);
            let (section, answer, why) = (self.lane.section, RunAnswer::Dropped, Refusal::Dropped);
            self.recorder.note(Event::Answered { section, answer });
            self.recorder.note(Event::GaveUp { section, why });
        }
        Timekeeper::sleep(&*self.machine, rest).await;
    }

    /// What a subscriber panics with in such a step leaves open what came of that.
    async fn take_turn(&mut self, latches: &Latches) {
        let turn = Turn::draw(&mut self.random, MOST_COUNTED);
        let taken = AssertUnwindSafe(self.lane.take_turn(latches, &turn)).catch_unwind().await;
        if let Err(panic) = taken {
            subscriber::resume_unless_planned(panic);
            let (section, answer) = (self.lane.section, LatchAnswer::Unknown);
            self.recorder.note(Event::Latched { section, answer });
        }
    }
}
