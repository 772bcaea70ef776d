//! Exit codes: the command's own, else those of sysexits(3), as flock(1) uses them.

use std::{fmt::Display, io};

/// The servers are not a new fleet.
pub(crate) const NOT_NEW: u8 = 1;
/// Wrong use: bad arguments, a bad lease, a nested run of the lock that is already held.
pub(crate) const USAGE: u8 = 64;
/// Too few servers answered.
pub(crate) const UNAVAILABLE: u8 = 69;
/// A defect in palisade itself.
pub(crate) const INTERNAL: u8 = 70;
/// The operating system refused something palisade needs.
pub(crate) const SYSTEM: u8 = 71;
/// Too few servers have a vote yet: they started lately and may have forgotten locks.
pub(crate) const NOT_YET: u8 = 73;
/// The lock was lost while the command ran.
pub(crate) const LOST: u8 = 74;
/// Another holder has the lock; `-E` changes this one.
pub(crate) const HELD: u8 = 75;
/// The command was found but could not be started.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// The code a shell gives for a process that died of `signal`.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(INTERNAL)
}

/// Why palisade gives up: what it says on stderr, if anything, and the code it exits with.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Display) -> Self {
        Self { code, message: Some(message.to_string()) }
    }

    /// Nothing that its caller does not know.
    pub(crate) fn silent(code: u8) -> Self {
        Self { code, message: None }
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// The system refused `what`.
    pub(crate) fn system(what: impl Display, error: impl Into<io::Error>) -> Self {
        Self::new(SYSTEM, format_args!("{what}: {}", error.into()))
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}
