//! The command line.

use std::num::NonZeroUsize;

use clap::Parser;

use crate::{child::Child, peer::Peer, spin::Spinner};

/// Ratios of palisade to hand-written redis-rs, each from one interleaved run.
///
/// A run of all rows writes RESULTS.md, results.svg and ratios.tsv.
#[derive(Debug, Parser)]
pub(crate) struct Args {
    /// Ends with 1 if a ratio is worse than 25 % beyond that of ratios.tsv, twice; writes nothing.
    #[arg(long)]
    pub(crate) check: bool,
    /// Fewer and smaller blocks: noisier; writes nothing by itself.
    #[arg(long)]
    pub(crate) short: bool,
    /// Only the rows whose name contains this; writes nothing by itself.
    #[arg(long, default_value = "")]
    pub(crate) only: String,
    /// Writes the results of the rows that were measured, and leaves those of others.
    #[arg(long, conflicts_with = "check")]
    pub(crate) write: bool,
    /// A peer that palisade is measured beside, and the program that plays it; may be repeated.
    #[arg(long = "peer", value_name = "NAME=PROGRAM")]
    pub(crate) peers: Vec<Peer>,
    /// Measures nothing, but repeats one thing for a profiler.
    #[arg(long)]
    pub(crate) spin: Option<Spinner>,
    /// How often, with --spin.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) pairs: usize,
    /// By how many tasks, with --spin.
    #[arg(long, default_value = "1")]
    pub(crate) tasks: NonZeroUsize,
    /// With --spin: on the multi-thread runtime.
    #[arg(long)]
    pub(crate) multi_thread: bool,
    /// This is a helper process of a run.
    #[command(subcommand)]
    pub(crate) child: Option<Child>,
}
