//! What `palisade ls --json` prints, for programs: fields are added, never changed.

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

use palisade::{
    error::{NodeError, NodeId},
    inspect::{
        Access, ListedHolder, ListedLock, ListedProcess, LockList, ProcessList, ProcessRecord,
    },
};
use serde::Serialize;

use crate::duration::whole_ms;

/// All of it, of locks.
#[derive(Debug, Serialize)]
pub(super) struct Locks<'a> {
    /// How many masters or clusters were named; and how many of them told something.
    asked: usize,
    answered: usize,
    /// Whether nothing was left out.
    complete: bool,
    failed: Vec<Failed<'a>>,
    /// How many hashes could not be read.
    unread: u64,
    /// How many locks were too many.
    left_out: u64,
    locks: Vec<Lock<'a>>,
}

/// One lock.
#[derive(Debug, Serialize)]
pub(crate) struct Lock<'a> {
    name: &'a str,
    /// `lock`, `fenced`, `fair`, `read/write`; `permits`, `semaphore`, `counter` if it is named.
    sort: String,
    votes: usize,
    /// How many permits are left, or what the counter says.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<i64>,
    /// Null if it is not known.
    held_ms: Option<u64>,
    /// How many processes wait; null if it is not known.
    waiting: Option<u64>,
    holders: Vec<By<'a>>,
    /// How many there are at least that are not among them.
    more_holders: u64,
}

/// One holder.
#[derive(Debug, Serialize)]
struct By<'a> {
    holder: &'a str,
    /// `alone`, `read`, `write` or `permits`.
    access: &'static str,
    count: u64,
    ttl_ms: Option<u64>,
    votes: usize,
    /// A reader whose timer has ended.
    dead: bool,
    /// Not a program, but an operator that has taken the lock away.
    operator: bool,
    held_ms: Option<u64>,
    /// The same by the clock of the machine that asks.
    since: Option<String>,
    #[serde(flatten)]
    process: Told<'a>,
}

/// What a process tells of itself; null what it does not.
#[derive(Debug, Default, Serialize)]
struct Told<'a> {
    host: Option<&'a str>,
    pid: Option<u32>,
    user: Option<&'a str>,
    program: Option<&'a str>,
    version: Option<&'a str>,
    started: Option<String>,
    note: Option<&'a str>,
}

/// One that did not tell everything.
#[derive(Debug, Serialize)]
struct Failed<'a> {
    server: &'a str,
    error: String,
}

/// All of it, of processes.
#[derive(Debug, Serialize)]
pub(super) struct Processes<'a> {
    asked: usize,
    answered: usize,
    failed: Vec<Failed<'a>>,
    unread: u64,
    processes: Vec<Process<'a>>,
}

/// One process.
#[derive(Debug, Serialize)]
struct Process<'a> {
    uuid: String,
    #[serde(flatten)]
    process: Told<'a>,
    labels: &'a BTreeMap<String, String>,
    /// How many long holds it tells of.
    holds: u64,
}

impl<'a> Locks<'a> {
    pub(super) fn of(list: &'a LockList, shown: &[&'a ListedLock]) -> Self {
        Self {
            asked: list.asked,
            answered: list.answered,
            complete: list.is_complete(),
            failed: list.failed.iter().map(Failed::of).collect(),
            unread: list.unread,
            left_out: list.left_out,
            locks: shown.iter().map(|lock| Lock::of(lock)).collect(),
        }
    }
}

impl<'a> Lock<'a> {
    pub(crate) fn of(lock: &'a ListedLock) -> Self {
        Self {
            name: &lock.name,
            sort: lock.sort.to_string(),
            votes: lock.votes,
            left: lock.left,
            held_ms: lock.held_for().and_then(whole_ms),
            waiting: lock.waiting,
            holders: lock.holders.iter().map(By::of).collect(),
            more_holders: lock.more_holders,
        }
    }
}

impl<'a> By<'a> {
    fn of(by: &'a ListedHolder) -> Self {
        let since = by.held_for().and_then(|age| SystemTime::now().checked_sub(age));
        Self {
            holder: &by.holder.id,
            access: match by.holder.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::Permits => "permits",
                _ => "alone",
            },
            count: by.holder.count,
            ttl_ms: by.holder.ttl.and_then(whole_ms),
            votes: by.votes,
            dead: by.is_dead,
            operator: by.holder.is_revoked(),
            held_ms: by.held_for().and_then(whole_ms),
            since: since.map(written),
            process: by.process.as_ref().map(Told::of).unwrap_or_default(),
        }
    }
}

impl<'a> Told<'a> {
    fn of(process: &'a ProcessRecord) -> Self {
        Self {
            host: process.host.as_deref(),
            pid: process.pid,
            user: process.user.as_deref(),
            program: process.program.as_deref(),
            version: process.version.as_deref(),
            started: process.started.map(written),
            note: process.note.as_deref(),
        }
    }
}

impl<'a> Failed<'a> {
    fn of((server, error): &'a (NodeId, NodeError)) -> Self {
        Self { server: server.as_str(), error: error.to_string() }
    }
}

impl<'a> Processes<'a> {
    pub(super) fn of(list: &'a ProcessList) -> Self {
        Self {
            asked: list.asked,
            answered: list.answered,
            failed: list.failed.iter().map(Failed::of).collect(),
            unread: list.unread,
            processes: list.processes.iter().map(Process::of).collect(),
        }
    }
}

impl<'a> Process<'a> {
    fn of(listed: &'a ListedProcess) -> Self {
        Self {
            uuid: listed.uuid.to_string(),
            process: Told::of(&listed.process),
            labels: &listed.process.labels,
            holds: listed.holds,
        }
    }
}

/// What no calendar has is written as its end.
pub(crate) fn written(at: SystemTime) -> String {
    let last = SystemTime::UNIX_EPOCH + LAST;
    humantime::format_rfc3339_seconds(at.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
}

/// To the end of the year 9999, beyond which nothing can be written.
const LAST: Duration = Duration::from_secs(253_402_300_799);
