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
    /// One worker.
    Worker,
}

impl Fault {
    const fn new(name: &'static str, does: Deed, to: Whom, lasts: Range<Duration>) -> Self {
        Self { name, does, to, lasts }
    }
}

/// Every fault there is. A new one is a line here and, if it does something new, a [`Deed`].
///
/// Leases are 0.4 to 1 s. A killed master comes back without its data, and only when every lease
/// that it knew of is over: that a master which has forgotten a *live* lease must not vote is not
/// in the library yet.
pub(crate) const TABLE: [Fault; 10] = [
    Fault::new("freeze-briefly", Deed::Freeze, Whom::Minority, BRIEF),
    Fault::new("freeze", Deed::Freeze, Whom::Minority, OUTLASTS_A_LEASE),
    Fault::new("kill", Deed::Kill, Whom::Minority, OUTLASTS_A_LEASE),
    Fault::new("freeze-quorum", Deed::Freeze, Whom::Quorum, OUTLASTS_A_LEASE),
    Fault::new("kill-quorum", Deed::Kill, Whom::Quorum, OUTLASTS_A_LEASE),
    Fault::new("kill-in-turn", Deed::Kill, Whom::EachInTurn, OUTLASTS_A_LEASE),
    Fault::new("cut-commands", Deed::Cut("normal"), Whom::Minority, AT_ONCE),
    Fault::new("cut-subscriptions", Deed::Cut("pubsub"), Whom::Quorum, AT_ONCE),
    Fault::new("freeze-worker", Deed::Freeze, Whom::Worker, OUTLASTS_A_LEASE),
    Fault::new("kill-worker", Deed::Kill, Whom::Worker, BRIEF),
];

/// Shorter than any lease.
const BRIEF: Range<Duration> = ms(50)..ms(250);
/// Longer than the longest lease, by a margin for the servers' clocks.
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
    fn a_master_that_forgets_stays_away_for_the_longest_lease() {
        let kills = TABLE.iter().filter(|fault| fault.does == Deed::Kill);
        for fault in kills.filter(|fault| fault.to != Whom::Worker) {
            assert!(fault.lasts.start > LONGEST_LEASE, "{}", fault.name);
        }
    }

    #[test]
    fn names_are_distinct() {
        let names: std::collections::HashSet<_> = TABLE.iter().map(|fault| fault.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }
}
