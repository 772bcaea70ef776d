//! What is done to the servers and to the workers. A fault is a value with a name.
//!
//! * `schedule`: which fault comes when and to whom, by the seed. Pure.
//! * `tracks`: carries a schedule out.

mod schedule;
mod tracks;

use std::{ops::Range, time::Duration};

pub(crate) use schedule::Schedule;
pub(crate) use tracks::{Interrupt, Interrupted, masters_track, workers_track};

/// A sort of fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    pub(crate) does: Deed,
    pub(crate) to: Whom,
    /// From the deed to its end; of each in turn.
    pub(crate) lasts: Range<Duration>,
}

/// What is done, and how it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deed {
    /// SIGSTOP, and SIGCONT in the end.
    Freeze,
    /// SIGKILL; in the end a new process that knows nothing.
    Kill,
    /// The server closes its clients' connections of this type. Over at once.
    Cut(&'static str),
}

/// To whom it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// So few masters that a majority is left.
    Minority,
    /// Just so many masters that no majority is left, all at once.
    Quorum,
    /// All masters, one after the other.
    EachInTurn,
    /// The same, once in a run, and each only when the vote of the one before counts again.
    EachAtLeisure,
    /// One worker.
    Worker,
}

impl Whom {
    /// How often such a fault must have come in a minute for the run to mean something.
    pub(crate) const fn least_a_minute(self) -> u64 {
        match self {
            Self::EachAtLeisure => 1,
            Self::Minority | Self::Quorum | Self::EachInTurn | Self::Worker => 3,
        }
    }
}

impl Fault {
    const fn new(name: &'static str, does: Deed, to: Whom, lasts: Range<Duration>) -> Self {
        Self { name, does, to, lasts }
    }
}

/// Every fault there is. A new one is a line here and, if it does something new, a [`Deed`].
///
/// Leases are 0.4 to 1 s. A killed master comes back at once and without its data, while the locks
/// that it has forgotten are held: its quarantine is what keeps them from being granted twice.
pub(crate) const TABLE: [Fault; 11] = [
    Fault::new("kill-at-leisure", Deed::Kill, Whom::EachAtLeisure, BRIEF),
    Fault::new("freeze-briefly", Deed::Freeze, Whom::Minority, BRIEF),
    Fault::new("freeze", Deed::Freeze, Whom::Minority, OUTLASTS_A_LEASE),
    Fault::new("kill", Deed::Kill, Whom::Minority, BRIEF),
    Fault::new("freeze-quorum", Deed::Freeze, Whom::Quorum, OUTLASTS_A_LEASE),
    Fault::new("kill-quorum", Deed::Kill, Whom::Quorum, BRIEF),
    Fault::new("kill-in-turn", Deed::Kill, Whom::EachInTurn, BRIEF),
    Fault::new("cut-commands", Deed::Cut("normal"), Whom::Minority, AT_ONCE),
    Fault::new("cut-subscriptions", Deed::Cut("pubsub"), Whom::Quorum, AT_ONCE),
    Fault::new("freeze-worker", Deed::Freeze, Whom::Worker, OUTLASTS_A_LEASE),
    Fault::new("kill-worker", Deed::Kill, Whom::Worker, BRIEF),
];

/// Shorter than any lease.
const BRIEF: Range<Duration> = ms(50)..ms(250);
/// Longer than the longest lease.
const OUTLASTS_A_LEASE: Range<Duration> = ms(1_100)..ms(1_400);
const AT_ONCE: Range<Duration> = ms(0)..ms(0);

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::LONGEST_LEASE;

    #[test]
    fn a_master_that_forgets_is_back_while_what_it_forgot_is_held() {
        let kills = TABLE.iter().filter(|fault| fault.does == Deed::Kill);
        for fault in kills {
            assert!(fault.lasts.end < LONGEST_LEASE / 2, "{}", fault.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let names: std::collections::HashSet<_> = TABLE.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }
}
