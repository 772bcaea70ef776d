//! A fault, when it comes and what it strikes.

use std::time::Duration;

use super::Fault;

/// One fault that is going to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Planned {
    /// From the beginning of the run.
    pub(crate) begins: Duration,
    pub(crate) fault: &'static Fault,
    /// Masters, or places of workers: those of a group at once, one group after the other.
    pub(crate) victims: Vec<Vec<usize>>,
    /// Of each group.
    pub(crate) lasts: Duration,
    /// After each group.
    pub(crate) pause: Duration,
}

impl Planned {
    /// From the beginning of the run, if nothing is late.
    pub(super) fn ends(&self) -> Duration {
        self.victims.iter().fold(self.begins, |end, _| end + self.lasts + self.pause)
    }

    pub(super) fn strikes(&self, victim: usize, from: Duration, to: Duration) -> bool {
        self.begins <= to
            && from <= self.ends()
            && self.victims.iter().flatten().any(|v| *v == victim)
    }
}
