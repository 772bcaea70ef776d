//! What became of the command, in words and as an exit code.

use palisade::LostCause;
use rustix::process::Signal;

use super::status::Course;
use crate::{
    exit::{self, End},
    processes,
    supervisor::{Cause, Ending, Fate},
    tell,
};

/// How the command ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// As the supervisor tells it; and whether the lock was lost meanwhile.
    /// `at_terminal`: the command had the terminal until then. `held_too_long`: if it was ended, then for that.
    Ended { ending: Ending, lost: Option<LostCause>, at_terminal: bool, held_too_long: bool },
    /// The system refused its process.
    NotStarted { why: String },
    /// Killed by us, since the supervisor had died or was `overdue`.
    StoodIn { overdue: bool, lost: Option<LostCause>, undead: Vec<i32> },
}

impl Outcome {
    /// Whether the command came to its own end and not by a signal.
    pub(crate) fn ended_well(&self) -> bool {
        matches!(self, Self::Ended { ending: Ending { fate: Fate::Exited(_), .. }, .. })
    }

    /// Whether it ended with 0 by itself, and under the lock.
    pub(crate) fn is_success(&self) -> bool {
        let Self::Ended { ending, lost: None, .. } = self else { return false };
        ending.undead.is_empty()
            && ending.cause == Cause::Itself
            && matches!(ending.fate, Fate::Exited(0))
    }

    /// Whether nothing of the command is left that runs.
    pub(crate) fn all_are_dead(&self) -> bool {
        match self {
            Self::Ended { ending: Ending { undead, .. }, .. } | Self::StoodIn { undead, .. } => {
                undead.is_empty()
            }
            Self::NotStarted { .. } => true,
        }
    }

    /// Says what is worth saying, and notes it; how to end.
    pub(crate) fn conclude(self, name: &str, lost_at_the_end: bool, course: &mut Course) -> End {
        if let Self::Ended { ending, .. } = &self {
            course.fate = Some(ending.fate);
            mention(ending.left_behind);
        }
        match self.trouble(name, lost_at_the_end) {
            Ok(end) => end,
            Err((code, cause)) => {
                tell(&cause);
                course.cause = Some(cause);
                End::Code(code)
            }
        }
    }

    /// How to end if all is well, or the code and its cause.
    fn trouble(self, name: &str, lost_at_the_end: bool) -> Result<End, (u8, String)> {
        match self {
            Self::Ended { ending: Ending { undead, .. }, .. } | Self::StoodIn { undead, .. }
                if !undead.is_empty() =>
            {
                Err((exit::LOST, undead_told(name, &undead)))
            }
            Self::Ended { lost: Some(cause), .. } => Err((exit::LOST, lost_told(name, &cause))),
            Self::Ended {
                ending: Ending { cause: Cause::Deadline, .. },
                held_too_long: true,
                ..
            } => {
                let why = "was held for as long as --max-hold allows: the command was ended";
                Err((exit::HELD_TOO_LONG, format!("{name} {why}")))
            }
            Self::Ended { ending, .. } if ending.cause != Cause::Itself => {
                Err((exit::LOST, format!("{name} could not be renewed: the command was ended")))
            }
            Self::Ended { .. } if lost_at_the_end => {
                Err((exit::LOST, format!("{name} was lost before the command had ended")))
            }
            Self::Ended { ending, at_terminal, .. } => Ok(end(ending.fate, at_terminal)),
            Self::StoodIn { overdue, lost, .. } => {
                let why = if overdue { "did not act in time" } else { "has ended" };
                tell(format_args!("the supervisor {why}: the command was killed"));
                match lost {
                    Some(cause) => Err((exit::LOST, lost_told(name, &cause))),
                    None if overdue => Ok(End::Code(exit::LOST)),
                    None => Ok(End::Code(exit::SYSTEM)),
                }
            }
            Self::NotStarted { why } => {
                Err((exit::SYSTEM, format!("cannot start the command: {why}")))
            }
        }
    }
}

fn lost_told(name: &str, cause: &LostCause) -> String {
    format!("{name} was lost: {cause}; the command was killed")
}

/// That and nothing else: of whatever else is to be said, some would not be true of these.
fn undead_told(name: &str, undead: &[i32]) -> String {
    let who: Vec<_> = undead.iter().map(|pid| processes::describe(*pid)).collect();
    format!("cannot kill, and may run on without {name}: {}", who.join(", "))
}

fn mention(left_behind: usize) {
    if left_behind > 0 {
        let processes = if left_behind == 1 { "process" } else { "processes" };
        tell(format_args!("the command has left {left_behind} {processes} behind: ended"));
    }
}

/// As the command has ended, so that a shell that waits for palisade does as it would have done without it: it ends its
/// script at ^C if the command has died of that, and not if the command has handled it.
fn end(fate: Fate, at_terminal: bool) -> End {
    match fate {
        Fate::Exited(code) => End::Code(u8::try_from(code).unwrap_or(exit::INTERNAL)),
        Fate::Signalled(number) => match Signal::from_named_raw(number) {
            Some(signal @ (Signal::INT | Signal::QUIT)) if at_terminal => {
                End::SignalledWithJob(signal)
            }
            _ => End::Code(exit::of_signal(number)),
        },
    }
}
