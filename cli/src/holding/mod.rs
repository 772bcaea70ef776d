//! `palisade hold`: holds a lock for something else, and tells it when it is held.

mod companion;
mod input;
mod ready;

use std::{future::Future, time::Duration};

use palisade::{LockGuard, LostCause};
use rustix::process::Signal;
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    QUIET,
    args::HoldArgs,
    boottime,
    exit::{self, End, Failure},
    hold::Hold,
    run::{Settings, give_back, slots, waiting},
    runtime,
    servers::Servers,
    signals::{ENDING, Signals},
    supervisor::{SAFETY, Schedule, Step},
    tell,
};
use companion::Companion;
use input::Input;
use ready::Ready;

/// The whole story; how to end.
pub(crate) fn hold(args: &HoldArgs) -> Result<End, Failure> {
    // Before anything of ours has a descriptor that could be meant.
    let ready = Ready::to(args)?;
    runtime()?.block_on(hold_and_tell(args, ready))
}

async fn hold_and_tell(args: &HoldArgs, ready: Ready) -> Result<End, Failure> {
    let servers = Servers::telling(&args.lock.servers, args.lock.note.as_deref())?;
    let settings = Settings::of(&args.lock, servers.max_lease())?;
    slots::check(&args.lock, servers.len())?;
    QUIET.store(args.lock.quiet, std::sync::atomic::Ordering::Relaxed);
    let companion = args.with_pid.map(|pid| Companion::of(pid, args.kill)).transpose()?;
    let ends = Ends { companion, input: args.until_eof.then(Input::watched) };
    let end = under_the_lock(args, &settings, &servers, ready, ends).await;
    servers.close().await;
    end
}

async fn under_the_lock(
    args: &HoldArgs,
    settings: &Settings,
    servers: &Servers,
    ready: Ready,
    mut ends: Ends,
) -> Result<End, Failure> {
    let mut signals = Signals::listen(&ENDING)
        .map_err(|error| Failure::system("cannot listen for signals", error))?;
    let name = &args.lock.name;
    let hold = tokio::select! {
        biased;
        held = waiting::acquire(&args.lock, settings, servers, &mut signals) => held?,
        ended = ends.next() => {
            ended?;
            tell(format_args!("{name} is not wanted any more: it was never held"));
            return Ok(End::Code(exit::NEVER_HELD));
        }
    };
    if let Err(failure) = ready.say(name, &hold) {
        give_back(hold.guard).await;
        return Err(failure);
    }
    let mut watch = Watch { guard: &hold.guard, ends, kills: args.kill, lost: None, asked: false };
    let outcome = watch.run(settings, &mut signals).await;
    if outcome.is_err() && args.kill {
        // Whatever does not work here any more: the process must not go on without us.
        let _the_first_error_counts = watch.kill(false).await;
    }
    let told = watch.conclude(name, &outcome);
    settle(hold, outcome).await.map_or(told, |lost| {
        tell(format_args!("{name} was lost before it was given back"));
        Ok(lost)
    })
}

/// Gives the lock back, unless what it was held for may run on. The end, if it was lost meanwhile.
async fn settle(hold: Hold, outcome: Result<Course, Failure>) -> Option<End> {
    match outcome {
        Ok(Course::Done) => give_back(hold.guard).await.then_some(End::Code(exit::LOST)),
        Ok(Course::Lost) => {
            give_back(hold.guard).await;
            None
        }
        // It is not granted again before its lease is over.
        Ok(Course::Undead) | Err(_) => {
            hold.guard.orphan();
            None
        }
    }
}

/// What ends a hold, besides signals.
struct Ends {
    companion: Option<Companion>,
    input: Option<Input>,
}

impl Ends {
    /// Completes when the process has ended, or the input has, which is told once.
    async fn next(&mut self) -> Result<Ended, Failure> {
        let Self { companion, input } = self;
        tokio::select! {
            biased;
            ended = if_any(companion.as_ref().map(Companion::ended)) => ended?,
            () = if_any(input.as_mut().map(Input::ended)) => {
                *input = None;
                return Ok(Ended::Input);
            }
        }
        Ok(Ended::Process)
    }
}

/// What has ended of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Process,
    Input,
}

