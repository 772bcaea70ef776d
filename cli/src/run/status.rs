//! What became of the lock and of the command, for the program that called palisade.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

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
    /// Why it was ended, or why the lock may have been another's.
    pub(super) cause: Option<String>,
}

impl Course {
    pub(crate) fn begin() -> Self {
        Self { began: Instant::now(), granted: None, ended: None, fate: None, cause: None }
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
            (Some(_), Some(exit::LOST)) if self.cause.is_some() => "lost",
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

/// Where it is written: beside its place first, so that no reader sees half of it.
#[derive(Debug)]
pub(crate) struct StatusFile {
    path: PathBuf,
    beside: PathBuf,
    file: File,
}

impl StatusFile {
    /// Opens it before anything is asked for: a run whose end cannot be told is not begun.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let mut beside = OsString::from(path);
        beside.push(format!(".{}", std::process::id()));
        let beside = PathBuf::from(beside);
        let unusable =
            |error| Failure::usage(format_args!("--status-file {}: {error}", path.display()));
        if path.is_dir() {
            return Err(unusable(io::ErrorKind::IsADirectory.into()));
        }
        let file = File::create_new(&beside).map_err(unusable)?;
        Ok(Self { path: path.to_owned(), beside, file })
    }

    /// Writes it in one piece. A command that has run is not made undone by a full disk: that is only told.
    pub(crate) fn write(mut self, course: &Course, name: &str, end: &Result<End, Failure>) {
        let status = course.status(name, end);
        let written = serde_json::to_string_pretty(&status)
            .map_err(io::Error::other)
            .and_then(|text| self.file.write_all((text + "\n").as_bytes()))
            .and_then(|()| fs::rename(&self.beside, &self.path));
        if let Err(error) = written {
            tell(format_args!("--status-file {}: {error}", self.path.display()));
            let _may_be_gone = fs::remove_file(&self.beside);
        }
    }
}
