//! Jobs that are to run once for a period, or so often at most, on whichever machine comes first.

use std::time::Duration;

use palisade::{Lease, any::BoxLock};

use crate::target::Target;

/// A job, by the lock under which it runs.
#[derive(Debug, Clone)]
pub struct Job {
    /// What its lock is, as far as the history is concerned.
    pub target: Target,
    pub lock: BoxLock,
}

/// What a lane is to do of it.
#[derive(Debug, Clone)]
pub struct Errand {
    /// By the schedule: the same for all lanes.
    pub period: String,
    /// If it is due not once for the period, but so long after the last start.
    pub every: Option<Duration>,
    pub lease: Lease,
    pub work: Duration,
    /// How long what it writes is on its way.
    pub write: Duration,
    /// Whether its work ends with an error.
    pub fails: bool,
    /// If there is one, it is not waited for any longer.
    pub patience: Option<Duration>,
}
