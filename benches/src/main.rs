//! Measures palisade's locks against the same scripts called by hand: see README.md beside this.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod cases;
mod compare;
mod floor;
mod hand_over;
mod held;
mod locks;
mod spin;
mod table;

use std::{fmt, process::ExitCode};

use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use crate::{cases::CASES, compare::Effort, spin::Spinner, table::Table};

/// Ratios of palisade to hand-written redis-rs, each from one interleaved run.
#[derive(Debug, Parser)]
struct Args {
    /// Ends with 1 if a goal is missed.
    #[arg(long)]
    check: bool,
    /// Fewer and smaller blocks: a quarter of the time, and noisier.
    #[arg(long)]
    short: bool,
    /// Only the cases whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Measures nothing, but repeats one thing for a profiler.
    #[arg(long)]
    spin: Option<Spinner>,
    /// How often, with --spin.
    #[arg(long, default_value_t = 10_000)]
    pairs: usize,
    /// With --spin: on the multi-thread runtime.
    #[arg(long)]
    multi_thread: bool,
}

/// A flavour of tokio's runtime.
#[derive(Debug, Clone, Copy)]
enum Flavour {
    CurrentThread,
    MultiThread,
}

impl Flavour {
    const ALL: [Self; 2] = [Self::CurrentThread, Self::MultiThread];

    fn runtime(self) -> Runtime {
        let mut builder = match self {
            Self::CurrentThread => Builder::new_current_thread(),
            Self::MultiThread => Builder::new_multi_thread(),
        };
        builder.enable_all().build().expect("a runtime can be built")
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CurrentThread => "current-thread runtime",
            Self::MultiThread => "multi-thread runtime",
        })
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(spinner) = args.spin {
        let flavour = if args.multi_thread { Flavour::MultiThread } else { Flavour::CurrentThread };
        flavour.runtime().block_on(spin::spin(spinner, args.pairs));
        return ExitCode::SUCCESS;
    }
    let effort = if args.short { Effort::SHORT } else { Effort::FULL };
    let chosen = || CASES.iter().filter(|case| case.name().contains(&args.only));
    let mut table = Table::default();
    for flavour in Flavour::ALL {
        for case in chosen() {
            eprintln!("{flavour}: {}", case.name());
            table.extend(flavour, flavour.runtime().block_on(case.run(effort)));
        }
    }
    println!("{table}");
    if args.check && table.misses_a_goal() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
