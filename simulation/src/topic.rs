//! What all of a run is about, if it was asked for by name. Pure.

use crate::{
    coverage::{OF_ELECTIONS, OF_GUARDED, OF_LEASES, OF_PERIODS, SOMETIMES},
    plan::Plan,
};

/// What a run is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Topic {
    /// Whatever the seed decides.
    #[default]
    Any,
    /// Jobs that are due once a minute.
    Periods,
    /// Which candidate leads.
    Elections,
    /// Scripts that a server executes only while a lock is held.
    Guarded,
    /// Clients whose longest leases differ, and servers that lose their data.
    Leases,
}

impl Topic {
    /// Those that are asked for by name, with the name.
    pub const NAMED: [(Self, &'static str); 4] = [
        (Self::Periods, "--periods"),
        (Self::Elections, "--elections"),
        (Self::Guarded, "--guarded"),
        (Self::Leases, "--leases"),
    ];

    pub(crate) fn plan(self, seed: u64) -> Plan {
        match self {
            Self::Any => Plan::of(seed),
            Self::Periods => Plan::of_periods(seed),
            Self::Elections => Plan::of_elections(seed),
            Self::Guarded => Plan::of_guarded(seed),
            Self::Leases => Plan::of_leases(seed),
        }
    }

    /// What must be seen in many runs.
    pub(crate) const fn sometimes(self) -> &'static [&'static str] {
        match self {
            Self::Any => &SOMETIMES,
            Self::Periods => &OF_PERIODS,
            Self::Elections => &OF_ELECTIONS,
            Self::Guarded => &OF_GUARDED,
            Self::Leases => &OF_LEASES,
        }
    }
}