async fn if_any<F: Future>(wait: Option<F>) -> F::Output {
    match wait {
        Some(wait) => wait.await,
        None => std::future::pending().await,
    }
}

/// What a hold came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    /// What it was held for has ended, or it was told to end.
    Done,
    /// It was lost, or about to be, and the process was ended before.
    Lost,
    /// The process cannot be killed.
    Undead,
}

/// A lock that is held.
struct Watch<'a> {
    guard: &'a LockGuard,
    ends: Ends,
    /// Whether the process is to end before the lock does.
    kills: bool,
    lost: Option<LostCause>,
    /// Whether it was asked to end since the lock was not renewed.
    asked: bool,
}

impl Watch<'_> {
    /// Until the hold is over.
    async fn run(&mut self, settings: &Settings, signals: &mut Signals) -> Result<Course, Failure> {
        let mut schedule = Schedule::new(self.deadline(), settings.grace);
        let mut looks = interval(settings.look_every());
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (due, mut is_told_to_end) = (boottime::Alarm::new().map_err(broken)?, false);
        loop {
            if is_told_to_end {
                schedule.end_now(boottime::now());
            }
            if self.kills {
                schedule.deadline_moved(self.deadline());
                match schedule.due(boottime::now()) {
                    Step::Wait(until) => due.set(until).map_err(broken)?,
                    Step::Ask => {
                        self.asked |= !is_told_to_end;
                        self.signal(Signal::TERM)?;
                        continue;
                    }
                    Step::Kill => return self.kill(is_told_to_end).await,
                }
            }
            tokio::select! {
                biased;
                cause = self.guard.lost() => {
                    self.lost = Some(cause);
                    return if self.kills { self.kill(false).await } else { Ok(Course::Lost) };
                }
                ended = self.ends.next() => match ended? {
                    Ended::Input if self.kills => is_told_to_end = true,
                    _ => return Ok(if self.asked { Course::Lost } else { Course::Done }),
                },
                _signal = signals.next(), if !is_told_to_end => {
                    if !self.kills {
                        return Ok(Course::Done);
                    }
                    is_told_to_end = true;
                }
                rung = due.rings(), if self.kills => rung.map_err(broken)?,
                _tick = looks.tick() => {}
            }
        }
    }

    fn deadline(&self) -> Duration {
        self.guard.deadline().since_origin()
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        self.ends.companion.as_ref().map_or(Ok(()), |companion| companion.signal(signal))
    }

    /// Kills the process, and waits for its end: no longer than a process lasts that can be killed.
    async fn kill(&self, is_told_to_end: bool) -> Result<Course, Failure> {
        let Some(companion) = &self.ends.companion else { return Ok(Course::Lost) };
        companion.signal(Signal::KILL)?;
        match tokio::time::timeout(PATIENCE, companion.ended()).await {
            Ok(ended) => {
                ended?;
                Ok(if is_told_to_end { Course::Done } else { Course::Lost })
            }
            Err(_elapsed) => Ok(Course::Undead),
        }
    }

    /// Says what is worth saying; how to end.
    fn conclude(&self, name: &str, course: &Result<Course, Failure>) -> Result<End, Failure> {
        let end = if self.kills { ": the process was ended" } else { "" };
        match course {
            Ok(Course::Done) => return Ok(End::Code(0)),
            Ok(Course::Undead) => {
                tell(format_args!("the process cannot be killed, and may run on without {name}"))
            }
            Ok(Course::Lost) => match &self.lost {
                Some(cause) => tell(format_args!("{name} was lost: {cause}{end}")),
                None => {
                    let why = self.guard.not_renewed().map(|trouble| format!(" ({trouble})"));
                    tell(format_args!(
                        "{name} could not be renewed{}{end}",
                        why.unwrap_or_default()
                    ))
                }
            },
            Err(failure) => tell(failure.message().unwrap_or("the process cannot be watched")),
        }
        Ok(End::Code(exit::LOST))
    }
}

fn broken(error: std::io::Error) -> Failure {
    Failure::system("cannot watch the process", error)
}

/// A process that was killed is gone long before.
const PATIENCE: Duration = Duration::from_secs(5).saturating_add(SAFETY);
