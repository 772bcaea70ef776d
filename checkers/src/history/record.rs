//! One event, and its line of text.

use std::{fmt, io, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{
    inscription::InscriptionAnswer,
    latch::{LatchAnswer, LatchStep},
    period::RunAnswer,
};
use crate::time::Time;

/// An event and when it happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub at: Time,
    #[serde(flatten)]
    pub event: Event,
}

impl Record {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("invariant: a record is plain data");
        line.push('\n');
        line
    }

    /// Reads a line.
    ///
    /// # Errors
    /// It is no record.
    pub fn from_line(line: &str) -> io::Result<Self> {
        serde_json::from_str(line).map_err(io::Error::from)
    }
}

/// What can happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// Everything is up; the traffic begins.
    RunBegan(Settings),
    /// Nothing is done to any server or process in this run, but by the workers to themselves, and to
    /// rights.
    Undisturbed,
    /// The faults are over; the traffic goes on for a while in calm.
    Calm,
    /// The workers were told to ask for nothing more.
    Finishing,
    /// What was left on a server at the very end.
    Left(Leftovers),

    /// A fault is about to be injected.
    FaultBegan { fault: String, victims: Vec<String> },
    /// A fault cannot be injected on this machine.
    LeftOut { fault: String, why: String },
    /// A master is about to go: killed, or robbed of its data, or of no use for now.
    MasterDown { master: usize, killed: bool },
    /// A master answers again.
    MasterUp { master: usize },
    /// A master has lost its data.
    Forgot { master: usize },
    /// A master was told to keep out of votes for what it lost while it ran; for nothing if it had not
    /// lost anything since it was told so last.
    Waits { master: usize, for_nothing: bool },
    /// A master has granted an acquire that was sent so long before.
    GrantedLate { master: usize, holder: String, after_ms: u64 },
    /// A master has granted an acquire that was sent behind the release of its holder, on the same socket and
    /// before that was confirmed.
    GrantedBehindRelease { master: usize, holder: String },
    /// Some workers were refused the key of a lock on some master, from `from` until now.
    Denied { lock: String, from: Time },
    /// A client asked a master for the key of a lock that is another user's.
    Trespassed { master: usize, lock: String },
    /// A master's clock was set.
    ClockJumped { master: usize, by_ms: i64 },

    /// A worker process works.
    WorkerBegan { worker: Worker },
    /// A worker process was stopped.
    WorkerStopped { worker: Worker },
    /// A worker process goes on, from now on at the earliest.
    WorkerContinued { worker: Worker },
    /// A worker process was killed and is gone.
    WorkerKilled { worker: Worker },
    /// A worker process does not end.
    Hung { worker: Worker },
    /// A worker process ended by itself; `problem` if it should not have, or not so.
    WorkerEnded { worker: Worker, problem: Option<String> },
    /// A worker's runtime was not run from `from` until now: the machine is busy.
    Stalled { worker: Worker, from: Time },
    /// A worker's runtime is run. Told now and then, since a worker that is killed while it is not cannot
    /// tell of that.
    Pulse { worker: Worker },
    /// A worker shut its clients down; so many releases were not confirmed in time.
    ShutDown { worker: Worker, unfinished: usize },

    /// A worker wants a lock from now on.
    Asked {
        section: SectionId,
        lock: String,
        kind: Kind,
        renewed: bool,
        manner: Manner,
        /// Whether it does not listen to `lost()`, and asks only right before a write.
        #[serde(default)]
        careless: bool,
        /// The masters it is on; empty: all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        on: Vec<usize>,
        /// Whether others may have it at the same time, if they share it too.
        #[serde(default)]
        shared: bool,
        /// Of a semaphore, what it wants.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share: Option<Share>,
        /// Whether the lock has a queue.
        #[serde(default)]
        queued: bool,
        /// Of a lock that has some of its members in common with locks of other names: all of them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        keys: Vec<Key>,
    },
    /// A worker is about to do something with a latch.
    Latching { section: SectionId, latch: String, on: usize, step: LatchStep },
    /// What came of that.
    Latched { section: SectionId, answer: LatchAnswer },
    /// A worker is to run the job of a lock for a period, unless that was done.
    Triggered {
        section: SectionId,
        lock: String,
        period: String,
        kind: Kind,
        on: Vec<usize>,
        /// How long after the start of a run the next may begin, in milliseconds; 0: never, in this period.
        #[serde(default)]
        every_ms: u64,
    },
    /// What it was told of that.
    Answered { section: SectionId, answer: RunAnswer },
    /// What was recorded on a master at the very end: for each period of a job the run, by an id of its own.
    Records { master: usize, lock: String, runs: Vec<(String, String)> },
    /// It leads with this token, and is about to announce this text for the how-manieth time.
    Proclaiming { section: SectionId, token: u64, number: u32, text: String },
    /// It holds a lock by this token, and is about to have the server write this line down beside the lock, only if it
    /// holds that.
    Inscribing { section: SectionId, token: u64, line: String },
    /// What it was told of that.
    Inscribed { section: SectionId, line: String, answer: InscriptionAnswer },
    /// The lines that stood beside a lock at the very end, in the order in which they were written.
    Inscriptions { master: usize, lock: String, lines: Vec<String> },
    /// A guarded call of its was executed: of which sections the last ones were on that server, as far as that remembers, and
    /// whether the hold of each stood there by the call's own look. The last is its own.
    CalledGuarded { section: SectionId, calls: Vec<(SectionId, bool)> },
    /// A process was shown which section leads, by its token, and what it has announced; neither, if none does.
    Shown {
        worker: Worker,
        lock: String,
        token: Option<u64>,
        value: Option<String>,
        /// Whether that is of before the servers ceased to answer.
        stale: bool,
    },
    /// It waits, but was not looked after from `from` until now.
    Parked { section: SectionId, from: Time },
    /// It does not want it any more.
    GaveUp { section: SectionId, why: Refusal },
    /// The acquire has returned a guard.
    Granted {
        section: SectionId,
        deadline: Time,
        /// Of a fenced lock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// One more guard of the hold, or one less that was not the last.
    Counted {
        section: SectionId,
        guards: u32,
        /// How many there are by the library's word, if a release gave it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<u32>,
        /// That of the new guard, if the lock is fenced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<u64>,
    },
    /// The worker is about to share what it has alone, for the rest of its hold.
    Downgrading { section: SectionId },
    /// The guard's deadline has moved.
    Extended { section: SectionId, deadline: Time },
    /// The guard is about to be orphaned: its key stays until its lease ends.
    Orphaned { section: SectionId },
    /// A server's word has reached the process that a key of this hold is not there.
    ToldGone { section: SectionId },
    /// `lost()` has resolved.
    Lost { section: SectionId, cause: String, deadline: Time },
    /// `ensure_valid()` has refused the write.
    Withheld { section: SectionId },
    /// The witness was read, was last written by `read`, and is about to be written.
    Writing { section: SectionId, read: Option<SectionId> },
    /// The store has refused the write: it had seen a greater token.
    TooOld { section: SectionId },
    /// The write has landed.
    Wrote { section: SectionId, deadline: Time },
    /// The guard is about to be released, or dropped.
    Releasing { section: SectionId, deadline: Time },
    /// The release has returned; `problem` if it was not confirmed.
    Released {
        section: SectionId,
        problem: Option<String>,
        /// How many other guards there are by the library's word.
        #[serde(default)]
        still: u32,
    },
}

