//! What palisade and its supervisor say to each other: one line of text each, so that a trace of
//! the two reads by itself.

use std::{
    fmt::{self, Display},
    str::FromStr,
    time::Duration,
};

use rustix::process::{Pid, Signal};

/// What palisade tells the supervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// The lock is ours until then, by the clock of [`boottime`](crate::boottime).
    Deadline(Duration),
    /// Send this signal to the command's group.
    Signal(Signal),
    /// The lock is gone: kill the group at once.
    Kill,
}

/// What the supervisor tells palisade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Report {
    /// The command's process exists, leads its own group and waits for SIGCONT to begin.
    Ready(Pid),
    /// The system refused the process.
    Failed(String),
    /// The command was stopped by this signal.
    Stopped(Signal),
    /// The deadline is near: the group was sent SIGTERM.
    Asked,
    /// The group is dead. The supervisor's last word.
    Ended(Ending),
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending {
    /// What the command itself came to.
    pub(crate) fate: Fate,
    /// Whether the supervisor had to end it.
    pub(crate) cause: Cause,
    /// How many processes the command had left behind in its group; they were ended.
    pub(crate) left_behind: usize,
    /// Those that could not be killed: they run as another user, or hang inside the kernel.
    pub(crate) undead: Vec<i32>,
}

/// What a process came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Exited(i32),
    Signalled(i32),
}

/// What ended the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// It ended by itself, or by a signal from elsewhere.
    Itself,
    /// The supervisor, because the deadline came near.
    Deadline,
    /// The supervisor, on [`Order::Kill`].
    Gone,
    /// The supervisor, because palisade had ended.
    Orphaned,
}

impl Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline(at) => write!(f, "deadline {}", at.as_nanos()),
            Self::Signal(signal) => write!(f, "signal {}", signal.as_raw()),
            Self::Kill => f.write_str("kill"),
        }
    }
}

impl FromStr for Order {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let words: Vec<&str> = text.split(' ').collect();
        match words.as_slice() {
            ["deadline", at] => at.parse().ok().map(|at| Self::Deadline(Duration::from_nanos(at))),
            ["signal", number] => signal(number).map(Self::Signal),
            ["kill"] => Some(Self::Kill),
            _ => None,
        }
        .ok_or_else(|| Malformed(text.to_owned()))
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(group) => write!(f, "ready {}", group.as_raw_nonzero()),
            Self::Failed(why) => write!(f, "failed {why}"),
            Self::Stopped(signal) => write!(f, "stopped {}", signal.as_raw()),
            Self::Asked => f.write_str("asked"),
            Self::Ended(Ending { fate, cause, left_behind, undead }) => {
                write!(f, "ended {fate} {cause} {left_behind} {}", undead.len())?;
                undead.iter().try_for_each(|pid| write!(f, " {pid}"))
            }
        }
    }
}

impl FromStr for Report {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        if let Some(why) = text.strip_prefix("failed ") {
            return Ok(Self::Failed(why.to_owned()));
        }
        let words: Vec<&str> = text.split(' ').collect();
        match words.as_slice() {
            ["ready", pid] => pid.parse().ok().and_then(Pid::from_raw).map(Self::Ready),
            ["stopped", number] => signal(number).map(Self::Stopped),
            ["asked"] => Some(Self::Asked),
            ["ended", ending @ ..] => Ending::parse(ending).map(Self::Ended),
            _ => None,
        }
        .ok_or_else(|| Malformed(text.to_owned()))
    }
}

impl Ending {
    fn parse(words: &[&str]) -> Option<Self> {
        let [how, number, cause, left_behind, count, undead @ ..] = words else { return None };
        let undead: Vec<i32> = undead.iter().map(|pid| pid.parse().ok()).collect::<Option<_>>()?;
        let number = number.parse().ok()?;
        Some(Self {
            fate: match *how {
                "exit" => Fate::Exited(number),
                "signal" => Fate::Signalled(number),
                _ => return None,
            },
            cause: Cause::ALL.into_iter().find(|it| it.to_string() == *cause)?,
            left_behind: left_behind.parse().ok()?,
            undead: (count.parse() == Ok(undead.len())).then_some(undead)?,
        })
    }
}

impl Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl Cause {
    const ALL: [Self; 4] = [Self::Itself, Self::Deadline, Self::Gone, Self::Orphaned];
}

impl Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Itself => "itself",
            Self::Deadline => "deadline",
            Self::Gone => "gone",
            Self::Orphaned => "orphaned",
        })
    }
}

/// A message neither side sends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(String);

impl Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message not understood: {:?}", self.0)
    }
}

impl std::error::Error for Malformed {}

fn signal(number: &str) -> Option<Signal> {
    number.parse().ok().and_then(Signal::from_named_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_read_back_as_they_were_written() {
        let deadline = Order::Deadline(Duration::new(123_456, 789));
        for order in [deadline, Order::Signal(Signal::TSTP), Order::Kill] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
    }

    #[test]
    fn reports_read_back_as_they_were_written() {
        let fate = Fate::Signalled(15);
        let ended = Cause::ALL
            .map(|cause| Report::Ended(Ending { fate, cause, left_behind: 2, undead: vec![7, 9] }));
        let others = [
            Report::Ready(Pid::INIT),
            Report::Failed("fork: out of processes".into()),
            Report::Stopped(Signal::TTIN),
            Report::Asked,
        ];
        for report in ended.into_iter().chain(others) {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "deadline", "deadline -1", "signal 0", "signal 999", "kill now", "ended"] {
            assert!(text.parse::<Order>().is_err(), "{text}");
            assert!(text.parse::<Report>().is_err(), "{text}");
        }
    }
}
