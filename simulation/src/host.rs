//! One host with a schedule: is triggered once a minute, and in the calm asks for what it may have missed.

use std::{sync::Arc, time::Duration};

use checkers::{history::RunAnswer, random::Random};
use workload::{Job, Lane, Timekeeper};

use crate::{
    clock::SimClock,
    event::ProcessId,
    periods::{self, IN_THE_CALM, MINUTES},
    stage::Stage,
};

#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) stage: Arc<Stage>,
    pub(crate) id: ProcessId,
    pub(crate) job: Job,
    pub(crate) clock: SimClock,
    pub(crate) random: Random,
    pub(crate) lane: Lane,
}

impl Host {
    /// Until its last minute is over.
    pub(crate) async fn run(mut self) {
        for minute in 0..MINUTES {
            self.wait_for(minute).await;
            self.run_for(minute).await;
        }
        self.stage.calm.wait().await;
        for minute in 0..MINUTES {
            self.run_for(minute).await;
        }
        for minute in MINUTES..MINUTES + IN_THE_CALM {
            self.wait_for(minute).await;
            self.run_for(minute).await;
        }
    }

    /// One that comes late is triggered at once.
    async fn wait_for(&self, minute: u64) {
        let trigger_us = periods::trigger_us(&self.stage.plan, self.id, minute);
        let left = trigger_us.saturating_sub(self.stage.world.now_us());
        Timekeeper::sleep(&self.clock, Duration::from_micros(left)).await;
    }

    async fn run_for(&mut self, minute: u64) {
        let calm = self.stage.calm.is_here();
        let errand = periods::draw(&mut self.random, &self.stage.plan, minute, calm);
        self.lane.section.number += 1;
        let answer = self.lane.run_for(&self.job, &errand).await;
        if minute < MINUTES && calm && answer == RunAnswer::Done {
            self.stage.log.saw("period: done late");
        }
    }
}
