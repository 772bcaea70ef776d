//! What a lane does with a job that is to run once for a period, or so often at most.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
};

use checkers::history::{Event, Manner, Refusal, RunAnswer};
use palisade::{
    Lease, LockGuard, OnOutage,
    once::{Cadence, Once, OnceError},
};
use tokio::select;

use super::Lane;
use crate::{
    intent::{Ending, Intent},
    jobs::{Errand, Job},
    target::token,
};

/// Its work fails only if it is to.
type Outcome = Result<Once<()>, OnceError<(), fmt::Error>>;

impl Lane {
    /// Runs a job that may be due.
    pub async fn run_for(&self, job: &Job, errand: &Errand) -> RunAnswer {
        let section = self.section;
        let Errand { period, every, lease, patience, .. } = errand;
        let target = &job.target;
        let every_ms = every.map_or(0, |every| u64::try_from(every.as_millis()).unwrap_or(0));
        self.record(Event::Triggered {
            section,
            lock: target.name.to_owned(),
            period: period.clone(),
            kind: target.kind,
            on: target.on.clone(),
            every_ms,
        });
        self.record(self.asks_for(job, errand));
        let lock = job.lock.clone().with_lease(*lease).on_outage(OnOutage::Wait);
        let cadence = every.map_or_else(|| Cadence::once_for(period), Cadence::at_most_every);
        let has_begun = AtomicBool::new(false);
        let running = lock.when_due(&cadence, async |guard: &LockGuard| {
            has_begun.store(true, Ordering::Relaxed);
            self.carry_out(job, guard, errand).await;
            if errand.fails { Err(fmt::Error) } else { Ok(()) }
        });
        let gone = async {
            match patience {
                Some(patience) => self.clock.sleep(*patience).await,
                None => std::future::pending().await,
            }
        };
        let outcome = select! {
            biased;
            outcome = running => Some(outcome),
            () = gone => None,
        };
        self.tell(outcome.as_ref(), has_begun.load(Ordering::Relaxed))
    }

    fn asks_for(&self, job: &Job, errand: &Errand) -> Event {
        let target = &job.target;
        Event::Asked {
            section: self.section,
            lock: target.name.to_owned(),
            kind: target.kind,
            renewed: !matches!(errand.lease, Lease::Fixed(_)),
            manner: if errand.patience.is_some() { Manner::Dropped } else { Manner::Patient },
            careless: false,
            on: target.on.clone(),
            shared: false,
            share: None,
            queued: false,
            keys: Vec::new(),
        }
    }

    async fn carry_out(&self, job: &Job, guard: &LockGuard, errand: &Errand) {
        let section = self.section;
        self.observer.granted(section, &job.target, guard);
        let (deadline, token) = (self.deadline(guard), token(guard));
        self.record(Event::Granted { section, deadline, token });
        let mut working = Working { lane: self, guard, has_ended: false };
        self.read_modify_write(&job.target, guard, &errand.intent()).await;
        working.has_ended = true;
    }

    /// What became of it, and of the lock.
    fn tell(&self, outcome: Option<&Outcome>, has_begun: bool) -> RunAnswer {
        let (section, answer) = (self.section, told(outcome));
        self.observer.saw(seen(&answer));
        self.record(Event::Answered { section, answer: answer.clone() });
        if !has_begun {
            let why = outcome.map_or(Refusal::Dropped, |outcome| self.not_begun(outcome));
            self.record(Event::GaveUp { section, why });
        } else if outcome.is_some() {
            self.record(Event::Released { section, problem: None, still: 0 });
        }
        answer
    }

    fn not_begun(&self, outcome: &Outcome) -> Refusal {
        match outcome {
            Ok(_) => Refusal::Held,
            Err(OnceError::Acquire(error)) => self.refusal(error),
            Err(error) => Refusal::Outage(error.to_string()),
        }
    }
}

fn told(outcome: Option<&Outcome>) -> RunAnswer {
    match outcome {
        None => RunAnswer::Dropped,
        Some(Ok(Once::Done(()))) => RunAnswer::Done,
        Some(Ok(Once::NotDue(_))) => RunAnswer::NotDue,
        Some(Ok(Once::Held)) => RunAnswer::NotBegun("another held the lock".to_owned()),
        Some(Err(error)) => match error {
            OnceError::Failed { .. } => RunAnswer::Failed,
            OnceError::Lost { .. } => RunAnswer::Lost,
            OnceError::Unrecorded { .. } => RunAnswer::Unrecorded,
            error => RunAnswer::NotBegun(error.to_string()),
        },
    }
}

impl Errand {
    /// What its work does under the lock.
    const fn intent(&self) -> Intent {
        Intent {
            lease: self.lease,
            manner: Manner::Patient,
            patience: self.work,
            polls: None,
            parks: None,
            as_owner: false,
            reentries: 0,
            downgrades: false,
            announcements: 0,
            inscriptions: 0,
            calls: false,
            careless: false,
            work: self.work,
            blocks: false,
            write: self.write,
            ending: Ending::Release,
            rest: self.work,
        }
    }
}

const fn seen(answer: &RunAnswer) -> &'static str {
    match answer {
        RunAnswer::Done => "period: done",
        RunAnswer::NotDue => "period: not due",
        RunAnswer::Failed => "period: failed",
        RunAnswer::Lost => "period: lost",
        RunAnswer::Unrecorded => "period: unrecorded",
        RunAnswer::Dropped => "period: dropped",
        RunAnswer::NotBegun(_) => "period: not begun",
    }
}

/// Work under way. Where its future is dropped before it has ended, its lock was lost, or it is not waited for.
struct Working<'a> {
    lane: &'a Lane,
    guard: &'a LockGuard,
    has_ended: bool,
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        let Self { lane, guard, has_ended } = self;
        if let Err(lost) = guard.ensure_valid()
            && !*has_ended
        {
            lane.lost(guard, &lost.cause);
        }
        let (section, deadline) = (lane.section, lane.deadline(guard));
        lane.record(Event::Releasing { section, deadline });
    }
}
