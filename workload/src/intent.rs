//! What a lane is going to do next. Pure.

use std::time::Duration;

use checkers::history::Manner;
use palisade::Lease;

/// One section, before it is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intent {
    pub lease: Lease,
    pub manner: Manner,
    /// For `Limited` and `Dropped`: how long to wait at most.
    pub patience: Duration,
    /// For `Dropped`: after so many polls, in place of a time.
    pub polls: Option<u64>,
    /// For how long a patient one is not polled, after so many polls.
    pub parks: Option<(u64, Duration)>,
    /// Whether a patient one asks, and enters again, as the owner that its lane is.
    pub as_owner: bool,
    /// How often the lock is entered again.
    pub reentries: u32,
    /// Whether what it has alone it shares in the end, if it can.
    pub downgrades: bool,
    /// How often it announces something, if it leads.
    pub announcements: u32,
    /// How many lines it has the server write beside the lock, if that has a token.
    pub inscriptions: u32,
    /// Whether it has the server execute guarded calls beside its work, of a lock on one server that it has alone.
    pub calls: bool,
    /// Does not listen to `lost()`, and asks only right before the write.
    pub careless: bool,
    /// What the section takes between reading and writing.
    pub work: Duration,
    /// Whether it blocks its runtime meanwhile.
    pub blocks: bool,
    /// How long the write is on its way to the store.
    pub write: Duration,
    pub ending: Ending,
    /// Before the next section.
    pub rest: Duration,
}

impl Intent {
    #[must_use]
    pub const fn is_renewed(&self) -> bool {
        !matches!(self.lease, Lease::Fixed(_))
    }
}

/// How the last guard is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Release,
    Drop,
    /// A release whose future is dropped after so many polls.
    HalfRelease(u64),
    Orphan,
}
