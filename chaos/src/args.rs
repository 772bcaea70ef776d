//! The command line.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    path::PathBuf,
    str::FromStr,
};

use serde::de::DeserializeOwned;

use crate::{
    history::Settings,
    profile::{
        self, TRUST,
        lock_set::{self, ADDER, Adding, SetOptions},
    },
    traffic::{LONGEST_LEASE_MS, Orders, QUARANTINE_MS},
};

/// What the process is to do.
#[derive(Debug)]
pub(crate) enum Task {
    Run(Options),
    /// The profile that counts additions.
    AddToSets(SetOptions),
    Recheck(PathBuf),
    Work(Box<Orders>),
    Add(Box<Adding>),
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
       palisade-chaos --profile lock-set [--seed S] [--additions N] [--plain] [--no-kills]
                      [--masters N] [--sets N] [--workers N]
       palisade-chaos check HISTORY

  --profile P   which servers, and what happens to them (default: masters)
                  masters      some that know nothing of each other
                  failover     one behind sentinels, whose replicas take its place
                  resharding   a cluster whose slots move, and whose masters are replaced
                  lock-set     some that forget nothing; sets on them are changed under locks, and no
                               acknowledged addition may be missing
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
  --additions N with the profile lock-set: so many numbers are added (default: 5000), to --sets N on
                each master (default: 24), by --workers N (default: 48)
  --plain       with the profile lock-set: what is written is not guarded, so the run must end with
                violations
  --no-kills    with the profile lock-set: masters stay alive
  check HISTORY go through a kept history once more

exit: 0 no violation, 1 violations, 2 the run has seen too little to mean anything,
      130 interrupted, 64 usage";

pub(crate) fn parse(args: impl Iterator<Item = String>) -> Result<Task, Problem> {
    let mut args = args.peekable();
    if args.next_if(|first| first == WORKER).is_some() {
        return orders(args.next()).map(Task::Work);
    }
    if args.next_if(|first| first == ADDER).is_some() {
        return orders(args.next()).map(Task::Add);
    }
    if args.next_if(|first| first == "check").is_some() {
        let file = args.next().ok_or_else(|| Problem("check needs a file".into()))?;
        return Ok(Task::Recheck(file.into()));
    }
    let args: Vec<_> = args.collect();
    let is_named = |two: &[String]| matches!(two, [option, name] if option == "--profile" && name == lock_set::NAME);
    if args.windows(2).any(is_named) {
        return set_options(args.into_iter()).map(Task::AddToSets);
    }
    options(args.into_iter()).map(Task::Run)
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

fn set_options(mut args: impl Iterator<Item = String>) -> Result<SetOptions, Problem> {
    let mut options = SetOptions::new(any_seed());
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--profile" => drop(args.next()),
            "--seed" => options.seed = number(&arg, args.next())?,
            "--additions" => options.additions = number(&arg, args.next())?,
            "--masters" => options.masters = number(&arg, args.next())?,
            "--sets" => options.sets = number(&arg, args.next())?,
            "--workers" => options.workers = number(&arg, args.next())?,
            "--plain" => options.plain = true,
            "--no-kills" => options.kills = false,
            _ => return Err(Problem(format!("not understood: {arg}"))),
        }
    }
    let SetOptions { additions, masters, sets, workers, .. } = options;
    // On each master two that can overtake each other.
    if additions == 0 || masters == 0 || sets == 0 || workers < 2 * masters {
        return Err(Problem("there are sets, and two workers for each master at least".to_owned()));
    }
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
        return say("--profile is masters, failover, resharding or lock-set");
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

fn orders<T: DeserializeOwned>(told: Option<String>) -> Result<Box<T>, Problem> {
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
    fn sets_have_options_of_their_own() {
        let run = |line: &str| match parse(line.split_whitespace().map(str::to_owned)) {
            Ok(Task::AddToSets(options)) => options,
            other => panic!("{other:?}"),
        };
        assert_eq!(run("--seed 7 --profile lock-set"), SetOptions::new(7));
        let line = "--profile lock-set --additions 9 --seed 1 --masters 2 --sets 3 --workers 4";
        let options = run(&format!("{line} --plain --no-kills"));
        let (plain, kills) = (true, false);
        let expected =
            SetOptions { seed: 1, additions: 9, masters: 2, sets: 3, workers: 4, plain, kills };
        assert_eq!(options, expected);
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
            "--profile lock-set --secs 60",
            "--profile lock-set --additions 0",
            "--profile lock-set --sets 0",
            "--profile lock-set --workers 5",
            "--profile masters --plain",
            "--help",
        ] {
            assert!(run(line).is_err(), "{line}");
        }
    }
}
