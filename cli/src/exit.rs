//! Exit codes: the command's own, else those of sysexits(3), as flock(1) uses them.

use std::{fmt::Display, io};

use rustix::process::Signal;

/// The servers are not a new fleet.
pub(crate) const NOT_NEW: u8 = 1;
/// The lock is not held by the holder that was named.
pub(crate) const OTHER_HOLDER: u8 = 3;
/// What a lock was to be held for ended before it was held.
pub(crate) const NEVER_HELD: u8 = 1;
/// Wrong use: bad arguments, a bad lease, a nested run of the lock that is already held.
pub(crate) const USAGE: u8 = 64;
/// Too few servers answered, or could grant anything: it passes.
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
/// The servers refuse this user something that the lock needs.
pub(crate) const NO_RIGHTS: u8 = 77;
/// The servers and what is said of them do not fit together: password, certificate, database, a key of another type. Or
/// a file with settings says what is none.
pub(crate) const CONFIGURATION: u8 = 78;
/// The command had held the lock for as long as it was to at most.
pub(crate) const HELD_TOO_LONG: u8 = 79;
/// The command was found but could not be started.
pub(crate) const NOT_EXECUTABLE: u8 = 126;
/// The command was not found.
pub(crate) const NOT_FOUND: u8 = 127;

/// How palisade ends: with a code, or as a process ends that a signal has killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Code(u8),
    /// By the signal that palisade was sent.
    Signalled(Signal),
    /// By the signal that the terminal sent to the command: to the rest of palisade's job too, which has not
    /// had the terminal meanwhile and did not see it.
    SignalledWithJob(Signal),
}

impl From<u8> for End {
    fn from(code: u8) -> Self {
        Self::Code(code)
    }
}

/// The code a shell gives for a process that died of `signal`.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(INTERNAL)
}

/// Why palisade gives up: what it says on stderr, if anything, and the code it exits with.
#[derive(Debug)]
pub(crate) struct Failure {
    end: End,
    message: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, message: impl Display) -> Self {
        Self { end: End::Code(code), message: Some(message.to_string()) }
    }

    /// Nothing that its caller does not know.
    pub(crate) fn silent(code: u8) -> Self {
        Self { end: End::Code(code), message: None }
    }

    /// A signal that was sent to palisade before there was a command.
    ///
    /// A shell that runs a script stops at ^C if its command has died of it, and goes on if that ended with a code.
    pub(crate) fn signalled(signal: Signal) -> Self {
        let dies = [Signal::INT, Signal::QUIT].contains(&signal);
        let code = End::Code(of_signal(signal.as_raw()));
        Self { end: if dies { End::Signalled(signal) } else { code }, message: None }
    }

    pub(crate) fn usage(message: impl Display) -> Self {
        Self::new(USAGE, message)
    }

    /// The system refused `what`.
    pub(crate) fn system(what: impl Display, error: impl Into<io::Error>) -> Self {
        Self::new(SYSTEM, format_args!("{what}: {}", error.into()))
    }

    pub(crate) fn end(&self) -> End {
        self.end
    }

    pub(crate) fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }
}
