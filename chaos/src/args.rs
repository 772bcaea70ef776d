//! The command line.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    str::FromStr,
};

use crate::{
    history::Settings,
    profile::{self, TRUST},
    traffic::{LONGEST_LEASE_MS, Orders, QUARANTINE_MS},
};

/// What the process is to do.
#[derive(Debug)]
pub(crate) enum Task {
    Run(Options),
    Recheck(PathBuf),
    Work(Box<Orders>),
}

/// How to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) settings: Settings,
    /// Keeps the history also when nothing was found.
    pub(crate) keep: bool,
    /// No faults: the workers block their own runtimes.
    pub(crate) blocking: bool,
}

/// The hidden command by which this program starts its workers.
pub(crate) const WORKER: &str = "worker";
/// The planted fault: one of the workers ignores the locks.
pub(crate) const NO_LOCK: &str = "no-lock";

pub(crate) const USAGE: &str = "\
usage: palisade-chaos [--profile P] [--seed S] [--secs T] [--masters 3|5]
                      [--workers N] [--keep] [--blocking] [--planted no-lock] [--trust]
       palisade-chaos check HISTORY

  --profile P   which servers, and what happens to them (default: masters)
                  masters      some that know nothing of each other
                  failover     one behind sentinels, whose replicas take its place
                  resharding   a cluster whose slots move, and whose masters are replaced
  --seed S      which faults come when, and what the workers want (default: any)
  --secs T      how long the workers work (default: 60); from 120 on every other minute is calmer
  --masters N   of those that know nothing of each other, 3 or 5 (default: 3)
  --workers N   worker processes, at least 6 (default: 6)
  --keep        keep the history also when nothing is wrong
  --blocking    no faults; workers block their runtimes for longer than a lease now and then, and
                lose no lock by that
  --planted no-lock
                one worker takes what it wants: the run must end with violations
  --trust       with the profile failover: replicas that were promoted grant at once, so the run
                must end with violations
  check HISTORY go through a kept history once more

exit: 0 no violation, 1 violations, 2 the run has seen too little to mean anything,
      130 interrupted, 64 usage";

pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Task, Problem> {
    let mut args = args.peekable();
    if args.next_if(|first| first == WORKER).is_some() {
        return orders(args.next()).map(Task::Work);
    }
    if args.next_if(|first| first == "check").is_some() {
        let file = args.next().ok_or_else(|| Problem("check needs a file".into()))?;
        return Ok(Task::Recheck(file.into()));
    }
    options(args).map(Task::Run)
}

/// A process with several threads does not run them all at the same moment.
const SLACK_MS: u64 = 250;
/// A contender that asks so much later stands behind in a queue, whatever the machine does
/// meanwhile.
const IN_ORDER_MS: u64 = 250;
/// Both contenders of two workers that were killed are the first in a queue, one after the other: each is
/// left its turn for 3 s, and others look every 2 s.
const ABSENT_MS: u64 = 2 * 2 * (3_000 + 2_000);

fn options(mut args: impl Iterator<Item = String>) -> Result<Options, Problem> {
    let settings = Settings {
        longest_lease_ms: LONGEST_LEASE_MS,
        slack_ms: SLACK_MS,
        quarantine_ms: QUARANTINE_MS,
        stamp_ms: 0,
        brisk_ms: 0,
        fair_ms: 0,
        in_order_ms: IN_ORDER_MS,
        absent_ms: ABSENT_MS,
        near: false,
        news_ms: 0,
        failover_ms: 0,
        quarantine_all: false,
        lossy: false,
        forgetful: true,
        profile: profile::ALL[0].name().to_owned(),
        seed: any_seed(),
        secs: 60,
        masters: 3,
        workers: 6,
        planted: None,
    };
    let mut options = Options { settings, keep: false, blocking: false };
    while let Some(arg) = args.next() {
        let settings = &mut options.settings;
        match arg.as_str() {
            "--profile" => settings.profile = args.next().unwrap_or_default(),
            "--trust" => settings.planted = Some(TRUST.to_owned()),
            "--seed" => settings.seed = number(&arg, args.next())?,
            "--secs" => settings.secs = number(&arg, args.next())?,
            "--masters" => settings.masters = number(&arg, args.next())?,
            "--workers" => settings.workers = number(&arg, args.next())?,
            "--planted" => settings.planted = args.next(),
            "--keep" => options.keep = true,
            "--blocking" => options.blocking = true,
            _ => return Err(Problem(format!("not understood: {arg}"))),
        }
    }
    validate(&options.settings)?;
    profile::of(&options.settings).adapt(&mut options.settings);
    Ok(options)
}

