//! One contender: asks, works, lets go, again and again, and records every step.

use std::{path::PathBuf, sync::Arc, time::Duration};

use palisade::{AcquireError, AnyLock, Masters, OnOutage};
use tokio::{
    select,
    sync::watch,
    time::{sleep, timeout},
};

use super::{
    hold::Hold,
    intent::{Intent, LONGEST_LEASE, Prize},
    witness::Witness,
};
use crate::{
    history::{Event, Kind, Manner, Refusal, SectionId},
    random::Random,
    recorder::Recorder,
    time,
};

/// A contender for one of the locks.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) prize: Prize,
    pub(super) masters: Masters,
    pub(super) recorder: Arc<Recorder>,
    pub(super) random: Random,
    /// Where the witnesses are.
    pub(super) folder: PathBuf,
    /// The last section.
    pub(super) section: SectionId,
    /// Whether it is time to finish.
    pub(super) finish: watch::Receiver<bool>,
    pub(super) ignores_lock: bool,
    pub(super) blocks: bool,
}

impl Lane {
    /// Until it is told to finish. What has been asked for by then is waited for.
    pub(super) async fn run(mut self) {
        while !*self.finish.borrow() {
            let intent = Intent::draw(&self.prize, &mut self.random);
            self.section.number += 1;
            self.attempt(&intent).await;
            sleep(intent.rest).await;
        }
    }

    async fn attempt(&self, intent: &Intent) {
        let (section, Prize { name, kind, .. }) = (self.section, self.prize);
        let (manner, renewed) = (intent.manner, intent.is_renewed());
        self.recorder.note(Event::Asked {
            section,
            lock: name.to_owned(),
            kind,
            renewed,
            manner,
            careless: false,
            on: Vec::new(),
        });
        match self.ask(intent).await {
            Ok(hold) => {
                self.recorder.note(Event::Granted {
                    section,
                    deadline: hold.deadline(),
                    token: hold.token(),
                });
                self.use_up(hold, intent).await;
            }
            Err(why) => self.recorder.note(Event::GaveUp { section, why }),
        }
    }

    async fn ask(&self, intent: &Intent) -> Result<Hold, Refusal> {
        if self.ignores_lock {
            return Ok(Hold::pretend(LONGEST_LEASE));
        }
        let Prize { name, kind, fenced, .. } = self.prize;
        let masters = &self.masters;
        match (kind, fenced) {
            (Kind::RedLock, false) => ask_for(masters.red_lock(name), intent).await,
            (Kind::RedLock, true) => ask_for(masters.fenced_red_lock(name), intent).await,
            (Kind::MultiLock, false) => ask_for(masters.multi_lock(name), intent).await,
            (Kind::MultiLock, true) => ask_for(masters.fenced_multi_lock(name), intent).await,
            (Kind::Lock, _) => unreachable!("no prize here is on one master"),
        }
    }

    async fn use_up(&self, hold: Hold, intent: &Intent) {
        let section = self.section;
        let others = self.reenter(&hold, intent);
        select! {
            biased;
            cause = hold.lost() => {
                self.recorder.note(Event::Lost { section, cause, deadline: hold.deadline() });
            }
            () = self.read_modify_write(&hold, intent) => {}
        }
        self.leave(others).await;
        self.recorder.note(Event::Releasing { section, deadline: hold.deadline() });
        if intent.drops {
            return drop(hold);
        }
        let (problem, still) = match hold.release().await {
            Ok(still) => (None, still),
            Err(problem) => (Some(problem), 0),
        };
        self.recorder.note(Event::Released { section, problem, still });
    }

    /// The guards beside the first.
    fn reenter(&self, hold: &Hold, intent: &Intent) -> Vec<Hold> {
        let mut others = Vec::new();
        for guards in 2..=intent.reentries + 1 {
            let Some(more) = hold.reenter() else { break };
            let (section, token) = (self.section, more.token());
            self.recorder.note(Event::Counted { section, guards, told: None, token });
            others.push(more);
        }
        others
    }

    /// All guards but the first, half of them without a word.
    async fn leave(&self, mut others: Vec<Hold>) {
        while let Some(other) = others.pop() {
            let guards = u32::try_from(others.len()).unwrap_or(0) + 1;
            let told = if self.section.number.is_multiple_of(2) {
                drop(other);
                None
            } else {
                other.release().await.ok()
            };
            let section = self.section;
            self.recorder.note(Event::Counted { section, guards, told, token: None });
        }
    }

    /// As a careful user does it: asks once more right before the write, and shows a token if there
    /// is one.
    async fn read_modify_write(&self, hold: &Hold, intent: &Intent) {
        let (section, token) = (self.section, hold.token());
        let witness = Witness::new(&self.folder, self.prize.name);
        let Ok(value) = witness.read(token).expect("the witness can be read") else {
            return self.recorder.note(Event::TooOld { section });
        };
        if self.blocks && intent.blocks {
            // As careless code does: nothing else runs on this runtime meanwhile.
            std::thread::sleep(intent.work);
        } else {
            self.work(hold, intent.work).await;
        }
        self.recorder.note(Event::Writing { section, read: value.writer });
        if !hold.is_valid() {
            return self.recorder.note(Event::Withheld { section });
        }
        let written = witness.write(token, value.count + 1, section);
        if written.expect("the witness can be written").is_err() {
            return self.recorder.note(Event::TooOld { section });
        }
        // The deadline is asked for after the write, and the record takes its time after both: a
        // write that is not later than this deadline was in time.
        self.recorder.note(Event::Wrote { section, deadline: hold.deadline() });
    }

    /// Not for long once it is time to finish: others may still wait.
    ///
    /// Notes on the way how the deadline moves, so that it is known of a worker that is killed.
    async fn work(&self, hold: &Hold, length: Duration) {
        let (section, end) = (self.section, time::now() + length);
        let mut known = hold.deadline();
        loop {
            let left = end.since(time::now());
            if left.is_zero() || *self.finish.borrow() {
                return;
            }
            sleep(left.min(LOOK_EVERY)).await;
            let deadline = hold.deadline();
            if deadline > known {
                known = deadline;
                self.recorder.note(Event::Extended { section, deadline });
            }
        }
    }
}

async fn ask_for(lock: impl AnyLock, intent: &Intent) -> Result<Hold, Refusal> {
    let lock = lock.with_lease(intent.lease);
    let patient = lock.clone().on_outage(OnOutage::Wait);
    let answer = match intent.manner {
        Manner::Patient => patient.acquire().await.map(Some),
        Manner::FailFast => lock.acquire().await.map(Some),
        Manner::Limited => patient.try_acquire_for(intent.patience).await,
        Manner::Once => lock.try_acquire().await,
        Manner::Dropped => match timeout(intent.patience, patient.acquire()).await {
            Ok(answer) => answer.map(Some),
            Err(_elapsed) => return Err(Refusal::Dropped),
        },
    };
    match answer {
        Ok(guard) => guard.map(|guard| Hold::Held(guard.into())).ok_or(Refusal::Held),
        Err(error) => Err(refusal(&error)),
    }
}

fn refusal(error: &AcquireError) -> Refusal {
    match error {
        AcquireError::Unavailable { ballot, .. } | AcquireError::Quarantined { ballot, .. } => {
            Refusal::Outage(ballot.to_string())
        }
        other => Refusal::Unexpected(other.to_string()),
    }
}

const LOOK_EVERY: Duration = Duration::from_millis(50);
