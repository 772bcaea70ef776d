//! What must hold in every history. Pure: nothing here looks at a clock, a server or a file.
//!
//! * `exclusion` (I1): no two holders hold the same.
//! * `tokens` (I2): fencing tokens grow.
//! * `updates` (I3): no write made within a hold is lost.
//! * `wakeups` (I4): no waiter waits long for a lock that is free.
//! * `detection` (I5): a loss is noticed by the deadline.
//! * `ghosts` (I6): what comes too late changes nothing.
//! * `leaks` (I6): nothing stays behind.
//! * `progress` (I7): nothing hangs.
//! * `reentry` (I8): counts of re-entries balance.
//! * `coverage` (I9): the run has seen enough to mean something. Not a property of the locks; the
//!   simulation has a list of its own.
//! * `fairness` (I10): one process does not keep a lock to itself.
//! * `order` (I11): nothing is granted behind the release of its hold.
//! * `queue` (I12): locks with a queue are granted in its order.
//! * `permits` (I13): no more permits are held than there are.
//! * `latches` (I14): a latch counts each count once, and lets through at zero and not before.
//! * `periods` (I15): no period has two recorded runs, and each that was asked for undisturbed has one.
//! * `elections` (I16): what is shown of the leader never goes back, and was announced.
//! * `inscriptions` (I17): what a guarded script writes is written while its hold stands, and once.
//! * `guarded_calls` (I17): a guarded call is executed while its hold stands there, and never behind one of a later hold.
//! * `promise`: what was never promised, and excuses the first two.
//! * `undisturbed`: where nothing breaks, no lock that is renewed is lost.
//! * `conduct`: the workers ended as they should and met only errors that the faults explain.

pub mod conduct;
pub mod coverage;
pub mod detection;
mod elections;
pub mod exclusion;
mod fairness;
mod ghosts;
pub mod guarded_calls;
mod inscriptions;
mod latches;
pub mod leaks;
mod order;
mod periods;
mod permits;
pub mod progress;
mod promise;
mod queue;
pub mod reentry;
#[cfg(any(test, feature = "stories"))]
pub mod story;
pub mod tokens;
mod undisturbed;
pub mod updates;
pub mod wakeups;

use std::fmt;

use crate::{history::History, spans::Span};

/// Something that must never happen has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub invariant: Invariant,
    /// The lock, if it is about one.
    pub lock: Option<String>,
    /// All that matters for it.
    pub span: Span,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: crate::time::Time| time.as_micros() / 1_000;
        let (from, to) = (ms(self.span.from), ms(self.span.to));
        write!(f, "{}: {} (from {from} to {to} ms)", self.invariant, self.what)
    }
}

/// The invariants, numbered as where they are argued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    Exclusion,
    Tokens,
    NoLostUpdate,
    NoLostWakeUp,
    Detection,
    NoLeak,
    NoGhost,
    Progress,
    Reentry,
    Fairness,
    Order,
    Queue,
    Permits,
    Latches,
    Periods,
    Elections,
    Guarded,
    Kept,
    Conduct,
}

impl fmt::Display for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exclusion => "I1 exclusion",
            Self::Tokens => "I2 tokens",
            Self::NoLostUpdate => "I3 no lost update",
            Self::NoLostWakeUp => "I4 no lost wake-up",
            Self::Detection => "I5 bounded detection",
            Self::NoLeak => "I6 no leak",
            Self::NoGhost => "I6 no ghost",
            Self::Progress => "I7 progress",
            Self::Reentry => "I8 re-entry",
            Self::Fairness => "I10 fairness",
            Self::Order => "I11 order",
            Self::Queue => "I12 queue",
            Self::Permits => "I13 permits",
            Self::Latches => "I14 latches",
            Self::Periods => "I15 periods",
            Self::Elections => "I16 elections",
            Self::Guarded => "I17 guarded scripts",
            Self::Kept => "kept while nothing breaks",
            Self::Conduct => "conduct of the workers",
        })
    }
}

/// All violations, in the order of time.
pub fn violations(history: &History) -> Vec<Violation> {
    let mut found = exclusion::check(history);
    found.extend(tokens::check(history));
    found.extend(updates::check(history));
    found.extend(wakeups::check(history));
    found.extend(detection::check(history));
    found.extend(leaks::check(history));
    found.extend(ghosts::check(history));
    found.extend(progress::check(history));
    found.extend(reentry::check(history));
    found.extend(fairness::check(history));
    found.extend(order::check(history));
    found.extend(queue::check(history));
    found.extend(permits::check(history));
    found.extend(latches::check(history));
    found.extend(periods::check(history));
    found.extend(elections::check(history));
    found.extend(inscriptions::check(history));
    found.extend(guarded_calls::check(history));
    found.extend(undisturbed::check(history));
    found.extend(conduct::check(history));
    found.sort_by_key(|violation| (violation.span.from, violation.invariant));
    found
}
