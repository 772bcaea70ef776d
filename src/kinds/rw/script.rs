//! What is said about a read/write lock: the only place that knows the order of KEYS and ARGV.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use crate::{
    error::ConfigError,
    kind::{AcquireRequest, Admission, Kind, Sharing, Statements, Waking},
    lease::Term,
    wire::{Arg, HoldCheck, Script, Statement, key, script},
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

/// One side of a lock: that of readers, or that of writers.
#[derive(Debug)]
pub(crate) struct RwSide {
    rw: Arc<Rw>,
    mode: Mode,
    /// That of readers, for a writer that reads on. Made when it is asked for: few ever downgrade.
    reading: OnceLock<Arc<dyn Kind>>,
}

impl Mode {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// What is announced when it has no holder in this mode any more.
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
}

impl RwSide {
    pub(crate) fn of(rw: &Arc<Rw>, mode: Mode) -> Self {
        Self { rw: rw.clone(), mode, reading: OnceLock::new() }
    }

    fn read(&self, AcquireRequest { holder, term, is_held, .. }: AcquireRequest<'_>) -> Statement {
        let timer = key::rw_timer(&self.rw.name, holder);
        let keys = [&self.rw.name, &timer, &self.rw.wish];
        let args = [Arg::text(holder), Arg::Int(is_held.into())];
        Statement::leasing(&READ, keys, term.ms(), [Arg::NotAfter], args)
    }

    fn write(&self, request: AcquireRequest<'_>) -> Statement {
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
}

impl Sharing for RwSide {
    fn admission(&self) -> Admission {
        match self.mode {
            Mode::Read => Admission::Shared,
            Mode::Write => Admission::Exclusive,
        }
    }

    fn mode(&self) -> &'static str {
        MODE
    }

    fn reduced(&self) -> Option<&Arc<dyn Kind>> {
        let reading = || -> Arc<dyn Kind> { Arc::new(Self::of(&self.rw, Mode::Read)) };
        (self.mode == Mode::Write).then(|| self.reading.get_or_init(reading))
    }

    fn shares_keys(&self) -> Option<&'static str> {
        Some(MODE)
    }
}

impl Waking for RwSide {
    fn channel(&self) -> &Arc<str> {
        &self.rw.channel
    }

    fn keeps_out_by_asking(&self) -> bool {
        self.mode == Mode::Write
    }
}

impl Statements for RwSide {
    fn name(&self) -> &Arc<str> {
        &self.rw.name
    }

    fn term(&self, asked: Term) -> Result<Term, ConfigError> {
        let (lease, redisson_watchdog) = (asked.length(), self.rw.longest);
        if lease <= redisson_watchdog {
            return Ok(asked);
        }
        Err(ConfigError::LeaseAboveRedisson { lease, redisson_watchdog })
    }

    fn acquire(&self, request: AcquireRequest<'_>) -> Statement {
        match self.mode {
            Mode::Read => self.read(request),
            Mode::Write => self.write(request),
        }
    }

    fn renew(&self, holder: &Arc<str>, lease_ms: i64) -> Statement {
        // Where it is told that a writer has become a reader, if it has.
        let told = match self.mode {
            Mode::Read => Arg::text(&self.rw.channel),
            Mode::Write => Arg::text(&"".into()),
        };
        let timer = key::rw_timer(&self.rw.name, holder);
        let args = [Arg::text(holder), told];
        Statement::leasing(&RENEW, [&self.rw.name, &timer], lease_ms, [], args)
    }

    fn hold_check(&self, holder: &Arc<str>) -> HoldCheck {
        let (name, holder_id) = (&self.rw.name, Arg::text(holder));
        match self.mode {
            Mode::Read => {
                HoldCheck::new(HOLDS_READ, [name, &key::rw_timer(name, holder)], holder_id)
            }
            Mode::Write => HoldCheck::new(HOLDS_WRITE, [name], holder_id),
        }
    }

    fn count(&self, holder: &Arc<str>, guards: u32) -> Statement {
        let timer = key::rw_timer(&self.rw.name, holder);
        let args = [Arg::text(holder), Arg::Int(guards.into()), Arg::text(&self.rw.channel)];
        Statement::new(&COUNT, [&self.rw.name, &timer, &self.rw.wish], args)
    }

    fn release(&self, holder: &Arc<str>) -> Statement {
        self.count(holder, 0)
    }
}

const MODE: &str = "rw";
/// By what a reader's hold is seen, and by what a writer's.
const HOLDS_READ: &str = include_str!("holds_read.lua");
const HOLDS_WRITE: &str = include_str!("holds_write.lua");
