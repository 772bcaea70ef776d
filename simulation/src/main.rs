//! `palisade-simulation`: runs seeds until one fails, or one seed to be looked at.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod args;
mod batch;

use std::process::ExitCode;

use simulation::{Options, Topic, run};

use crate::args::Task;

fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(Task::One { seed, options }) => one(seed, &options),
        Ok(Task::Many(batch)) => many(&batch),
        Err(problem) => {
            eprintln!("{problem}\n\n{}", args::USAGE);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn one(seed: u64, options: &Options) -> ExitCode {
    let outcome = run(seed, options);
    print!("{}", outcome.trace.unwrap_or_default());
    for violation in &outcome.violations {
        println!("{violation}");
    }
    let (fingerprint, simulated) = (outcome.fingerprint, outcome.simulated);
    println!("seed {seed}: fingerprint {fingerprint:016x} after {simulated:.1?} inside");
    verdict(outcome.violations.is_empty())
}

fn many(batch: &batch::Batch) -> ExitCode {
    let report = batch.run();
    print!("{}", report.coverage);
    let unseen: Vec<_> = report.coverage.missing(batch.options.sometimes()).collect();
    for what in &unseen {
        println!("{:>12}  {what}", "NEVER");
    }
    println!();
    tell_figures(batch, &report);
    for (seed, violation) in report.failed.iter().take(SHOWN) {
        println!("seed {seed}: {violation}");
    }
    if let Some((seed, _)) = report.failed.first_key_value() {
        let tcp = if batch.options.tcp { " --tcp" } else { "" };
        let tracking = if batch.options.tracking { " --tracking" } else { "" };
        let topic = Topic::NAMED.iter().find(|(topic, _)| *topic == batch.options.topic);
        let topic = topic.map(|(_, name)| format!(" {name}")).unwrap_or_default();
        println!("to see it again: cargo xtask sim --seed {seed} --trace{tcp}{tracking}{topic}");
    }
    // A few seeds need not have seen anything.
    let enough = if batch.options.topic == Topic::Any { ENOUGH } else { ENOUGH_OF_SPECIAL };
    let blind = report.seeds >= enough && !unseen.is_empty();
    if blind {
        println!("never seen: {}", unseen.join(", "));
    }
    verdict(report.failed.is_empty() && !blind)
}

fn tell_figures(batch: &batch::Batch, report: &batch::Report) {
    let rate =
        f64::from(u32::try_from(report.seeds).unwrap_or(u32::MAX)) / report.took.as_secs_f64();
    println!(
        "{} seeds from {} on in {:.1?} on {} threads: {rate:.0} a second; {} steps of callers and \
         {:.0} s inside a seed; {} failed",
        report.seeds,
        batch.from,
        report.took,
        batch.threads,
        report.steps / report.seeds.max(1),
        report.simulated.as_secs_f64() / f64::from(u32::try_from(report.seeds.max(1)).unwrap_or(1)),
        report.failed.len(),
    );
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const SHOWN: usize = 20;
/// So many seeds must have seen everything.
const ENOUGH: u64 = 3_000;
const ENOUGH_OF_SPECIAL: u64 = 2_000;
/// As sysexits(3) has it.
const EXIT_USAGE: u8 = 64;
