//! What was seen: a simulation that never loses a quorum proves nothing about losing one.

use std::{collections::BTreeMap, fmt};

use checkers::{
    history::{Event, Refusal},
    time::Time,
};

/// How often each thing was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    pub(crate) fn count(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    /// Adds what another run has seen.
    pub fn add(&mut self, other: &Self) {
        for (what, count) in &other.0 {
            *self.0.entry(what).or_default() += count;
        }
    }

    /// How often this was seen.
    #[must_use]
    pub fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    /// What of this was never seen.
    pub fn missing(&self, wanted: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
        wanted.iter().copied().filter(|what| self.of(what) == 0)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, count) in &self.0 {
            writeln!(f, "{count:>12}  {what}")?;
        }
        Ok(())
    }
}

/// What is to be seen sometimes, and the history tells.
pub(crate) fn told_by(event: &Event, at: Time) -> Option<&'static str> {
    match event {
        Event::GaveUp { why: Refusal::Held, .. } => Some("refused: held by another"),
        Event::GaveUp { why: Refusal::Outage(_), .. } => Some("refused: outage"),
        Event::Counted { told: Some(_), .. } => Some("released: not the last guard"),
        Event::Orphaned { .. } => Some("orphaned"),
        Event::Withheld { .. } => Some("write withheld"),
        Event::TooOld { .. } => Some("write refused for its token"),
        Event::Wrote { deadline, .. } if at > *deadline => Some("write too late"),
        _ => None,
    }
}

/// What must be seen.
pub(crate) const SOMETIMES: [&str; 96] = [
    "downgraded",
    "fault: request lost",
    "fault: answer lost",
    "fault: answer delayed",
    "fault: reset before the request",
    "fault: reset after the request",
    "fault: request duplicated",
    "fault: request delayed",
    "fault: crash",
    "fault: crash with amnesia",
    "fault: silent crash",
    "fault: flush",
    "fault: change of roles",
    "fault: one right lost",
    "fault: rights lost",
    "fault: freeze",
    "fault: failover",
    "fault: failover, and back",
    "fault: passed over unawares",
    "fault: scripts forgotten",
    "fault: clock jump",
    "fault: partition",
    "fault: one-way partition",
    "fault: process paused",
    "fault: process killed",
    "fault: late watchdog",
    "fault: time of day set",
    "fault: future dropped",
    "fault: future dropped at a poll",
    "grant: Lock",
    "grant: MultiLock",
    "grant: RedLock",
    "grant: FencedLock",
    "grant: FencedMultiLock",
    "grant: FencedRedLock",
    "behind sentinels",
    "rolling restart",
    "held, and granted once more after a restart",
    "held, and granted once more after a failover",
    "storm",
    "late to lost data",
    "two users",
    "readers and writers",
    "queues",
    "locks that overlap in part",
    "semaphores",
    "latches",
    "latch: counted down",
    "latch: let through after waiting",
    "latch: deleted",
    "latch: changed or not",
    "grant: permits without a lease",
    "waits in a queue",
    "waits for its turn",
    "turn passed on",
    "passed on again and again",
    "passed on inside the process",
    "passed on at a drop",
    "waiter not polled",
    "offer withdrawn, and given back",
    "offer given back",
    "fault: reset amid a release",
    "phase 2: promoted",
    "phase 2: refused",
    "write refused for its token",
    "grant: with a minority down",
    "grant: re-entry",
    "grant: after waiting",
    "refused: held by another",
    "refused: outage",
    "refused: quarantine",
    "lost data noticed",
    "refused: lease",
    "refused: rights",
    "batch refused for a key",
    "acquires in one call",
    "acquires in one call: not all granted",
    "acquires in one call refused for a key",
    "refused: re-entry of what was lost",
    "released: not the last guard",
    "heal: asked",
    "lost: expired",
    "lost: gone",
    "lost: a member",
    "lost: the quorum",
    "paused past the deadline",
    "write withheld",
    "write too late",
    "stale acquire refused",
    "round rolled back",
    "release repeated",
    "release unconfirmed",
    "orphaned",
    "connection given up",
    "connected again",
    "progress without a minority",
];

/// What must be seen of runs about elections.
pub(crate) const OF_ELECTIONS: [&str; 21] = [
    "fault: request lost",
    "fault: answer lost",
    "fault: request duplicated",
    "fault: crash",
    "fault: freeze",
    "fault: scripts forgotten",
    "fault: clock jump",
    "fault: partition",
    "fault: process paused",
    "fault: process killed",
    "grant: FencedLock",
    "grant: FencedMultiLock",
    "grant: FencedRedLock",
    "grant: with a minority down",
    "lost: expired",
    "proclaimed",
    "not proclaimed",
    "observer: leader",
    "observer: none leads",
    "observer: stale",
    "observer: what it announced",
];

/// What must be seen of runs about guarded scripts.
pub(crate) const OF_GUARDED: [&str; 15] = [
    "fault: request lost",
    "fault: answer lost",
    "fault: request delayed",
    "fault: crash",
    "fault: freeze",
    "fault: scripts forgotten",
    "fault: clock jump",
    "fault: partition",
    "fault: process paused",
    "fault: process killed",
    "lost: expired",
    "passed on inside the process",
    "line: written",
    "line: not sent",
    "line: written or not",
];

/// What must be seen of runs about clients whose longest leases differ.
pub(crate) const OF_LEASES: [&str; 6] = [
    "fault: crash with amnesia",
    "fault: flush",
    "grant: RedLock",
    "looked before it asked",
    "lost: expired",
    "newcomer",
];

/// What must be seen of runs about periods.
pub(crate) const OF_PERIODS: [&str; 36] = [
    "fault: request lost",
    "fault: answer lost",
    "fault: answer delayed",
    "fault: reset before the request",
    "fault: reset after the request",
    "fault: request duplicated",
    "fault: request delayed",
    "fault: crash",
    "fault: silent crash",
    "fault: freeze",
    "fault: scripts forgotten",
    "fault: clock jump",
    "fault: partition",
    "fault: one-way partition",
    "fault: process paused",
    "fault: process killed",
    "fault: late watchdog",
    "fault: time of day set",
    "grant: Lock",
    "grant: MultiLock",
    "grant: RedLock",
    "grant: FencedLock",
    "grant: FencedMultiLock",
    "grant: FencedRedLock",
    "grant: with a minority down",
    "heal: asked",
    "lost: expired",
    "period: done",
    "period: done late",
    "period: dropped",
    "period: failed",
    "period: lost",
    "period: not begun",
    "period: not due",
    "period: unrecorded",
    "progress without a minority",
];
