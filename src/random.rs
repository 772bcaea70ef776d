//! Where chance comes from: jitter and phases, so that equals do not move in step.
//!
//! One source a process, seeded by the system. A simulation gives the seed and gets the same run
//! again, so no other code of the library may draw (but identities, which come from the system).

use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rand::{TryRng, rngs::SysRng};

/// SplitMix64 (Steele, Lea, Flood 2014): shared without a lock, and good enough for jitter.
#[derive(Debug)]
pub(crate) struct Random(AtomicU64);

/// The source as the rooms hand it around.
pub(crate) type SharedRandom = Arc<Random>;

impl Random {
    pub(crate) fn of_system() -> Self {
        // Not of the thread's generator: that goes on in every child of a fork as it would have here.
        Self::seeded(SysRng.try_next_u64().unwrap_or_else(|_| rand::random()))
    }

    pub(crate) const fn seeded(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        let mut mixed = self.0.fetch_add(GOLDEN, Ordering::Relaxed).wrapping_add(GOLDEN);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A duration in `range`, to the microsecond; its start if the range is empty.
    pub(crate) fn within(&self, range: Range<Duration>) -> Duration {
        let width = range.end.saturating_sub(range.start).as_micros();
        let width = u64::try_from(width).unwrap_or(u64::MAX).max(1);
        range.start + Duration::from_micros(self.next() % width)
    }

    /// A part of `whole`: at least half of it.
    pub(crate) fn most_of(&self, whole: Duration) -> Duration {
        self.within(whole / 2..whole)
    }
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let random = Random::seeded(1_234_567);
        let drawn = [random.next(), random.next(), random.next()];
        assert_eq!(drawn, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
    }

    #[test]
    fn durations_stay_in_their_range_and_reach_most_of_it() {
        let random = Random::seeded(1);
        let (from, to) = (Duration::from_millis(3), Duration::from_millis(5));
        let drawn: Vec<_> = (0..1_000).map(|_| random.within(from..to)).collect();
        assert!(drawn.iter().all(|drawn| (from..to).contains(drawn)));
        assert!(drawn.iter().max().unwrap() > &Duration::from_micros(4_950));
        assert!(drawn.iter().min().unwrap() < &Duration::from_micros(3_050));
        assert_eq!(random.within(to..from), to);
    }
}