/// A member of a lock.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    pub name: String,
    pub master: usize,
}

/// What a run was told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// In milliseconds: no lease is longer.
    pub longest_lease_ms: u64,
    /// In milliseconds: how late a loss may be noticed by a process that runs.
    pub slack_ms: u64,
    /// For how long masters that forgot keep out of votes, in milliseconds; 0 if they do not.
    #[serde(default)]
    pub quarantine_ms: u64,
    /// Whether that goes for locks on one master too.
    #[serde(default)]
    pub quarantine_all: bool,
    /// How long after it was sent an acquire may still be granted, in milliseconds; 0: as long as it
    /// likes.
    #[serde(default)]
    pub stamp_ms: u64,
    /// How long a lock that is wanted and to be had may lie free, in milliseconds, if nothing but a
    /// lost wake-up explains more; 0 if other things do.
    #[serde(default)]
    pub brisk_ms: u64,
    /// For how long the sections of one process may follow each other while another has a waiter, in
    /// milliseconds; 0 if other things explain it.
    #[serde(default)]
    pub fair_ms: u64,
    /// A section that asks so much later than another that waits for the same lock, in milliseconds, is
    /// not granted it before that one; 0 if locks have no queues, or other things explain it.
    #[serde(default)]
    pub in_order_ms: u64,
    /// For how long a free lock may be left to those that stood in its queue when they died, in
    /// milliseconds.
    #[serde(default)]
    pub absent_ms: u64,
    /// Whether all servers can be reached at any time, and at once.
    #[serde(default)]
    pub near: bool,
    /// How long a holder may go on after a server that forgot its hold is back, in milliseconds; 0
    /// if other things explain it.
    #[serde(default)]
    pub news_ms: u64,
    /// How long a lock that is wanted may lie free behind a failover, in milliseconds, if nothing else
    /// happens; 0 if other things do.
    #[serde(default)]
    pub failover_ms: u64,
    /// Whether messages are lost before the calm, so that no master counts as healthy there.
    #[serde(default)]
    pub lossy: bool,
    /// Whether a master that is told to be killed has lost its data by when it is up again, without
    /// another word.
    #[serde(default)]
    pub forgetful: bool,
    /// What the run is about, where there is more than one thing; empty: the first.
    #[serde(default)]
    pub profile: String,
    pub seed: u64,
    pub secs: u64,
    pub masters: usize,
    pub workers: u32,
    pub planted: Option<String>,
}

