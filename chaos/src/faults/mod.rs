//! What is done to the servers and to the workers. A fault is a value with a name.
//!
//! * `stretches`: how a run is divided into dense and sparse minutes. Pure.
//! * `planned`: a fault, when it comes and what it strikes. Pure.
//! * `dealer`: deals those of one track, by the seed. Pure.
//! * `schedule`: which fault comes when and where in a run. Pure.
//! * `interrupt`: ends a run early.
//! * `tracks`: carries a schedule out.
//! * `deeds`: what is done to a master, and how it is taken back.

mod dealer;
mod deeds;
mod interrupt;
mod planned;
mod schedule;
mod stretches;
mod tracks;

use std::{ops::Range, time::Duration};

pub(crate) use interrupt::{Interrupt, Interrupted};
pub(crate) use planned::Planned;
pub(crate) use schedule::Schedule;
pub(crate) use stretches::{Pace, calm, stretches};
use testkit::{Fault as WireFault, Way};
pub(crate) use tracks::{masters_track, workers_track};

use crate::traffic::CLOCK_STEP_MS;

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
    /// On the way between workers and server.
    Wire(WireFault),
    /// Nothing passes any more on the connections that have subscriptions now, and neither end is
    /// told. Over at once: it is for the library to notice.
    HalfOpen,
    /// The server is told to be of no use, and in the end to be of use again; whether its data goes.
    Tell { begins: Commands, ends: Commands, forgets: bool },
    /// The server is made a replica of one without data, and in the end a master again.
    Demote,
    /// A script does not end, until it is killed.
    Spin,
    /// A snapshot cannot be saved, so nothing is written until none is wanted.
    FailToSave,
    /// Subscribers are sent more than the server keeps for them, and are dropped. Over at once.
    Overflow,
    /// The server's wall clock is set by so many milliseconds, and back in the end.
    StepClock(i64),
    /// The subscriber to a worker's events panics at each.
    Panic,
}

/// What is sent to a server, one after the other.
type Commands = &'static [&'static [&'static str]];

impl Deed {
    /// Whether a master cannot be expected to grant meanwhile; if so, whether it forgets.
    const fn downs(self) -> Option<bool> {
        match self {
            Self::Kill | Self::Demote => Some(true),
            Self::Tell { forgets, .. } => Some(forgets),
            Self::Freeze | Self::Wire(_) | Self::Spin | Self::FailToSave => Some(false),
            Self::Cut(_) | Self::HalfOpen | Self::Overflow | Self::StepClock(_) | Self::Panic => {
                None
            }
        }
    }

    /// Whether it is done to the process, and not to what goes on in it or on the way to it.
    const fn strikes_process(self) -> bool {
        matches!(self, Self::Freeze | Self::Kill | Self::Cut(_))
    }
}

/// What it is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// So few masters that a majority is left.
    Minority,
    /// Any number of masters, all at once.
    Some,
    /// Just so many masters that no majority is left, all at once.
    Quorum,
    /// All masters, one after the other.
    EachInTurn,
    /// The same, once in a dense stretch, and each only when the vote of the one before counts again.
    EachAtLeisure,
    /// One worker.
    Worker,
}

