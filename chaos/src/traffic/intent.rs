//! What a contender is going to do next. Pure.

use std::{ops::Range, time::Duration};

use palisade::Lease;
use workload::{Ending, Intent};

use super::{
    prizes::{Prize, What},
    sorts::{Work, ms},
};
use crate::{history::Manner, random::Random};

pub(super) fn draw(prize: &Prize, random: &mut Random) -> Intent {
    let sort = random.weighted(prize.sorts);
    Intent {
        lease: if sort.renewed { RENEWED_LEASE } else { fixed_lease(random) },
        manner: random.weighted(&MANNERS),
        patience: random.within(&PATIENCE),
        work: random.within(&sort.work.lasts()),
        // In a run that is about that.
        blocks: sort.renewed && sort.work == Work::Long,
        reentries: random.weighted(&REENTRIES),
        ending: if random.one_in(ONE_DROP_IN) { Ending::Drop } else { Ending::Release },
        rest: random.within(&REST),
        announcements: if prize.what == What::Led { random.weighted(&ANNOUNCEMENTS) } else { 0 },
        downgrades: prize.what.has_sides() && random.one_in(ONE_DOWNGRADE_IN),
        calls: prize.what.is_one_key() && random.one_in(ONE_WITH_CALLS_IN),
        // Left to the simulation.
        polls: None,
        parks: None,
        as_owner: false,
        careless: false,
        inscriptions: 0,
        write: Duration::ZERO,
    }
}

fn fixed_lease(random: &mut Random) -> Lease {
    // Whole milliseconds, as the servers count.
    let fixed = random.within(&FIXED_LEASE).as_millis();
    Lease::Fixed(Duration::from_millis(u64::try_from(fixed).unwrap_or(u64::MAX)))
}

/// The longest lease that is asked for: the renewed one.
pub(crate) const LONGEST_LEASE_MS: u64 = 1_000;
pub(crate) const LONGEST_LEASE: Duration = Duration::from_millis(LONGEST_LEASE_MS);
/// All clocks are one machine's, but for the steps that masters' take.
const CLOCK_SKEW_MS: u64 = 250;
pub(super) const CLOCK_SKEW: Duration = ms(CLOCK_SKEW_MS);
/// By how much a master's clock is set: less than the skew, more than drift explains.
pub(crate) const CLOCK_STEP_MS: i64 = 200;
/// For how long a master that was started, or has lost its data, keeps out of votes: the longest
/// lease and 1 % of drift, a second for the precision of its uptime, and the clocks.
pub(crate) const QUARANTINE_MS: u64 = LONGEST_LEASE_MS * 101 / 100 + 1_000 + CLOCK_SKEW_MS;
const RENEWED_LEASE: Lease = Lease::WatchdogOf(LONGEST_LEASE);
/// Leases that are not renewed.
const FIXED_LEASE: Range<Duration> = ms(400)..ms(801);

const MANNERS: [(u32, Manner); 5] = [
    (50, Manner::Patient),
    (15, Manner::FailFast),
    (20, Manner::Limited),
    (5, Manner::Once),
    (10, Manner::Dropped),
];
const PATIENCE: Range<Duration> = ms(1)..ms(500);
const REENTRIES: [(u32, u32); 3] = [(6, 0), (1, 1), (1, 2)];
const ANNOUNCEMENTS: [(u32, u32); 3] = [(1, 0), (2, 1), (1, 3)];
const ONE_DROP_IN: u64 = 8;
const ONE_DOWNGRADE_IN: u64 = 2;
const ONE_WITH_CALLS_IN: u64 = 2;
const REST: Range<Duration> = ms(0)..ms(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{history::Kind, traffic::prizes::PRIZES};

    fn draw(prize: &Prize, seed: u64) -> Vec<Intent> {
        let mut random = Random::new(seed);
        (0..1_000).map(|_| super::draw(prize, &mut random)).collect()
    }

    #[test]
    fn a_seed_fixes_the_intents() {
        let [prize, ..] = &PRIZES;
        assert_eq!(draw(prize, 7), draw(prize, 7));
        assert_ne!(draw(prize, 7), draw(prize, 8));
    }

    #[test]
    fn every_manner_lease_work_and_ending_comes_up() {
        for kind in [Kind::RedLock, Kind::MultiLock] {
            let prizes = PRIZES.iter().filter(|prize| prize.what.kind() == kind);
            let intents: Vec<_> = prizes.flat_map(|prize| draw(prize, 1)).collect();
            let comes_up = |what: &dyn Fn(&Intent) -> bool| intents.iter().any(what);
            for (_, manner) in MANNERS {
                assert!(comes_up(&|intent| intent.manner == manner), "{manner:?}");
            }
            for work in [Work::Short, Work::Long, Work::Endless] {
                assert!(comes_up(&|intent| work.lasts().contains(&intent.work)), "{work:?}");
            }
            for (_, reentries) in REENTRIES {
                assert!(comes_up(&|intent| intent.reentries == reentries), "{reentries}");
            }
            for renewed in [true, false] {
                assert!(comes_up(
                    &|intent| intent.ending == Ending::Drop && intent.is_renewed() == renewed
                ));
            }
        }
    }

    #[test]
    fn no_lease_is_longer_than_the_longest() {
        let longest =
            PRIZES.iter().flat_map(|prize| draw(prize, 2)).map(|intent| match intent.lease {
                Lease::Fixed(lease) | Lease::WatchdogOf(lease) => lease,
                other => panic!("{other:?} is not drawn"),
            });
        assert_eq!(longest.max(), Some(LONGEST_LEASE));
    }
}
