//! What a lane does with count-down latches: sets one if it is its turn, counts down, looks, waits, deletes.

use std::time::Duration;

use checkers::history::{Event, LatchAnswer, LatchStep};
use palisade::{CountDownLatch, error::ChangeError};
use tokio::select;

use super::Lane;
use crate::latches::{Latches, Turn};

impl Lane {
    /// One step with the latch of this moment, and a rest. A waiter that waited in vain may delete
    /// it.
    pub async fn take_turn(&mut self, latches: &Latches, turn: &Turn) {
        let round = latches.round_at(self.clock.now());
        let (name, latch) = latches.of_round(round);
        let sets = latches.sets(self.section.worker, round) && self.has_set < Some(round);
        let step = if sets { LatchStep::Set(turn.count) } else { turn.step };
        if sets {
            self.has_set = Some(round);
        }
        let answer = self.step(latches.on, &name, &latch, step, turn.patience).await;
        if step == LatchStep::Wait && answer == LatchAnswer::NotDone && turn.deletes {
            self.step(latches.on, &name, &latch, LatchStep::Delete, turn.patience).await;
        }
        self.clock.sleep(turn.rest).await;
    }

    async fn step(
        &self,
        on: usize,
        name: &str,
        latch: &CountDownLatch,
        step: LatchStep,
        patience: Duration,
    ) -> LatchAnswer {
        let section = self.section;
        self.record(Event::Latching { section, latch: name.to_owned(), on, step });
        let began = self.clock.now();
        let answer = select! {
            biased;
            answer = ask(latch, step, patience) => answer,
            () = self.clock.sleep(patience) => given_up(step),
        };
        self.record(Event::Latched { section, answer });
        self.observer.saw(match (step, answer) {
            (LatchStep::Wait, LatchAnswer::Done) if self.clock.now().since(began) > AT_ONCE => {
                "latch: let through after waiting"
            }
            (LatchStep::CountDown, LatchAnswer::Done) => "latch: counted down",
            (LatchStep::Delete, LatchAnswer::Done) => "latch: deleted",
            (_, LatchAnswer::Unknown) => "latch: changed or not",
            _ => return answer,
        });
        answer
    }
}

/// Waits in either way: for so long, or until the wait is dropped.
async fn ask(latch: &CountDownLatch, step: LatchStep, patience: Duration) -> LatchAnswer {
    match step {
        LatchStep::Set(count) => changed(&latch.try_set_count(count).await),
        LatchStep::CountDown => changed(&latch.count_down().await),
        LatchStep::Delete => changed(&latch.delete().await),
        LatchStep::Look => latch.count().await.map_or(LatchAnswer::Failed, LatchAnswer::Count),
        LatchStep::Wait if patience.subsec_micros().is_multiple_of(2) => {
            latch.wait().await.map_or(LatchAnswer::Failed, |()| LatchAnswer::Done)
        }
        LatchStep::Wait => match latch.wait_for(patience).await {
            Ok(true) => LatchAnswer::Done,
            Ok(false) => LatchAnswer::NotDone,
            Err(_) => LatchAnswer::Failed,
        },
    }
}

fn changed(outcome: &Result<bool, ChangeError>) -> LatchAnswer {
    match outcome {
        Ok(true) => LatchAnswer::Done,
        Err(ChangeError::Unknown { .. }) => LatchAnswer::Unknown,
        Ok(false) => LatchAnswer::NotDone,
        Err(_) => LatchAnswer::Failed,
    }
}

/// A change whose future is dropped is made or not.
const fn given_up(step: LatchStep) -> LatchAnswer {
    match step {
        LatchStep::Set(_) | LatchStep::CountDown | LatchStep::Delete => LatchAnswer::Unknown,
        LatchStep::Look | LatchStep::Wait => LatchAnswer::NotDone,
    }
}

/// A wait that is longer was woken.
const AT_ONCE: Duration = Duration::from_millis(20);
