//! One event, and its line of text.

use std::{fmt, io, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// An event and when it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) at: Time,
    #[serde(flatten)]
    pub(crate) event: Event,
}

impl Record {
    /// The line, with its end.
    pub(crate) fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("invariant: a record is plain data");
        line.push('\n');
        line
    }

    pub(crate) fn from_line(line: &str) -> io::Result<Self> {
        serde_json::from_str(line).map_err(io::Error::from)
    }
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum Event {
    /// Everything is up; the traffic begins.
    RunBegan(Settings),
    /// The faults are over; the traffic goes on for a while in calm.
    Calm,
    /// The workers were told to ask for nothing more.
    Finishing,
    /// What was left on a server at the very end.
    Left(Leftovers),

    /// A fault is about to be injected.
    FaultBegan { fault: String, victims: Vec<String> },
    /// A master is about to go: killed, or stopped.
    MasterDown { master: usize, killed: bool },
    /// A master answers again.
    MasterUp { master: usize },

    /// A worker process works.
    WorkerBegan { worker: Worker },
    /// A worker process was stopped.
    WorkerStopped { worker: Worker },
    /// A worker process goes on, from now on at the earliest.
    WorkerContinued { worker: Worker },
    /// A worker process was killed and is gone.
    WorkerKilled { worker: Worker },
    /// A worker process ended by itself; `problem` if it should not have, or not so.
    WorkerEnded { worker: Worker, problem: Option<String> },
    /// A worker's runtime was not run from `from` until now: the machine is busy.
    Stalled { worker: Worker, from: Time },
    /// A worker shut its clients down; so many releases were not confirmed in time.
    ShutDown { worker: Worker, unfinished: usize },

    /// A worker wants a lock from now on.
    Asked { section: SectionId, lock: String, kind: Kind, renewed: bool, manner: Manner },
    /// It does not want it any more.
    GaveUp { section: SectionId, why: Refusal },
    /// The acquire has returned a guard.
    Granted { section: SectionId, deadline: Time },
    /// The guard's deadline has moved.
    Extended { section: SectionId, deadline: Time },
    /// `lost()` has resolved.
    Lost { section: SectionId, cause: String, deadline: Time },
    /// `ensure_valid()` has refused the write.
    Withheld { section: SectionId },
    /// The witness was read, was last written by `read`, and is about to be written.
    Writing { section: SectionId, read: Option<SectionId> },
    /// The write has landed.
    Wrote { section: SectionId, deadline: Time },
    /// The guard is about to be released, or dropped.
    Releasing { section: SectionId, deadline: Time },
    /// The release has returned; `problem` if it was not confirmed.
    Released { section: SectionId, problem: Option<String> },
}

/// What a run was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) seed: u64,
    pub(crate) secs: u64,
    pub(crate) masters: usize,
    pub(crate) workers: u32,
    pub(crate) planted: Option<String>,
}

/// What was found on a server when everybody was gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leftovers {
    pub(crate) master: usize,
    pub(crate) keys: Vec<String>,
    pub(crate) channels: Vec<String>,
    pub(crate) connections: u64,
}

/// The rule by which votes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    RedLock,
    MultiLock,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::RedLock, Self::MultiLock];

    /// How many of `masters` must grant.
    pub(crate) const fn need(self, masters: usize) -> usize {
        match self {
            Self::RedLock => masters / 2 + 1,
            Self::MultiLock => masters,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RedLock => "RedLock",
            Self::MultiLock => "MultiLock",
        })
    }
}

/// How a worker asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Manner {
    /// `acquire`, and outages are waited out.
    Patient,
    /// `acquire`, and an outage is an error.
    FailFast,
    /// `try_acquire_for`.
    Limited,
    /// `try_acquire`.
    Once,
    /// `acquire`, dropped after a while.
    Dropped,
}

/// Why a worker does not want a lock any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Refusal {
    /// Held by another until the time was up.
    Held,
    /// Not enough servers answered.
    Outage(String),
    /// The future was dropped.
    Dropped,
    /// An error that nothing here should cause.
    Unexpected(String),
}

/// A worker process: a place among the workers and how often it was filled anew. `w3.1`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct Worker {
    pub(crate) place: u32,
    pub(crate) life: u32,
}

impl Worker {
    /// The process that takes its place.
    pub(crate) const fn successor(self) -> Self {
        Self { place: self.place, life: self.life + 1 }
    }
}

/// One attempt of one of a worker's lanes, and what became of it. `w3.1/2#17`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(crate) struct SectionId {
    pub(crate) worker: Worker,
    pub(crate) lane: u32,
    pub(crate) number: u64,
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}.{}", self.place, self.life)
    }
}

impl fmt::Display for SectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.worker, self.lane, self.number)
    }
}

impl FromStr for Worker {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.strip_prefix('w').and_then(|rest| rest.split_once('.'));
        let parsed = parsed.and_then(|(place, life)| {
            Some(Self { place: place.parse().ok()?, life: life.parse().ok()? })
        });
        parsed.ok_or_else(|| format!("not a worker: {text:?}"))
    }
}

impl FromStr for SectionId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(worker, rest)| {
            let (lane, number) = rest.split_once('#')?;
            let (lane, number) = (lane.parse().ok()?, number.parse().ok()?);
            Some(Self { worker: worker.parse().ok()?, lane, number })
        });
        parsed.ok_or_else(|| format!("not a section: {text:?}"))
    }
}

impl From<Worker> for String {
    fn from(worker: Worker) -> Self {
        worker.to_string()
    }
}

impl From<SectionId> for String {
    fn from(section: SectionId) -> Self {
        section.to_string()
    }
}

impl TryFrom<String> for Worker {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl TryFrom<String> for SectionId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
