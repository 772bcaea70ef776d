//! Count-down latches, a new one in every round. Which that is, and which process sets it, follows from
//! the time, so that processes need not talk about it.

use std::time::Duration;

use checkers::{
    history::{LatchStep, Worker},
    random::Random,
    time::Time,
};
use palisade::{Client, CountDownLatch};

/// Those on one master.
#[derive(Debug, Clone)]
pub struct Latches {
    pub client: Client,
    /// The master.
    pub on: usize,
    /// How many workers there are.
    pub workers: u32,
    /// Whether this lane sets them when it is its worker's turn: one of each does.
    pub sets: bool,
}

/// What a lane is to do next.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Unless it is to set the latch of the round.
    pub step: LatchStep,
    /// What it sets that to.
    pub count: u64,
    /// After a wait in vain.
    pub deletes: bool,
    /// For how long it tries.
    pub patience: Duration,
    /// Before the next.
    pub rest: Duration,
}

impl Turn {
    /// Of a latch that is set to `most` at most.
    pub fn draw(random: &mut Random, most: u64) -> Self {
        let steps = [(4, LatchStep::CountDown), (2, LatchStep::Look), (3, LatchStep::Wait)];
        let brief = Duration::from_millis(1)..ROUND;
        Self {
            step: random.weighted(&steps),
            count: 1 + random.below(most),
            deletes: random.one_in(4),
            patience: if random.one_in(2) { random.within(&brief) } else { LONG },
            rest: random.within(&REST),
        }
    }
}

impl Latches {
    pub(crate) fn round_at(&self, now: Time) -> u64 {
        now.since(Time::from_micros(0)).as_secs() / ROUND.as_secs()
    }

    pub(crate) fn of_round(&self, round: u64) -> (String, CountDownLatch) {
        let name = format!("latch-{round}");
        let latch = self.client.count_down_latch(&name);
        (name, latch)
    }

    /// Whether a lane of this worker sets the latch of a round.
    pub(crate) fn sets(&self, worker: Worker, round: u64) -> bool {
        self.sets && u64::from(worker.place) == round % u64::from(self.workers)
    }
}

/// For how long all have to do with one latch.
const ROUND: Duration = Duration::from_secs(1);
/// Longer than any sleep after a message that was missed.
const LONG: Duration = Duration::from_millis(6_500);
const REST: std::ops::Range<Duration> = Duration::ZERO..Duration::from_millis(40);
