//! What is going to happen to each addition, by the seed. Pure.

use std::{ops::Range, time::Duration};

use crate::random::Random;

/// An addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PlannedAddition {
    pub(super) set: u32,
    /// From the read to the look before the write.
    pub(super) hold: Duration,
    pub(super) halt: Option<Halt>,
}

/// What stands still between the look and the write, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Halt {
    pub(super) what: Halted,
    pub(super) length: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halted {
    /// The caller's process.
    Process,
    /// All that is on its way from there to the server.
    Requests,
}

impl PlannedAddition {
    /// To one of `sets`. Of each hundred additions one is halted.
    pub(super) fn draw(seed: u64, number: u64, sets: &Range<u32>) -> Self {
        let mut random = Random::branch(seed, &[OF_ADDITIONS, index(number)]);
        let set = random.below(u64::from(sets.end - sets.start));
        let hold = random.within(&HOLD);
        let halt = halt(seed, number / OF_WHICH_ONE_IS_HALTED, number % OF_WHICH_ONE_IS_HALTED);
        Self { set: sets.start + index(set), hold, halt }
    }
}

/// By turns a process and what it has sent.
fn halt(seed: u64, hundred: u64, place: u64) -> Option<Halt> {
    let mut random = Random::branch(seed, &[OF_HALTS, index(hundred)]);
    if random.below(OF_WHICH_ONE_IS_HALTED) != place {
        return None;
    }
    let what = if hundred.is_multiple_of(2) { Halted::Process } else { Halted::Requests };
    Some(Halt { what, length: random.within(&HALT) })
}

fn index(number: u64) -> u32 {
    u32::try_from(number).expect("invariant: so many additions are never made")
}

pub(super) const OF_WHICH_ONE_IS_HALTED: u64 = 100;
const OF_ADDITIONS: u32 = 0;
const OF_HALTS: u32 = 1;
const HOLD: Range<Duration> = ms(0)..ms(20);
/// Longer than a lease.
const HALT: Range<Duration> = ms(2_500)..ms(10_000);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::lock_set::words::LEASE;

    fn planned(seed: u64, additions: Range<u64>) -> Vec<PlannedAddition> {
        additions.map(|number| PlannedAddition::draw(seed, number, &(8..16))).collect()
    }

    #[test]
    fn one_of_each_hundred_is_halted_for_longer_than_a_lease() {
        for hundred in 0..20 {
            let halts: Vec<_> = planned(7, hundred * 100..(hundred + 1) * 100)
                .into_iter()
                .filter_map(|planned| planned.halt)
                .collect();
            let what = [Halted::Process, Halted::Requests][usize::from(hundred % 2 == 1)];
            assert!(
                matches!(&halts[..], [halt] if halt.what == what && halt.length > LEASE),
                "{halts:?}"
            );
        }
    }

    #[test]
    fn seed_says_what_happens_and_all_sets_are_used() {
        let all = planned(7, 0..200);
        assert_eq!(all, planned(7, 0..200));
        assert_ne!(all, planned(8, 0..200));
        let mut sets: Vec<_> = all.iter().map(|planned| planned.set).collect();
        sets.sort_unstable();
        sets.dedup();
        assert_eq!(sets, (8..16).collect::<Vec<_>>());
    }
}
