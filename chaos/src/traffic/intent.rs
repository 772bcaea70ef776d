//! What a contender is going to do next. Pure.

use std::{ops::Range, time::Duration};

use palisade::Lease;
use workload::{Ending, Intent};

use crate::{
    history::{Kind, Manner},
    random::Random,
};

/// A lock that is contended for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prize {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) fenced: bool,
    sorts: &'static [(u32, Sort)],
}

/// Two for each kind: one that is handed over all the time, and one that is held whenever a fault
/// strikes. Contenders of the one do not wait for the other. Those that change hands often have
/// fencing tokens, the others do without.
pub(super) const PRIZES: [Prize; 4] = [
    Prize { name: "red-brisk", kind: Kind::RedLock, fenced: true, sorts: &BRISK },
    Prize { name: "red-slow", kind: Kind::RedLock, fenced: false, sorts: &SLOW },
    Prize { name: "multi-brisk", kind: Kind::MultiLock, fenced: true, sorts: &BRISK },
    Prize { name: "multi-slow", kind: Kind::MultiLock, fenced: false, sorts: &SLOW },
];

/// A sort of section.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sort {
    renewed: bool,
    work: Work,
}

/// How long a section works between reading and writing.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Work {
    Short,
    /// Long enough to be renewed, and to outlast a fixed lease.
    Long,
    /// Long enough to see several faults come and go.
    Endless,
}

const BRISK: [(u32, Sort); 3] = [
    (199, Sort { renewed: true, work: Work::Short }),
    (199, Sort { renewed: false, work: Work::Short }),
    (2, Sort { renewed: false, work: Work::Long }),
];
const SLOW: [(u32, Sort); 4] = [
    (34, Sort { renewed: true, work: Work::Short }),
    (25, Sort { renewed: true, work: Work::Long }),
    (25, Sort { renewed: false, work: Work::Long }),
    (16, Sort { renewed: true, work: Work::Endless }),
];

impl Work {
    fn lasts(self) -> Range<Duration> {
        match self {
            Self::Short => ms(0)..ms(3),
            Self::Long => ms(300)..ms(1_500),
            Self::Endless => ms(3_000)..ms(6_000),
        }
    }
}

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
        // Left to the simulation.
        polls: None,
        parks: None,
        as_owner: false,
        careless: false,
        write: Duration::ZERO,
    }
}

fn fixed_lease(random: &mut Random) -> Lease {
    // Whole milliseconds, as the servers count.
    let fixed = random.within(&FIXED_LEASE).as_millis();
    Lease::Fixed(Duration::from_millis(u64::try_from(fixed).unwrap_or(u64::MAX)))
}

/// The longest lease that anybody asks for: the renewed one.
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
/// Leases that nobody renews.
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
const ONE_DROP_IN: u64 = 8;
const REST: Range<Duration> = ms(0)..ms(10);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        for kind in Kind::ALL {
            let prizes = PRIZES.iter().filter(|prize| prize.kind == kind);
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
