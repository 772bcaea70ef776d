//! One contender: wants one of the locks, again and again, on any side that it has.

use std::{future, panic::AssertUnwindSafe, sync::Arc};

use futures::FutureExt;
use workload::{Lane, Latches, Target, Timekeeper, Turn};

use super::{
    intent,
    prizes::{MOST_COUNTED, Prize},
    subscriber,
};
use crate::{
    history::{Event, LatchAnswer},
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
            let mut intent = intent::draw(&self.prize, &mut self.random);
            intent.blocks &= self.blocks;
            let choice = self.random.below(self.targets.len() as u64);
            let target = usize::try_from(choice).ok().and_then(|choice| self.targets.get(choice));
            let target = target.expect("invariant: a prize has targets");
            self.lane.attempt(target, &intent, future::pending()).await;
            self.lane.rest(&intent).await;
        }
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
