//! Plants one bug after the other in the library, and sees whether it is found.
//!
//! The programs are built once with `--cfg planted_bugs`, in a target directory of their own, and
//! told by the environment which bug to have. The list is `src/planted/list.rs`. As they are built otherwise they must find nothing.

use std::{
    path::PathBuf,
    process::{Command, ExitCode, Output, Stdio},
    time::{Duration, Instant},
};

use crate::{
    cargo,
    proofs::bugs::{BUGS, Finder, PlantedBug},
};

/// What is run to find a bug.
#[derive(Debug, Clone, Copy)]
enum Search {
    /// The simulation, or the one that is asked for by this argument, for at most so many seeds.
    Simulation { of: Option<&'static str>, seeds: u64 },
    /// The tests with this in their name.
    Test(&'static str),
    /// Real servers, and processes that block their runtimes, for so long.
    Blocking { secs: u64 },
}

/// The rarest bugs show about once in 2,000 seeds.
const MOST_SEEDS: u64 = 10_000;
const BLOCKING: Search = Search::Blocking { secs: 15 };
/// For the library as it is: more is what `cargo xtask sim` is for.
const SOUND: [Search; 5] = [
    Search::Simulation { of: None, seeds: 4_000 },
    Search::Simulation { of: Some("--periods"), seeds: 4_000 },
    Search::Simulation { of: Some("--guarded"), seeds: 1_000 },
    Search::Simulation { of: Some("--leases"), seeds: 400 },
    BLOCKING,
];

impl Search {
    const fn of(bug: &PlantedBug) -> Self {
        match bug.finder {
            Finder::Simulation { of, .. } => Self::Simulation { of, seeds: MOST_SEEDS },
            Finder::Test(filter) => Self::Test(filter),
            Finder::Blocking { .. } => BLOCKING,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Simulation { .. } => "simulation",
            Self::Test(_) => "a test",
            Self::Blocking { .. } => "chaos",
        }
    }
}

/// Plants all bugs, or those that are named, and prints what became of each.
pub(crate) fn run(only: &[String]) -> Result<ExitCode, String> {
    let is_wanted = |name: &str| only.is_empty() || only.iter().any(|wanted| wanted == name);
    let bugs: Vec<_> = BUGS.iter().filter(|bug| is_wanted(bug.name)).collect();
    if let Some(unknown) = only.iter().find(|name| !BUGS.iter().any(|bug| bug.name == **name)) {
        let names = BUGS.iter().map(|bug| bug.name).collect::<Vec<_>>().join(", ");
        return Err(format!("there is no bug {unknown}; there are {names}"));
    }
    let planted = Programs::build(&[("RUSTFLAGS", "--cfg planted_bugs")], "target/planted")?;
    let sound = Programs::build(&[], "target")?;
    println!("{:<26} {:<12} {:>18}  what was seen", "planted", "found by", "after");
    let mut all_found = true;
    for bug in bugs {
        let search = Search::of(bug);
        let found = planted.look(search, Some(bug.name))?;
        all_found &= found.is_some();
        tell(bug.name, search, found.as_ref());
    }
    // As the library is, the same programs find nothing.
    let mut clean = true;
    for search in SOUND {
        let found = sound.look(search, None)?;
        clean &= found.is_none();
        tell("nothing", search, found.as_ref());
    }
    Ok(if all_found && clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(bug: &str, search: Search, found: Option<&Found>) {
    let (after, what) = match found {
        Some(Found { after, what }) => (after.as_str(), what.as_str()),
        None => ("", "nothing"),
    };
    let what: String = what.chars().take(100).collect();
    println!("{bug:<26} {:<12} {after:>18}  {what}", search.name());
}

/// The first violation of a run.
#[derive(Debug)]
struct Found {
    after: String,
    what: String,
}

/// The programs of one build.
#[derive(Debug)]
struct Programs {
    folder: PathBuf,
    target: &'static str,
    /// What they were built with.
    env: &'static [(&'static str, &'static str)],
}

impl Programs {
    fn build(env: &'static [(&str, &str)], target: &'static str) -> Result<Self, String> {
        let programs = ["--package", "palisade-simulation", "--package", "palisade-chaos"];
        let into = ["build", "--release", "--target-dir", target];
        let built = Self { folder: cargo::top().join(target).join("release"), target, env };
        if cargo::run_with(&[&into[..], &programs].concat(), env) && built.test(&["--no-run"], &[])
        {
            return Ok(built);
        }
        Err("the programs cannot be built".into())
    }

    /// Runs or builds the tests. Whether they pass.
    fn test(&self, more: &[&str], env: &[(&str, &str)]) -> bool {
        let tests = ["test", "--quiet", "--package", "palisade-tests", "--test", "it"];
        let args = [&tests[..], &["--target-dir", self.target], more].concat();
        cargo::run_with(&args, &[self.env, env].concat())
    }

    /// Runs a program until it finds something or has done what it is to do.
    fn look(&self, search: Search, bug: Option<&str>) -> Result<Option<Found>, String> {
        let began = Instant::now();
        match search {
            Search::Simulation { of, seeds } => {
                for from in (0..seeds).step_by(SEEDS_AT_ONCE) {
                    let (from, count) = (from.to_string(), SEEDS_AT_ONCE.to_string());
                    let bounds = ["--from", &from, "--seeds", &count];
                    let args: Vec<_> = of.into_iter().chain(bounds).collect();
                    let output = self.output("palisade-simulation", &args, bug)?;
                    if !output.status.success() {
                        return Ok(Some(Found::by_simulation(&output, began.elapsed())));
                    }
                }
                Ok(None)
            }
            Search::Test(filter) => {
                // Whatever does not compile has found nothing.
                if !self.test(&["--no-run"], &[]) {
                    return Err("the tests cannot be built".into());
                }
                let chosen = bug.map(|bug| (CHOICE, bug));
                let after = || format!("{:.0} s", began.elapsed().as_secs_f64());
                let fails = !self.test(&["--", filter], chosen.as_slice());
                Ok(fails.then(|| Found { after: after(), what: format!("{filter} fails") }))
            }
            Search::Blocking { secs } => {
                let args = ["--blocking", "--seed", CHAOS_SEED, "--secs", &secs.to_string()];
                let output = self.output("palisade-chaos", &args, bug)?;
                let violated = output.status.code() == Some(VIOLATIONS);
                Ok(violated.then(|| Found::by_chaos(&output, began.elapsed())))
            }
        }
    }

    fn output(&self, program: &str, args: &[&str], bug: Option<&str>) -> Result<Output, String> {
        let mut command = Command::new(self.folder.join(program));
        command.args(args).env_remove(CHOICE).stdin(Stdio::null()).stderr(Stdio::null());
        if let Some(bug) = bug {
            command.env(CHOICE, bug);
        }
        command.output().map_err(|error| format!("{program} cannot be run: {error}"))
    }
}

impl Found {
    fn by_simulation(output: &Output, took: Duration) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text.lines().find_map(|line| line.strip_prefix("seed ")?.split_once(": "));
        match first {
            Some((seed, what)) => {
                let seeds = seed.parse().map_or(0, |seed: u64| seed + 1);
                let after = format!("{seeds} seeds, {:.1} s", took.as_secs_f64());
                Self { after, what: what.to_owned() }
            }
            // Not a violation: a panic, most likely.
            None => Self { after: String::new(), what: format!("{}", output.status) },
        }
    }

    fn by_chaos(output: &Output, took: Duration) -> Self {
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text.lines().find(|line| line.trim_start().starts_with('I'));
        let what = first.map_or("violations", str::trim).to_owned();
        Self { after: format!("{:.0} s", took.as_secs_f64()), what }
    }
}

/// Which bug the library is to have.
const CHOICE: &str = "PALISADE_PLANTED";
/// Few enough that it is soon seen that one has failed.
const SEEDS_AT_ONCE: usize = 200;
const CHAOS_SEED: &str = "20260711";
/// The exit code of the chaos program for violations.
const VIOLATIONS: i32 = 1;
