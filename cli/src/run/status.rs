//! What became of the lock and of the command, for the program that called palisade.

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rustix::fs::OFlags;
use serde::Serialize;

use crate::{
    exit::{self, End, Failure},
    supervisor::Fate,
    tell,
};

/// How far a run has come.
#[derive(Debug)]
pub(crate) struct Course {
    began: Instant,
    granted: Option<Instant>,
    ended: Option<Instant>,
    /// What the command came to by itself.
    pub(super) fate: Option<Fate>,
    /// Whether a run is recorded that keeps it from being due.
    pub(super) not_due: bool,
    /// Why it was ended, or why the lock may have been another's.
    pub(super) cause: Option<String>,
}

impl Course {
    pub(crate) fn begin() -> Self {
        Self {
            began: Instant::now(),
            granted: None,
            ended: None,
            fate: None,
            not_due: false,
            cause: None,
        }
    }

    /// The lock is held; for how long it was waited for.
    pub(crate) fn granted(&mut self) -> Duration {
        let now = Instant::now();
        self.granted = Some(now);
        now.saturating_duration_since(self.began)
    }

    /// The lock is held no longer.
    pub(crate) fn ended(&mut self) {
        self.ended = Some(Instant::now());
    }

    fn status<'a>(&'a self, name: &'a str, end: &'a Result<End, Failure>) -> Status<'a> {
        let (end, message) = match end {
            Ok(end) => (*end, None),
            Err(failure) => (failure.end(), failure.message()),
        };
        let (code, signal) = match end {
            End::Code(code) => (Some(code), None),
            End::Signalled(signal) | End::SignalledWithJob(signal) => (None, Some(signal.as_raw())),
        };
        let until = self.granted.unwrap_or_else(Instant::now);
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Status {
            name,
            outcome: self.outcome(code),
            exit_code: code,
            signal,
            waited_ms: milliseconds(until.saturating_duration_since(self.began)),
            held_ms: self.granted.map(|granted| {
                let ended = self.ended.unwrap_or_else(Instant::now);
                milliseconds(ended.saturating_duration_since(granted))
            }),
            command: self.fate.map(Command::from),
            cause: self.cause.as_deref().or(message),
        }
    }

    fn outcome(&self, code: Option<u8>) -> &'static str {
        match (self.granted, code) {
            _ if self.not_due => "not due",
            (Some(_), Some(exit::LOST)) if self.cause.is_some() => "lost",
            (Some(_), Some(exit::HELD_TOO_LONG)) if self.cause.is_some() => "held too long",
            (Some(_), _) if self.fate.is_some() => "ran",
            (Some(_), _) => "not run",
            (None, Some(exit::NOT_YET)) => "not yet",
            (None, Some(exit::UNAVAILABLE)) => "unavailable",
            (None, Some(exit::NO_RIGHTS)) => "no rights",
            (None, Some(exit::CONFIGURATION)) => "configuration",
            (None, Some(exit::USAGE)) => "usage",
            (None, Some(exit::SYSTEM | exit::INTERNAL)) => "system",
            (None, None | Some(129..=159)) => "interrupted",
            (None, Some(_)) => "held",
        }
    }
}

/// The file's text. For programs: fields are added, never changed.
#[derive(Debug, Serialize)]
struct Status<'a> {
    name: &'a str,
    outcome: &'static str,
    /// What palisade exits with; null if it dies of `signal`.
    exit_code: Option<u8>,
    signal: Option<i32>,
    waited_ms: u64,
    /// Null if the lock was never held.
    held_ms: Option<u64>,
    /// Null if there was no command, or it is not known what it came to.
    command: Option<Command>,
    cause: Option<&'a str>,
}

/// How the command has ended.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Code(i32),
    Signal(i32),
}

impl From<Fate> for Command {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Exited(code) => Self::Code(code),
            Fate::Signalled(signal) => Self::Signal(signal),
        }
    }
}

/// Where it is written.
#[derive(Debug)]
pub(crate) struct StatusFile {
    path: PathBuf,
    /// Beside its place first, so that no reader sees half of it; `None` for what is no file, or is open already, and
    /// must not be replaced: devices, pipes, our own output.
    beside: Option<PathBuf>,
    file: File,
}

impl StatusFile {
    /// Opens it before anything is asked for: a run whose end cannot be told is not begun.
    pub(crate) fn open(given: &Path) -> Result<Self, Failure> {
        let unusable =
            |error| Failure::usage(format_args!("--status-file {}: {error}", given.display()));
        let is_file = fs::metadata(given).map_or(true, |found| found.is_file());
        if !is_file || OPEN_ALREADY.iter().any(|place| given.starts_with(place)) {
            // A pipe without a reader would be waited for.
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let file = OpenOptions::new().append(true).custom_flags(flags).open(given);
            let (path, file) = (given.to_owned(), file.map_err(unusable)?);
            return Ok(Self { path, beside: None, file });
        }
        // Of a link what it leads to is replaced, and not the link.
        let path = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
        let mut beside = OsString::from(&path);
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        let file = File::create_new(&beside).map_err(unusable)?;
        Ok(Self { path, beside: Some(beside), file })
    }

    /// Writes it in one piece. A command that has run is not made undone by a full disk: that is only told.
    pub(crate) fn write(mut self, course: &Course, name: &str, end: &Result<End, Failure>) {
        let status = course.status(name, end);
        let rename = |beside: &PathBuf| fs::rename(beside, &self.path);
        let written = serde_json::to_string_pretty(&status)
            .map_err(io::Error::other)
            .and_then(|text| self.file.write_all((text + "\n").as_bytes()))
            .and_then(|()| self.beside.as_ref().map_or(Ok(()), rename));
        if let Err(error) = written {
            tell(format_args!("--status-file {}: {error}", self.path.display()));
            if let Some(beside) = &self.beside {
                let _may_be_gone = fs::remove_file(beside);
            }
        }
    }
}

/// What processes have open by these names may be files, which are written to by others too.
const OPEN_ALREADY: [&str; 4] = ["/dev/fd", "/dev/stdout", "/dev/stderr", "/proc"];
