//! What must hold in every history. Pure: nothing here looks at a clock, a server or a file.
//!
//! * `exclusion` (I1): nobody holds what another holds.
//! * `updates` (I3, without tokens): no write made within a hold is lost.
//! * `wakeups` (I4): nobody waits long for a lock that is free.
//! * `detection` (I5): a loss is noticed by the deadline.
//! * `leaks` (I6): nothing stays behind.
//! * `conduct`: the workers ended as they should and met only errors that the faults explain.
//! * `coverage`: the run has seen enough to mean something. Not a property of the locks.

pub(crate) mod conduct;
pub(crate) mod coverage;
pub(crate) mod detection;
pub(crate) mod exclusion;
pub(crate) mod leaks;
#[cfg(test)]
pub(crate) mod story;
pub(crate) mod updates;
pub(crate) mod wakeups;

use std::fmt;

use crate::{history::History, spans::Span};

/// Something that must never happen has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    /// The lock, if it is about one.
    pub(crate) lock: Option<String>,
    /// All that matters for it.
    pub(crate) span: Span,
    pub(crate) what: String,
}

/// The invariants, numbered as where they are argued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Invariant {
    Exclusion,
    NoLostUpdate,
    NoLostWakeUp,
    Detection,
    NoLeak,
    Conduct,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusion => "I1 exclusion",
            Self::NoLostUpdate => "I3 no lost update",
            Self::NoLostWakeUp => "I4 no lost wake-up",
            Self::Detection => "I5 bounded detection",
            Self::NoLeak => "I6 no leak",
            Self::Conduct => "conduct of the workers",
        })
    }
}

/// All violations, in the order of time.
pub(crate) fn violations(history: &History) -> Vec<Violation> {
    let mut found = exclusion::check(history);
    found.extend(updates::check(history));
    found.extend(wakeups::check(history));
    found.extend(detection::check(history));
    found.extend(leaks::check(history));
    found.extend(conduct::check(history));
    found.sort_by_key(|violation| (violation.span.from, violation.invariant));
    found
}
