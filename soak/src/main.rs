//! Two thousand locks on three masters, for as long as one likes, to see that nothing grows.
//!
//! Holders come and go, futures and guards are dropped, connections are cut. Whenever all is calm
//! the process and the masters must look as they did after the warm-up; at the end nothing of the
//! locks may be left.
//!
//! The parts: `traffic` (what is done), `usage` (what is counted, and how much more is too much).
#![expect(clippy::print_stdout, reason = "a command-line program talks to its user")]

mod traffic;
mod usage;

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Parser;

use crate::{
    traffic::Traffic,
    usage::{Baseline, Usage},
};

/// Whether anything grows while locks are held, dropped and cut off.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask soak", bin_name = "cargo xtask soak")]
struct Args {
    /// How long, the warm-up included.
    #[arg(long, default_value_t = 30)]
    mins: u32,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let whole = Duration::from_secs(60) * Args::parse().mins.max(1);
    match soak(whole).await {
        Ok(()) => {
            println!("nothing grew, and nothing is left");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            println!("{problem}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(whole: Duration) -> Result<(), String> {
    let mut traffic = Traffic::begin().await?;
    let (began, every) = (Instant::now(), (whole / 12).min(MOST_BETWEEN_SAMPLES));
    traffic.go_on(began + whole / WARM_UP_PART).await?;
    println!("{:>7} {} {}", "min", usage::header(), traffic::HEADER);
    let mut baseline = Baseline::new(sample(&traffic, began));
    while began.elapsed() < whole {
        traffic.go_on(Instant::now() + every).await?;
        baseline.compare(sample(&traffic, began));
    }
    let left = traffic.end().await;
    baseline.verdict()?;
    left
}

fn sample(traffic: &Traffic, began: Instant) -> Usage {
    let usage = Usage::now(traffic.servers());
    println!("{:>7.1} {usage} {traffic}", began.elapsed().as_secs_f64() / 60.0);
    usage
}

const MOST_BETWEEN_SAMPLES: Duration = Duration::from_secs(60);
/// A sixth of the run: buffers and the allocator's pools have grown to their size by then.
const WARM_UP_PART: u32 = 6;
