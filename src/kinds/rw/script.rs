//! What is said about a read/write lock: the only place that knows the order of KEYS and ARGV.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::{
    error::ConfigError,
    kind::{AcquireRequest, Admission, Kind},
    lease::Term,
    wire::{Arg, Script, Statement, key, script},
};

pub(crate) static READ: Script = script!(
    "rw/read",
    2,
    "read.lua",
    "../mutex/foreign.lua",
    "other.lua",
    "look.lua",
    "grant.lua",
    "timer.lua",
    "enter.lua",
    "read_left.lua"
)
.granting()
.in_turns();
pub(crate) static WRITE: Script = script!(
    "rw/write",
    2,
    "write.lua",
    "../mutex/foreign.lua",
    "other.lua",
    "look.lua",
    "grant.lua",
    "wish.lua",
    "died.lua",
    "timer.lua",
    "write_left.lua"
)
.granting();
pub(crate) static RENEW: Script =
    script!("rw/renew", 2, "look.lua", "announce.lua", "timer.lua", "downgrade.lua", "renew.lua");
pub(crate) static COUNT: Script =
    script!("rw/count", 3, "count.lua", "look.lua", "announce.lua", "died.lua", "count_left.lua")
        .brief_if_asked();
pub(crate) static FORCE: Script = script!(
    "rw/force",
    3,
    "../mutex/foreign.lua",
    "other.lua",
    "look.lua",
    "announce.lua",
    "force.lua"
);

/// Every script of this kind; connections load them in advance.
pub(crate) static SCRIPTS: [&Script; 5] = [&READ, &WRITE, &RENEW, &COUNT, &FORCE];

/// How a read/write lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Read,
    Write,
}

/// What both sides of a lock have in common, as Redisson stores its `RReadWriteLock`.
#[derive(Debug)]
pub(crate) struct Rw {
    name: Arc<str>,
    channel: Arc<str>,
    /// Where a writer says that it waits for readers.
    wish: Arc<str>,
    /// To which Redisson's readers may shorten the ttl of all.
    longest: Duration,
}

/// The side of those who read.
#[derive(Debug, Clone)]
pub(crate) struct Reading(Arc<Rw>);

/// The side of those who write.
#[derive(Debug)]
pub(crate) struct Writing {
    rw: Arc<Rw>,
    /// Made when somebody asks: few ever downgrade.
    reading: OnceLock<Arc<dyn Kind>>,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// What is announced when nobody holds it in this mode any more.
    const fn message(self) -> &'static str {
        match self {
            Self::Read => "0",
            Self::Write => "1",
        }
    }
}

impl Rw {
    pub(crate) fn new(name: &str, longest: Duration) -> Self {
        let (channel, wish) = (key::rw_channel(name), key::rw_wish(name));
        Self { name: name.into(), channel, wish, longest }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn force(&self, mode: Mode) -> Statement {
        let [mode, message] = [mode.name(), mode.message()].map(|text| Arg::text(&text.into()));
        Statement::new(&FORCE, [&self.name], [mode, Arg::text(&self.channel), message])
    }

    /// `channel` is where it is told that a writer has become a reader, if it is to.
    fn renew(&self, holder: &Arc<str>, lease_ms: i64, channel: &Arc<str>) -> Statement {
        let timer = key::rw_timer(&self.name, holder);
        let args = [Arg::text(holder), Arg::text(channel)];
        Statement::leasing(&RENEW, [&self.name, &timer], lease_ms, [], args)
    }

    fn count(&self, holder: &Arc<str>, count: u32) -> Statement {
        let timer = key::rw_timer(&self.name, holder);
        let args = [Arg::text(holder), Arg::Int(count.into()), Arg::text(&self.channel)];
        Statement::new(&COUNT, [&self.name, &timer, &self.wish], args)
    }

    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        let (lease, redisson_watchdog) = (asked.length(), self.longest);
        if lease <= redisson_watchdog {
            return Ok(asked);
        }
        Err(ConfigError::LeaseAboveRedisson { lease, redisson_watchdog })
    }
}

impl Reading {
    pub(crate) fn of(rw: &Arc<Rw>) -> Self {
        Self(rw.clone())
    }
}

impl Writing {
    pub(crate) fn of(rw: &Arc<Rw>) -> Self {
        Self { rw: rw.clone(), reading: OnceLock::new() }
    }
}

impl Kind for Reading {
    fn name(&self) -> &Arc<str> {
        &self.0.name
    }

    fn shares_keys(&self) -> Option<&'static str> {
        Some(MODE)
    }

    fn mode(&self) -> &'static str {
        MODE
    }

    fn channel(&self) -> &Arc<str> {
        &self.0.channel
    }

    fn admission(&self) -> Admission {
        Admission::Shared
    }

    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        self.0.term(asked)
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let AcquireRequest { holder, term, is_held, .. } = request;
        let timer = key::rw_timer(&self.0.name, holder);
        let keys = [&self.0.name, &timer, &self.0.wish];
        let args = [Arg::text(holder), Arg::Int(is_held.into())];
        Statement::leasing(&READ, keys, term.ms(), [Arg::NotAfter], args)
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        self.0.renew(holder, lease_ms, &self.0.channel)
    }

    fn count(&self, holder: &Arc<str>, count: u32) -> Statement {
        self.0.count(holder, count)
    }
}

impl Kind for Writing {
    fn name(&self) -> &Arc<str> {
        &self.rw.name
    }

    fn shares_keys(&self) -> Option<&'static str> {
        Some(MODE)
    }

    fn mode(&self) -> &'static str {
        MODE
    }

    fn channel(&self) -> &Arc<str> {
        &self.rw.channel
    }

    fn downgraded(&self) -> Option<&Arc<dyn Kind>> {
        Some(self.reading.get_or_init(|| Arc::new(Reading::of(&self.rw))))
    }

    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        self.rw.term(asked)
    }

    fn keeps_out_by_asking(&self) -> bool {
        true
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        let AcquireRequest { holder, term, waits, is_alone, .. } = request;
        let wisher = match (waits, holder.split_once(':')) {
            (false, _) => Arg::Int(0),
            // Each attempt for several members has a holder id of its own; the process stays the same.
            (true, Some((process, _))) if !is_alone => Arg::text(&process.into()),
            (true, _) => Arg::Int(1),
        };
        let args = [Arg::text(holder), wisher];
        let keys = [&self.rw.name, &self.rw.wish];
        Statement::leasing(&WRITE, keys, term.ms(), [Arg::NotAfter], args)
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        self.rw.renew(holder, lease_ms, &"".into())
    }

    fn count(&self, holder: &Arc<str>, count: u32) -> Statement {
        self.rw.count(holder, count)
    }
}

/// The same for both sides, since who writes may read.
const MODE: &str = "rw";
