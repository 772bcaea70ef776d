//! What a contender is going to do next. Pure.

use std::{ops::Range, time::Duration};

use palisade::Lease;
use workload::{Ending, Intent};

use crate::{
    history::{Kind, Manner},
    random::Random,
};

/// What is contended for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prize {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    sorts: &'static [(u32, Sort)],
}

/// A lock or a semaphore, and the only master that it is on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum What {
    /// One holder at a time, on all masters; with tokens or not.
    Plain(Kind, bool),
    /// Readers and writers, on all masters or on the second.
    Sides(Kind),
    Fair(usize),
    Permits(usize),
    LeasedPermits(usize),
    /// A new latch every second.
    Latches(usize),
}

/// Of those on all masters two: one that is handed over all the time, and one that is held whenever a
/// fault strikes. Contenders of the one do not wait for the other. Those that change hands often have
/// fencing tokens, the others do without.
pub(crate) const PRIZES: [Prize; 11] = [
    Prize { name: "red-brisk", what: What::Plain(Kind::RedLock, true), sorts: &BRISK },
    Prize { name: "red-slow", what: What::Plain(Kind::RedLock, false), sorts: &SLOW },
    Prize { name: "multi-brisk", what: What::Plain(Kind::MultiLock, true), sorts: &BRISK },
    Prize { name: "multi-slow", what: What::Plain(Kind::MultiLock, false), sorts: &SLOW },
    Prize { name: "rw-red", what: What::Sides(Kind::RedLock), sorts: &MIXED },
    Prize { name: "rw-multi", what: What::Sides(Kind::MultiLock), sorts: &MIXED },
    Prize { name: "rw-single", what: What::Sides(Kind::Lock), sorts: &MIXED },
    Prize { name: "fair", what: What::Fair(0), sorts: &QUEUED },
    Prize { name: SEMAPHORE, what: What::Permits(2), sorts: &MIXED },
    Prize { name: LEASED_SEMAPHORE, what: What::LeasedPermits(2), sorts: &MIXED },
    Prize { name: "latches", what: What::Latches(0), sorts: &BRISK },
];
pub(crate) const SEMAPHORE: &str = "permits";
pub(crate) const LEASED_SEMAPHORE: &str = "leased-permits";
/// To how much a latch is set at most: about what is counted down in a second.
pub(crate) const MOST_COUNTED: u64 = 40;
/// How many permits each of them has.
pub(crate) const PERMITS: u32 = 3;

impl What {
    /// Which votes are counted.
    pub(crate) const fn kind(self) -> Kind {
        match self {
            Self::Plain(kind, _) | Self::Sides(kind) => kind,
            Self::Fair(_) | Self::Permits(_) | Self::LeasedPermits(_) | Self::Latches(_) => {
                Kind::Lock
            }
        }
    }

    /// The master that it is on, if that is only one.
    pub(crate) const fn home(self) -> Option<usize> {
        match self {
            Self::Sides(Kind::Lock) => Some(1),
            Self::Plain(..) | Self::Sides(_) => None,
            Self::Fair(home)
            | Self::Permits(home)
            | Self::LeasedPermits(home)
            | Self::Latches(home) => Some(home),
        }
    }
}

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
    /// Several wait meanwhile.
    Brief,
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

/// Of what several may hold at once.
const MIXED: [(u32, Sort); 4] = [
    (45, Sort { renewed: true, work: Work::Brief }),
    (45, Sort { renewed: false, work: Work::Brief }),
    (5, Sort { renewed: true, work: Work::Long }),
    (5, Sort { renewed: false, work: Work::Long }),
];
/// Of what only one may, while all others stand in line.
const QUEUED: [(u32, Sort); 3] = [
    (49, Sort { renewed: true, work: Work::Brief }),
    (49, Sort { renewed: false, work: Work::Brief }),
    (2, Sort { renewed: false, work: Work::Long }),
];

impl Work {
    fn lasts(self) -> Range<Duration> {
        match self {
            Self::Short => ms(0)..ms(3),
            Self::Brief => ms(3)..ms(60),
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
        downgrades: matches!(prize.what, What::Sides(_)) && random.one_in(ONE_DOWNGRADE_IN),
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
const ONE_DOWNGRADE_IN: u64 = 2;
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
