//! One contender: wants one of the locks, again and again.

use std::{future, sync::Arc};

use workload::{Lane, Target, Timekeeper};

use super::intent::{self, Prize};
use crate::{random::Random, time::Machine};

#[derive(Debug)]
pub(super) struct Contender {
    pub(super) prize: Prize,
    pub(super) target: Target,
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
            let mut intent = intent::draw(&self.prize, &mut self.random);
            intent.blocks &= self.blocks;
            self.lane.section.number += 1;
            self.lane.attempt(&self.target, &intent, future::pending()).await;
            self.lane.rest(&intent).await;
        }
    }
}
