//! What is contended for. Pure.

use serde::{Deserialize, Serialize};

use super::sorts::{BRISK, MIXED, QUEUED, SLOW, Sort};
use crate::history::Kind;

/// Which prizes a run has. Told to the workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Prizes {
    Masters,
    One,
    Cluster,
}

impl Prizes {
    pub(crate) const fn all(self) -> &'static [Prize] {
        match self {
            Self::Masters => &PRIZES,
            Self::One => &OF_ONE,
            Self::Cluster => &OF_CLUSTER,
        }
    }

    /// Each way of holding something, as the report names it.
    pub(crate) fn uses(self) -> impl Iterator<Item = String> {
        self.all()
            .iter()
            .flat_map(|prize| prize.what.ways().iter().map(|way| format!("{}{way}", prize.name)))
    }
}

/// What is contended for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Prize {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    pub(super) sorts: &'static [(u32, Sort)],
}

/// A lock or a semaphore, and the only master that it is on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum What {
    /// One holder at a time, on all masters; with tokens or not.
    Plain(Kind, bool),
    /// One holder at a time, on one master; with tokens or not.
    One(usize, bool),
    /// All of these names at once, on one master.
    Together(usize, [&'static str; 2]),
    /// Readers and writers, on all masters.
    Sides(Kind),
    /// Readers and writers, on one master.
    SidesOn(usize),
    Fair(usize),
    Permits(usize),
    LeasedPermits(usize),
    /// A new latch every second.
    Latches(usize),
    /// A job that is due now and then, under a lock on all masters.
    Job,
    /// An election, by a lock on all masters, which all workers follow.
    Led,
}

/// Of those on all masters two: one that is handed over all the time, and one that is held whenever a
/// fault strikes. Contenders of the one do not wait for the other. Those that change hands often have
/// fencing tokens, the others do without.
pub(crate) const PRIZES: [Prize; 13] = [
    Prize { name: "red-brisk", what: What::Plain(Kind::RedLock, true), sorts: &BRISK },
    Prize { name: "red-slow", what: What::Plain(Kind::RedLock, false), sorts: &SLOW },
    Prize { name: "multi-brisk", what: What::Plain(Kind::MultiLock, true), sorts: &BRISK },
    Prize { name: "multi-slow", what: What::Plain(Kind::MultiLock, false), sorts: &SLOW },
    Prize { name: "rw-red", what: What::Sides(Kind::RedLock), sorts: &MIXED },
    Prize { name: "rw-multi", what: What::Sides(Kind::MultiLock), sorts: &MIXED },
    Prize { name: "rw-single", what: What::SidesOn(1), sorts: &MIXED },
    Prize { name: "fair", what: What::Fair(0), sorts: &QUEUED },
    Prize { name: SEMAPHORE, what: What::Permits(2), sorts: &MIXED },
    Prize { name: LEASED_SEMAPHORE, what: What::LeasedPermits(2), sorts: &MIXED },
    Prize { name: "latches", what: What::Latches(0), sorts: &BRISK },
    Prize { name: "job", what: What::Job, sorts: &BRISK },
    Prize { name: "elected", what: What::Led, sorts: &MIXED },
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
            Self::Job | Self::Led => Kind::RedLock,
            Self::Together(..) => Kind::MultiLock,
            Self::One(..)
            | Self::SidesOn(_)
            | Self::Fair(_)
            | Self::Permits(_)
            | Self::LeasedPermits(_)
            | Self::Latches(_) => Kind::Lock,
        }
    }

    /// The master that it is on, if that is only one.
    pub(crate) const fn home(self) -> Option<usize> {
        match self {
            Self::Plain(..) | Self::Sides(_) | Self::Job | Self::Led => None,
            Self::One(home, _)
            | Self::Together(home, _)
            | Self::SidesOn(home)
            | Self::Fair(home)
            | Self::Permits(home)
            | Self::LeasedPermits(home)
            | Self::Latches(home) => Some(home),
        }
    }

    pub(crate) const fn has_sides(self) -> bool {
        matches!(self, Self::Sides(_) | Self::SidesOn(_))
    }

    /// Whether a holder that has it alone stands in one key of one server, as guarded calls look for it.
    pub(crate) const fn is_one_key(self) -> bool {
        matches!(self, Self::One(..) | Self::SidesOn(_) | Self::Fair(_))
    }

    /// What its holds are counted by, behind its name.
    pub(crate) const fn ways(self) -> &'static [&'static str] {
        match self {
            Self::Sides(_) | Self::SidesOn(_) => &[" read", " written", " downgraded"],
            Self::Latches(_) => &[" counted down", " let through"],
            _ => &[""],
        }
    }
}

/// Of a service whose master is replaced now and then. What has no lease may be off by what was not replicated,
/// so there is nothing of that kind. Nor is there a queue: it may be full of contenders that have left it on
/// the old master, and each of them keeps others waiting for more than 10 s.
const OF_ONE: [Prize; 6] = [
    Prize { name: "lock-brisk", what: What::One(0, false), sorts: &BRISK },
    Prize { name: "lock-slow", what: What::One(0, false), sorts: &SLOW },
    Prize { name: "fenced-brisk", what: What::One(0, true), sorts: &BRISK },
    Prize { name: "multi-brisk", what: What::Together(0, ["multi-a", "multi-b"]), sorts: &BRISK },
    Prize { name: "rw-single", what: What::SidesOn(0), sorts: &MIXED },
    Prize { name: LEASED_SEMAPHORE, what: What::LeasedPermits(0), sorts: &MIXED },
];

/// The same in a cluster, where little is lost, and so with a queue, in as many slots, some of them said by a part of the name.
const OF_CLUSTER: [Prize; 7] = [
    Prize { name: "lock-brisk", what: What::One(0, false), sorts: &BRISK },
    Prize { name: "lock-slow{1}", what: What::One(0, false), sorts: &SLOW },
    Prize { name: "fenced-{2}brisk", what: What::One(0, true), sorts: &BRISK },
    Prize { name: "multi-brisk", what: What::Together(0, ["multi-a", "multi-b"]), sorts: &BRISK },
    Prize { name: "{3}rw-single", what: What::SidesOn(0), sorts: &MIXED },
    Prize { name: "fair", what: What::Fair(0), sorts: &QUEUED },
    Prize { name: LEASED_SEMAPHORE, what: What::LeasedPermits(0), sorts: &MIXED },
];

/// What a prize is called on the servers.
pub(crate) fn names(prize: &Prize) -> Vec<&'static str> {
    match prize.what {
        What::Together(_, names) => names.to_vec(),
        _ => vec![prize.name],
    }
}
