//! Random numbers that a seed fixes for ever.
//!
//! A seed in a report must replay years later, so this does not depend on a crate whose generators
//! may change: SplitMix64 (Steele, Lea, Flood 2014), which passes BigCrush and is ten lines.

use std::{ops::Range, time::Duration};

/// A stream of numbers.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for every path under one seed.
    pub fn branch(seed: u64, path: &[u32]) -> Self {
        let mut random = Self::new(seed);
        for step in path {
            random = Self::new(random.draw() ^ u64::from(*step));
        }
        random
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`, which is not zero. (Its bias is below 2^-40 for the limits here.)
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw() % limit
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// A duration in `range`, to the microsecond; its start if the range is empty.
    pub fn within(&mut self, range: &Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start).as_micros();
        let width = u64::try_from(width).unwrap_or(u64::MAX).max(1);
        range.start + Duration::from_micros(self.below(width))
    }

    /// One of `choices`, each as likely as its weight says.
    pub fn weighted<T: Copy>(&mut self, choices: &[(u32, T)]) -> T {
        let sum = choices.iter().map(|(weight, _)| u64::from(*weight)).sum();
        let mut left = self.below(sum);
        for (weight, choice) in choices {
            match left.checked_sub(u64::from(*weight)) {
                Some(rest) => left = rest,
                None => return *choice,
            }
        }
        unreachable!("a number below the sum of the weights falls to one of them")
    }

    /// Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1);
            items.swap(last, usize::try_from(other).unwrap_or(last));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let mut random = Random::new(1_234_567);
        let drawn = [random.draw(), random.draw(), random.draw()];
        assert_eq!(drawn, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn branches_differ() {
        let first = |path: &[u32]| Random::branch(7, path).draw();
        let all = [first(&[]), first(&[0]), first(&[1]), first(&[0, 1]), first(&[1, 0])];
        let distinct: std::collections::HashSet<_> = all.into_iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn weights_decide_how_often_a_choice_comes() {
        let mut random = Random::new(3);
        let mut came = [0; 3];
        for _ in 0..10_000 {
            came[random.weighted(&[(1, 0), (0, 1), (9, 2)])] += 1;
        }
        assert_eq!(came[1], 0);
        assert!((900..1_100).contains(&came[0]), "{came:?}");
    }

    #[test]
    fn shuffling_keeps_every_item() {
        let mut items: Vec<_> = (0..50).collect();
        Random::new(9).shuffle(&mut items);
        assert_ne!(items, (0..50).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..50).collect::<Vec<_>>());
    }
}