impl Settings {
    /// No lease is longer.
    #[must_use]
    pub const fn longest_lease(&self) -> Duration {
        Duration::from_millis(self.longest_lease_ms)
    }

    /// For how long masters that forgot keep out of votes.
    #[must_use]
    pub const fn quarantine(&self) -> Duration {
        Duration::from_millis(self.quarantine_ms)
    }

    /// How late a loss may be noticed by a process that runs.
    #[must_use]
    pub const fn slack(&self) -> Duration {
        Duration::from_millis(self.slack_ms)
    }
}

/// What was found on a server when all workers were gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leftovers {
    pub master: usize,
    pub keys: Vec<String>,
    pub channels: Vec<String>,
    pub connections: u64,
}

/// The rule by which votes are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    RedLock,
    MultiLock,
    /// On one master.
    Lock,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::RedLock, Self::MultiLock, Self::Lock];

    /// How many of `masters` must grant.
    pub const fn need(self, masters: usize) -> usize {
        match self {
            Self::RedLock => masters / 2 + 1,
            Self::MultiLock => masters,
            Self::Lock => 1,
        }
    }

    /// Whether masters that forgot keep out of votes for such a lock, on so many masters. A server that
    /// is asked alone does only if its clients `always` want it: it forgets all of the lock at once.
    pub const fn keeps_out(self, masters: usize, always: bool) -> bool {
        match self {
            Self::RedLock => true,
            Self::MultiLock => always || masters > 1,
            Self::Lock => always,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::RedLock => "RedLock",
            Self::MultiLock => "MultiLock",
            Self::Lock => "Lock",
        })
    }
}

/// Some permits of all that a semaphore has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub permits: usize,
    pub of: usize,
}

/// How a worker asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
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
pub enum Refusal {
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
pub struct Worker {
    pub place: u32,
    pub life: u32,
}

impl Worker {
    /// The process that takes its place.
    pub const fn successor(self) -> Self {
        Self { place: self.place, life: self.life + 1 }
    }
}

/// One attempt of one of a worker's lanes, and what became of it. `w3.1/2#17`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct SectionId {
    pub worker: Worker,
    pub lane: u32,
    pub number: u64,
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
