//! Whole numbers, counted by their size where they come, without a lock or an allocation.

use std::sync::atomic::{AtomicU32, Ordering};

/// Up to [`EXACT`] each number has a place of its own. Above that each doubling has 32 places, so a number is told too
/// small by 3 % at most.
pub(super) struct NumberCounts(Box<[AtomicU32]>);

impl Default for NumberCounts {
    fn default() -> Self {
        Self((0..PLACES).map(|_| AtomicU32::new(0)).collect())
    }
}

impl NumberCounts {
    pub(super) fn note(&self, number: u64) {
        if let Some(times) = self.0.get(place(number)) {
            times.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Hands over what was noted since the last time: each number, and how often it came.
    pub(super) fn hand_over(&self, mut to: impl FnMut(u64, usize)) {
        for (place, times) in self.0.iter().enumerate() {
            if times.load(Ordering::Relaxed) > 0 {
                to(least_at(place), times.swap(0, Ordering::Relaxed) as usize);
            }
        }
    }
}

fn place(number: u64) -> usize {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    if number < EXACT {
        return number as usize;
    }
    let (doublings, rest) = (number.ilog2(), number >> (number.ilog2() - STEP_BITS));
    (EXACT + (doublings - EXACT_BITS) * STEPS + (rest - STEPS)) as usize
}

/// The least number that has this place.
const fn least_at(place: usize) -> u64 {
    let (place, exact, steps) = (place as u64, EXACT as u64, STEPS as u64);
    if place < exact {
        return place;
    }
    let (doublings, rest) = ((place - exact) / steps, (place - exact) % steps);
    (steps + rest) << (doublings + 1)
}

const EXACT_BITS: u32 = 6;
const EXACT: u32 = 1 << EXACT_BITS;
const STEP_BITS: u32 = 5;
const STEPS: u32 = 1 << STEP_BITS;
const PLACES: u32 = EXACT + (u32::BITS - EXACT_BITS) * STEPS;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(counts: &NumberCounts) -> Vec<(u64, usize)> {
        let mut told = Vec::new();
        counts.hand_over(|number, times| told.push((number, times)));
        told
    }

    #[test]
    fn numbers_are_told_once_and_no_more_than_3_percent_too_small() {
        let counts = NumberCounts::default();
        let numbers = (0..200).chain((1..31).flat_map(|bits| {
            let near = 1_u64 << bits;
            [near - 1, near, near + 1, near + near / 3]
        }));
        for number in numbers.chain([u64::from(u32::MAX)]) {
            counts.note(number);
            let [(least, 1)] = told(&counts)[..] else { panic!("{number} was told otherwise") };
            assert!(least <= number && (number - least) * 32 <= number, "{number} as {least}");
            assert!(number > 64 || least == number, "sizes of batches are exact: {number}");
            assert_eq!(told(&counts), []);
        }
    }

    #[test]
    fn so_often_as_it_came_and_the_greatest_for_all_above() {
        let counts = NumberCounts::default();
        (0..1_000).for_each(|_| counts.note(7));
        [u64::from(u32::MAX), u64::MAX].iter().for_each(|number| counts.note(*number));
        assert_eq!(told(&counts), [(7, 1_000), (63 << 26, 2)]);
    }
}
