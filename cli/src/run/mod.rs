//! `palisade run`: acquire the lock, run the command under a supervisor, give the lock back.

mod alarm;
mod command;
mod due;
mod outcome;
mod settings;
pub(crate) mod slots;
mod status;
pub(crate) mod waiting;
mod wanted;
mod watch;

use std::{
    io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Child, Command},
    sync::atomic::Ordering,
    time::Duration,
};

use palisade::{LockGuard, ReleaseError, once::Begun};
use rustix::process::{getpid, set_child_subreaper};

use crate::{
    QUIET,
    args::RunArgs,
    duration, env,
    exit::{End, Failure},
    has_noted,
    hold::Hold,
    note, processes,
    servers::Servers,
    signals::{self, Signals},
    supervisor::{Link, OURSELVES},
    tell,
};
use alarm::HeldAlarm;
use outcome::Outcome;
pub(crate) use settings::Settings;
use status::{Course, StatusFile};
use watch::Watch;

/// The whole story; how to end.
pub(crate) async fn run(args: &RunArgs) -> Result<End, Failure> {
    let servers = Servers::telling(&args.lock.servers, args.lock.note.as_deref())?;
    let settings = Settings::of(&args.lock, servers.max_lease())?;
    settings.check_times(args)?;
    slots::check(&args.lock, servers.len())?;
    command::check(args)?;
    QUIET.store(args.lock.quiet, Ordering::Relaxed);
    let file = args.status_file.as_deref().map(StatusFile::open).transpose()?;
    let mut course = Course::begin();
    let end = under_the_lock(args, &settings, &servers, &mut course).await;
    servers.close().await;
    if let Some(file) = file {
        file.write(&course, &args.lock.name, &end);
    }
    end
}

async fn under_the_lock(
    args: &RunArgs,
    settings: &Settings,
    servers: &Servers,
    course: &mut Course,
) -> Result<End, Failure> {
    let mut signals = Signals::listen(&signals::ENDING)
        .map_err(|error| Failure::system("cannot listen for signals", error))?;
    let hold = waiting::acquire(&args.lock, settings, servers, &mut signals).await?;
    let waited = course.granted();
    if has_noted() {
        note(format_args!("acquired {} after {}", args.lock.name, duration::show_roughly(waited)));
    }
    let begun = match due::begin(args, &hold.guard).await {
        Ok(Some(Begun::NotDue(run))) => {
            tell(format_args!("{} is not due: {run}", args.lock.name));
            course.not_due = true;
            Err(Ok(End::Code(0)))
        }
        Ok(begun) => Ok(begun),
        Err(failure) => Err(Err(failure)),
    };
    let begun = match begun {
        Ok(begun) => begun,
        Err(end) => {
            give_back(hold.guard).await;
            course.ended();
            return end;
        }
    };
    let mut alarm = HeldAlarm::new(args, &hold);
    let (outcome, supervisor) = match supervised(args, settings, &hold, &mut alarm, signals).await {
        Ok((outcome, supervisor)) => (outcome, Some(supervisor)),
        Err(not_begun) => (Err(not_begun), None),
    };
    let unrecorded = match &outcome {
        Ok(outcome) => due::record(begun, outcome).await,
        Err(_) => None,
    };
    let guard = hold.guard;
    let lost = match &outcome {
        Ok(outcome) if outcome.all_are_dead() => give_back(guard).await,
        // Something may be running still: the lock is not granted again before its lease is over.
        Ok(_) | Err(_) => {
            guard.orphan();
            false
        }
    };
    course.ended();
    // It ends while the servers answer.
    if let Some(supervisor) = supervisor {
        watch::reap(supervisor).await;
    }
    alarm.finish().await;
    let end = outcome.map(|outcome| outcome.conclude(&args.lock.name, lost, course));
    course.cause = course.cause.take().or(unrecorded);
    end
}

/// Runs the command until it and its group are dead, or, by an error inside, may not be; and the
/// supervisor, which was to see to that.
///
/// # Errors
/// Nothing was begun.
async fn supervised(
    args: &RunArgs,
    settings: &Settings,
    hold: &Hold,
    alarm: &mut HeldAlarm<'_>,
    mut signals: Signals,
) -> Result<(Result<Outcome, Failure>, Child), Failure> {
    let refused = |error| Failure::system("cannot run the command", error);
    signals.also(&signals::WHILE_RUNNING).map_err(refused)?;
    // Should the supervisor die, what it has started becomes ours to kill.
    set_child_subreaper(Some(getpid())).map_err(|error| refused(error.into()))?;
    let spared = processes::children().map_err(refused)?.iter().map(|it| it.pid).collect();
    let (link, theirs) = Link::pair().map_err(refused)?;
    let supervisor = start_supervisor(args, settings.grace, hold, theirs).map_err(refused)?;
    let watch = Watch::new(&hold.guard, settings, link, supervisor, signals, spared);
    Ok(watch.map_err(refused)?.run(alarm).await)
}

fn start_supervisor(
    args: &RunArgs,
    grace: Duration,
    hold: &Hold,
    link: OwnedFd,
) -> io::Result<Child> {
    let mut command = Command::new(OURSELVES);
    command
        .arg0("palisade")
        .arg("__supervise")
        .arg(format!("--grace={}", grace.as_nanos()))
        .arg("--")
        .args(args.words())
        .stdin(link)
        .process_group(0);
    env::prepare(&mut command, &args.lock, hold, args.keep_env);
    command.spawn()
}

/// Releases the lock; whether it turns out to have been lost before.
pub(crate) async fn give_back(guard: LockGuard) -> bool {
    match guard.release().await {
        Ok(_) => false,
        Err(ReleaseError::Lost(_)) => true,
        Err(error) => {
            tell(format_args!("{error}; it ends with its lease"));
            false
        }
    }
}
