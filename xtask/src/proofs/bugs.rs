//! The bugs that can be planted, as the library lists them.

#[macro_use]
#[path = "../../../src/planted/list.rs"]
mod list;

/// What is known of a bug.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlantedBug {
    /// What `planted!(…)` asks for.
    pub(crate) variant: &'static str,
    /// What it is called in `PALISADE_PLANTED`.
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// Names of invariants.
    pub(crate) breaks: &'static [&'static str],
    pub(crate) finder: Finder,
}

/// What looks for a bug, and finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finder {
    /// The simulation: which one, its check, and after how many seeds in one run.
    Simulation { of: Option<&'static str>, check: &'static str, seeds: u64 },
    /// The tests with this in their name.
    Test(&'static str),
    /// Chaos with processes that block their runtimes: its check, and after how many seconds.
    Blocking { check: &'static str, secs: u64 },
}

const fn simulation(check: &'static str, seeds: u64) -> Finder {
    Finder::Simulation { of: None, check, seeds }
}

const fn periods(check: &'static str, seeds: u64) -> Finder {
    Finder::Simulation { of: Some("--periods"), check, seeds }
}

const fn guarded(check: &'static str, seeds: u64) -> Finder {
    Finder::Simulation { of: Some("--guarded"), check, seeds }
}

const fn leases(check: &'static str, seeds: u64) -> Finder {
    Finder::Simulation { of: Some("--leases"), check, seeds }
}

const fn test(filter: &'static str) -> Finder {
    Finder::Test(filter)
}

const fn chaos_blocking(check: &'static str, secs: u64) -> Finder {
    Finder::Blocking { check, secs }
}

macro_rules! entries {
    ($(
        $bug:ident = $name:literal: $what:literal
            breaks [$($invariant:literal),*], found by $finder:ident($($found:tt)*);
    )*) => {
        /// All of them, in the order of the list.
        pub(crate) const BUGS: &[PlantedBug] = &[$(PlantedBug {
            variant: stringify!($bug),
            name: $name,
            what: $what,
            breaks: &[$($invariant),*],
            finder: $finder($($found)*),
        }),*];
    };
}

every_bug!(entries);
