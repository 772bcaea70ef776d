//! How durations spread. Pure.

use std::{fmt, time::Duration};

/// How a lot of durations spread.
#[derive(Debug, PartialEq)]
pub struct Quantiles {
    pub count: usize,
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl Quantiles {
    /// By the nearest ranks.
    pub fn of(durations: impl IntoIterator<Item = Duration>) -> Self {
        let mut sorted: Vec<_> = durations.into_iter().collect();
        sorted.sort_unstable();
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
            sorted.get(rank).copied().unwrap_or_default()
        };
        Self { count: sorted.len(), p50: at(50), p99: at(99), max: at(100) }
    }
}

impl fmt::Display for Quantiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |duration: Duration| format!("{:.1} ms", duration.as_secs_f64() * 1e3);
        let [p50, p99, max] = [self.p50, self.p99, self.max].map(ms);
        write!(f, "p50 {p50} · p99 {p99} · worst {max} of {}", self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_the_nearest_ranks() {
        let of = |n| Quantiles::of((1..=n).rev().map(Duration::from_millis));
        let ms = Duration::from_millis;
        assert_eq!(of(200), Quantiles { count: 200, p50: ms(100), p99: ms(198), max: ms(200) });
        assert_eq!(of(1), Quantiles { count: 1, p50: ms(1), p99: ms(1), max: ms(1) });
        assert_eq!(of(0).max, Duration::ZERO);
    }
}
