//! Measures palisade's locks against the same scripts called by hand: see README.md beside this.
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod args;
mod block;
mod child;
mod command;
mod contact;
mod cpus;
mod deployments;
mod figure;
mod floor;
mod followed;
mod herd;
mod holds;
mod kinds;
mod line;
mod live;
mod locks;
mod many;
mod meter;
mod one_lock;
mod outsider;
mod overlapping;
mod peer;
#[cfg(feature = "metrics")]
mod recorder;
mod results;
mod rows;
mod run;
mod spin;
mod tries;
mod turns;
mod work;

use std::{fmt, process::ExitCode};

use clap::Parser;
use tokio::runtime::{Builder, Runtime};

use crate::args::Args;
pub use crate::{
    block::Pair,
    child::serve,
    meter::{Count, Heap},
};

/// A flavour of tokio's runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// One thread.
    CurrentThread,
    /// A thread for each core.
    MultiThread,
}

impl Flavour {
    /// A new one.
    ///
    /// # Panics
    /// There are no more threads.
    #[must_use]
    pub fn runtime(self) -> Runtime {
        self.builder().build().expect("a runtime can be built")
    }

    /// A new one, of so many threads if not of one.
    pub(crate) fn runtime_of(self, threads: usize) -> Runtime {
        self.builder().worker_threads(threads).build().expect("a runtime can be built")
    }

    fn builder(self) -> Builder {
        let mut builder = match self {
            Self::CurrentThread => Builder::new_current_thread(),
            Self::MultiThread => Builder::new_multi_thread(),
        };
        builder.enable_all();
        builder
    }
}

impl fmt::Display for Flavour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CurrentThread => "current-thread",
            Self::MultiThread => "multi-thread",
        })
    }
}

/// The program, under an allocator that counts or under the usual one.
#[must_use]
pub fn run(count: Option<Count>) -> ExitCode {
    let args = Args::parse();
    if let Some(count) = count {
        meter::count_by(count);
    }
    #[cfg(feature = "metrics")]
    recorder::install();
    if let Some(child) = args.child {
        let runtime = Flavour::MultiThread.runtime();
        let played = runtime.block_on(async { tokio::spawn(child.play()).await });
        return if played.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    if let Some(spinner) = args.spin {
        let flavour = if args.multi_thread { Flavour::MultiThread } else { Flavour::CurrentThread };
        flavour.runtime().block_on(spin::spin(spinner, args.tasks.get(), args.pairs));
        return ExitCode::SUCCESS;
    }
    match run::run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