fn validate(settings: &Settings) -> Result<(), Problem> {
    let say = |problem: &str| Err(Problem(problem.to_owned()));
    if ![3, 5].contains(&settings.masters) {
        return say("--masters is 3 or 5");
    }
    if settings.workers < 6 {
        return say("--workers is 6 at least");
    }
    if settings.secs < 5 {
        return say("--secs is 5 at least");
    }
    let Some(profile) = profile::named(&settings.profile) else {
        return say("--profile is masters, failover or resharding");
    };
    match settings.planted.as_deref() {
        None | Some(NO_LOCK) => Ok(()),
        Some(TRUST) if profile.loses_grants() => Ok(()),
        Some(TRUST) => say("--trust is for --profile failover"),
        Some(_) => say("--planted knows no-lock only"),
    }
}

fn number<T: FromStr>(option: &str, value: Option<String>) -> Result<T, Problem> {
    let number = value.as_deref().and_then(|value| value.parse().ok());
    number.ok_or_else(|| Problem(format!("{option} needs a number")))
}

fn orders(told: Option<String>) -> Result<Box<Orders>, Problem> {
    let orders = told.map(|told| serde_json::from_str(&told));
    match orders {
        Some(Ok(orders)) => Ok(Box::new(orders)),
        Some(Err(error)) => Err(Problem(format!("orders not understood: {error}"))),
        None => Err(Problem("a worker needs orders".into())),
    }
}

/// Small enough to be typed again.
fn any_seed() -> u64 {
    RandomState::new().hash_one(()) % 1_000_000
}

/// What is wrong with the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem(String);

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Options, String> {
        match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Task::Run(options)) => Ok(options),
            Ok(other) => panic!("{other:?}"),
            Err(problem) => Err(problem.0),
        }
    }

    #[test]
    fn options_are_taken_in_any_order() {
        let options =
            run("--secs 9 --keep --blocking --seed 7 --workers 8 --masters 5 --planted no-lock");
        let planted = Some(NO_LOCK.to_owned());
        let settings = Settings {
            longest_lease_ms: LONGEST_LEASE_MS,
            slack_ms: SLACK_MS,
            quarantine_ms: QUARANTINE_MS,
            stamp_ms: 0,
            brisk_ms: 0,
            fair_ms: 0,
            in_order_ms: IN_ORDER_MS,
            absent_ms: ABSENT_MS,
            near: false,
            news_ms: 0,
            failover_ms: 0,
            quarantine_all: false,
            lossy: false,
            forgetful: true,
            profile: "masters".to_owned(),
            seed: 7,
            secs: 9,
            masters: 5,
            workers: 8,
            planted,
        };
        assert_eq!(options, Ok(Options { settings, keep: true, blocking: true }));
    }

    #[test]
    fn without_options_a_minute_on_three_masters_is_run() {
        let settings = run("").unwrap().settings;
        assert_eq!((settings.secs, settings.masters, settings.workers), (60, 3, 6));
        assert_ne!(settings.seed, run("").unwrap().settings.seed, "any seed");
    }

    #[test]
    fn profile_says_what_is_promised() {
        let settings = run("--profile failover --trust").unwrap().settings;
        assert_eq!((settings.masters, settings.quarantine_all), (1, true));
        assert_eq!(settings.failover_ms, settings.quarantine_ms + 5_000);
        assert_eq!(settings.planted.as_deref(), Some(TRUST));
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        for line in [
            "--masters 4",
            "--workers 5",
            "--secs 1",
            "--seed",
            "--seed x",
            "--planted x",
            "--profile x",
            "--profile",
            "--trust",
            "--profile resharding --trust",
            "--help",
        ] {
            assert!(run(line).is_err(), "{line}");
        }
    }
}
