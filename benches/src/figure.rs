//! What is read from blocks.

use crate::{block::Block, line::Better};

/// One of the numbers that every contest has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    P50,
    P99,
    P999,
    Rate,
    ClientCpu,
    ServerCpu,
    Slowest,
    Allocations,
    Bytes,
}

impl Figure {
    pub(crate) const TIMED: [Self; 7] = [
        Self::P50,
        Self::P99,
        Self::P999,
        Self::Rate,
        Self::ClientCpu,
        Self::ServerCpu,
        Self::Slowest,
    ];
    pub(crate) const COUNTED: [Self; 2] = [Self::Allocations, Self::Bytes];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50, µs",
            Self::P99 => "p99, µs",
            Self::P999 => "p99.9, µs",
            Self::Rate => "pairs/s",
            Self::ClientCpu => "client CPU, µs a pair",
            Self::ServerCpu => "server CPU, µs a pair",
            Self::Slowest => "slowest task / mean",
            Self::Allocations => "allocations a pair",
            Self::Bytes => "bytes allocated a pair",
        }
    }

    pub(crate) const fn better(self) -> Better {
        match self {
            Self::Rate | Self::Slowest => Better::More,
            _ => Better::Less,
        }
    }

    /// Whether one block is too short to tell.
    pub(crate) const fn is_of_all_blocks(self) -> bool {
        matches!(self, Self::P99 | Self::P999 | Self::Slowest)
    }

    /// The figure of one block, or of several that are seen as one.
    #[expect(clippy::cast_precision_loss, reason = "far fewer than 2^52")]
    pub(crate) fn of(self, block: &Block) -> f64 {
        let pairs = block.micros.len() as f64;
        match self {
            Self::P50 => quantile(&block.micros, 0.5),
            Self::P99 => quantile(&block.micros, 0.99),
            Self::P999 => quantile(&block.micros, 0.999),
            Self::Rate => pairs / block.took.as_secs_f64(),
            Self::ClientCpu => block.client_cpu.as_secs_f64() * 1e6 / pairs,
            Self::ServerCpu => block.server_cpu.as_secs_f64() * 1e6 / pairs,
            Self::Slowest => {
                let slowest = block.by_task.iter().min().copied().unwrap_or(0);
                f64::from(slowest) * block.by_task.len() as f64 / pairs
            }
            Self::Allocations => block.heap.allocations as f64 / pairs,
            Self::Bytes => block.heap.bytes as f64 / pairs,
        }
    }
}

impl Block {
    /// All blocks of a side as one.
    pub(crate) fn all(blocks: &[Self]) -> Self {
        let mut all = Self::default();
        for block in blocks {
            all.took += block.took;
            all.micros.extend(&block.micros);
            all.client_cpu += block.client_cpu;
            all.server_cpu += block.server_cpu;
            all.by_task.resize(block.by_task.len(), 0);
            for (sum, pairs) in all.by_task.iter_mut().zip(&block.by_task) {
                *sum += pairs;
            }
        }
        all
    }
}

/// `NAN` of nothing.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index far below 2^52"
)]
pub(crate) fn quantile(figures: &[f32], part: f64) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    let index = ((sorted.len() as f64 * part) as usize).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().map_or(f64::NAN, f64::from)
}

/// The middle one; `NAN` of nothing.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
