//! Many seeds, on several threads.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use simulation::{Coverage, Options, run};

#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) seeds: Option<u64>,
    pub(crate) limit: Option<Duration>,
    pub(crate) from: u64,
    pub(crate) threads: usize,
    pub(crate) options: Options,
}

#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) seeds: u64,
    pub(crate) steps: u64,
    pub(crate) simulated: Duration,
    pub(crate) took: Duration,
    pub(crate) coverage: Coverage,
    /// Each with its first violation.
    pub(crate) failed: BTreeMap<u64, String>,
}

impl Batch {
    pub(crate) fn run(&self) -> Report {
        let began = Instant::now();
        let next = AtomicU64::new(0);
        let report = Mutex::new(Report::default());
        thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| self.work(began, &next, &report));
            }
        });
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.took = began.elapsed();
        report
    }

    fn work(&self, began: Instant, next: &AtomicU64, report: &Mutex<Report>) {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let enough = self.seeds.is_some_and(|seeds| number >= seeds);
            if enough || self.limit.is_some_and(|limit| began.elapsed() >= limit) {
                return;
            }
            let seed = self.from + number;
            let outcome = run(seed, &self.options);
            let mut report = report.lock().unwrap_or_else(PoisonError::into_inner);
            report.seeds += 1;
            report.steps += outcome.steps;
            report.simulated += outcome.simulated;
            report.coverage.add(&outcome.coverage);
            if let Some(violation) = outcome.violations.first() {
                report.failed.insert(seed, violation.to_string());
                // More would say little more.
                if report.failed.len() >= MOST_FAILED {
                    return;
                }
            }
        }
    }
}

const MOST_FAILED: usize = 200;