impl Whom {
    /// How often such a fault comes at least in a dense stretch, and must have come in a run of a minute
    /// for that to mean something.
    pub(crate) const fn least_a_minute(self) -> u64 {
        match self {
            Self::EachAtLeisure => 1,
            Self::Minority | Self::Some | Self::Quorum | Self::EachInTurn | Self::Worker => 3,
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
pub(crate) const TABLE: [Fault; 25] = [
    Fault::new("kill-at-leisure", Deed::Kill, Whom::EachAtLeisure, BRIEF),
    Fault::new("freeze-briefly", Deed::Freeze, Whom::Minority, BRIEF),
    Fault::new("freeze", Deed::Freeze, Whom::Minority, OUTLASTS_A_LEASE),
    Fault::new("kill", Deed::Kill, Whom::Minority, BRIEF),
    Fault::new("freeze-quorum", Deed::Freeze, Whom::Quorum, OUTLASTS_A_LEASE),
    Fault::new("kill-quorum", Deed::Kill, Whom::Quorum, BRIEF),
    Fault::new("kill-in-turn", Deed::Kill, Whom::EachInTurn, BRIEF),
    Fault::new("cut-commands", Deed::Cut("normal"), Whom::Minority, AT_ONCE),
    Fault::new("cut-subscriptions", Deed::Cut("pubsub"), Whom::Quorum, AT_ONCE),
    Fault::new("lost-replies", LOST_REPLIES, Whom::Some, A_WHILE),
    Fault::new("blackhole", BLACKHOLE, Whom::Some, A_WHILE),
    Fault::new("late-delivery", LATE_DELIVERY, Whom::Some, OUTLASTS_A_LEASE),
    Fault::new("half-open", Deed::HalfOpen, Whom::Quorum, AT_ONCE),
    Fault::new("overflow", Deed::Overflow, Whom::Quorum, AT_ONCE),
    Fault::new("flush", FLUSH, Whom::Quorum, AT_ONCE),
    Fault::new("demote", Deed::Demote, Whom::Some, A_WHILE),
    Fault::new("no-permission", NO_PERMISSION, Whom::Some, A_WHILE),
    Fault::new("pause", PAUSE, Whom::Some, A_WHILE),
    Fault::new("busy", Deed::Spin, Whom::Some, A_WHILE),
    Fault::new("misconf", Deed::FailToSave, Whom::Some, A_WHILE),
    Fault::new("out-of-memory", OUT_OF_MEMORY, Whom::Some, A_WHILE),
    Fault::new("step-clock", STEP_CLOCK, Whom::Minority, A_WHILE),
    Fault::new("freeze-worker", Deed::Freeze, Whom::Worker, OUTLASTS_A_LEASE),
    Fault::new("kill-worker", Deed::Kill, Whom::Worker, BRIEF),
    Fault::new("panic-in-worker", Deed::Panic, Whom::Worker, A_WHILE),
];

const LOST_REPLIES: Deed = Deed::Wire(WireFault::Blackhole(Way::Replies));
const BLACKHOLE: Deed = Deed::Wire(WireFault::Blackhole(Way::Both));
const LATE_DELIVERY: Deed = Deed::Wire(WireFault::Stall(Way::Both));
/// Nothing tells waiters that their lock is gone; one that has lost its subscription looks at once.
const FLUSH: Deed = Deed::Tell {
    begins: &[&["FLUSHALL"], &["CLIENT", "KILL", "TYPE", "pubsub"]],
    ends: &[],
    forgets: true,
};
const NO_PERMISSION: Deed = Deed::Tell {
    begins: &[&["ACL", "SETUSER", "default", "-eval", "-evalsha"]],
    ends: &[&["ACL", "SETUSER", "default", "+eval", "+evalsha"]],
    forgets: false,
};
/// Longer than it lasts: it is ended.
const PAUSE: Deed = Deed::Tell {
    begins: &[&["CLIENT", "PAUSE", "60000", "WRITE"]],
    ends: &[&["CLIENT", "UNPAUSE"]],
    forgets: false,
};
const OUT_OF_MEMORY: Deed = Deed::Tell {
    begins: &[&["CONFIG", "SET", "maxmemory", "1"]],
    ends: &[&["CONFIG", "SET", "maxmemory", "0"]],
    forgets: false,
};
/// Forward, so that keys end early, and back, so that they stay for longer.
const STEP_CLOCK: Deed = Deed::StepClock(CLOCK_STEP_MS);

/// Shorter than any lease.
const BRIEF: Range<Duration> = ms(50)..ms(250);
/// Part of a lease, and about the time after which an answer is not waited for any more.
const A_WHILE: Range<Duration> = ms(200)..ms(450);
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
