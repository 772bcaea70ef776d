//! Two ways of doing the same work, in turns.
//!
//! Machines are shared and clocks of processors change: only what was measured next to each other
//! is compared. The work is cut into small blocks, the sides take turns block by block, and what
//! counts is the median of the ratios of neighbours.

use std::time::{Duration, Instant};

use futures::future::join_all;

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Blocks of each side.
    pub(crate) blocks: usize,
    /// The pairs of a block.
    pub(crate) pairs: usize,
    /// Blocks of each side where one takes seconds.
    pub(crate) long_blocks: usize,
}

impl Effort {
    pub(crate) const FULL: Self = Self { blocks: 40, pairs: 200, long_blocks: 5 };
    pub(crate) const SHORT: Self = Self { blocks: 15, pairs: 100, long_blocks: 1 };
}

/// Acquires and releases one lock.
pub(crate) trait Pair: Send + 'static {
    fn pair(&mut self) -> impl Future<Output = ()> + Send;
}

/// One side of a comparison.
pub(crate) trait Side {
    /// Does one block of work; returns its figure.
    async fn block(&mut self, effort: Effort) -> f64;
}

/// The figures of both sides, block by block.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    pub(crate) baseline: Vec<f64>,
    pub(crate) palisade: Vec<f64>,
}

impl Comparison {
    /// Lets the two sides take turns, after a block each that does not count.
    pub(crate) async fn of(
        mut baseline: impl Side,
        mut palisade: impl Side,
        effort: Effort,
        blocks: usize,
    ) -> Self {
        let mut comparison = Self::default();
        baseline.block(effort).await;
        palisade.block(effort).await;
        for i in 0..blocks {
            // Each side goes first every other time: what drifts hits both.
            if i % 2 == 0 {
                comparison.baseline.push(baseline.block(effort).await);
                comparison.palisade.push(palisade.block(effort).await);
            } else {
                comparison.palisade.push(palisade.block(effort).await);
                comparison.baseline.push(baseline.block(effort).await);
            }
        }
        comparison
    }

    /// palisade's figure in parts of the baseline's, for each pair of neighbours.
    pub(crate) fn ratios(&self) -> Vec<f64> {
        self.palisade.iter().zip(&self.baseline).map(|(ours, floor)| ours / floor).collect()
    }
}

/// The middle one; `NAN` of nothing.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// One task, pair after pair. The figure is the median in µs.
pub(crate) struct Latency<P> {
    pub(crate) who: P,
    /// Between two pairs, not measured.
    pub(crate) pause: Duration,
}

pub(crate) const NO_PAUSE: Duration = Duration::ZERO;

impl<P> Latency<P> {
    pub(crate) fn of(who: P) -> Self {
        Self { who, pause: NO_PAUSE }
    }
}

impl<P: Pair + Clone> Side for Latency<P> {
    async fn block(&mut self, effort: Effort) -> f64 {
        let (mut who, pause) = (self.who.clone(), self.pause);
        // A task of its own, as in a server: the main task of a multi-thread runtime is polled
        // outside its workers.
        let block = tokio::spawn(async move {
            let mut took = Vec::with_capacity(effort.pairs);
            for _ in 0..effort.pairs {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                let begun = Instant::now();
                who.pair().await;
                took.push(micros_since(begun));
            }
            median(&took)
        });
        block.await.expect("the block does not panic")
    }
}

/// Many tasks at once, each with a lock of its own. The figure is pairs a second.
pub(crate) struct Throughput<P>(pub(crate) Vec<P>);

impl<P: Pair + Clone> Side for Throughput<P> {
    async fn block(&mut self, effort: Effort) -> f64 {
        // As many pairs for all tasks together as make a block long enough to be timed.
        let each = effort.pairs / 10;
        let begun = Instant::now();
        let tasks = self.0.iter().map(|who| {
            let mut who = who.clone();
            tokio::spawn(async move {
                for _ in 0..each {
                    who.pair().await;
                }
            })
        });
        for task in join_all(tasks).await {
            task.expect("the block does not panic");
        }
        per_second(each * self.0.len(), begun)
    }
}

pub(crate) fn micros_since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e6
}

/// Units of work a second.
#[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
pub(crate) fn per_second(units: usize, begun: Instant) -> f64 {
    units as f64 / begun.elapsed().as_secs_f64()
}
