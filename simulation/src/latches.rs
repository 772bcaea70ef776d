//! Runs about count-down latches, on one server.

use std::time::Duration;

use checkers::random::Random;
use palisade::Client;
use workload::{Latches, Turn};

use crate::plan::{About, Plan};

impl Plan {
    /// Turns a run into one of these.
    pub(crate) fn draw_latches(&mut self) {
        self.about = About::Latches;
        let home = self.home();
        self.broken.retain(|broken| broken.node() != home);
        // No connection says anything twice: what was sent once and answered is kept no longer.
        self.network.duplicate = 0;
        // Steps with latches are short.
        self.sections = 150;
    }
}

/// For one lane of a process, if that is what the run is about.
pub(crate) fn of(clients: &[Client], plan: &Plan, lane: u32) -> Option<Latches> {
    let (on, workers) = (plan.home(), u32::try_from(plan.processes.len()).ok()?);
    let client = clients.get(on).filter(|_| plan.about == About::Latches)?.clone();
    Some(Latches { client, on, workers, sets: lane == 0 })
}

/// In the calm no wait is given up early.
pub(crate) fn draw(random: &mut Random, calm: bool) -> Turn {
    let turn = Turn::draw(random, MOST);
    if calm { Turn { patience: turn.patience.max(PATIENCE), ..turn } } else { turn }
}

/// About as much as is counted down in a round.
const MOST: u64 = 12;
const PATIENCE: Duration = Duration::from_secs(2);
