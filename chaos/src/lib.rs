//! A program that tries to make palisade's locks fail.
//!
//! Worker processes contend through `RedLock` and `MultiLock` on real servers, each section a read
//! and a write of a witness outside Redis, while servers and workers are killed and stopped as a
//! seed says. Afterwards pure checkers go through what all of them have recorded.
//!
//! The parts: `masters`, `traffic` (what the workers do), `faults` (what is done to them), `recorder`
//! (into the history that `checkers` judges), `leftovers` (what is on a server in the end), `scenario`
//! (the three put together), `demands` (how much a run must have seen), `report`.

mod args;
mod demands;
mod faults;
mod leftovers;
mod masters;
mod profile;
mod recorder;
mod report;
mod scenario;
mod time;
mod traffic;

use std::process::ExitCode;

use checkers::{check, history, quantiles, random, spans};

/// The program.
#[must_use]
pub fn main() -> ExitCode {
    match args::parse(std::env::args().skip(1)) {
        Ok(args::Task::Run(options)) => scenario::main(&options),
        Ok(args::Task::AddToSets(options)) => profile::lock_set::main(&options),
        Ok(args::Task::Recheck(file)) => report::recheck(&file),
        Ok(args::Task::Work(orders)) => traffic::work(&orders),
        Ok(args::Task::Add(adding)) => profile::lock_set::work(&adding),
        Err(problem) => {
            eprintln!("{problem}\n\n{}", args::USAGE);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// As sysexits(3) has it.
const EXIT_USAGE: u8 = 64;
