//! What is recorded of a run, as it stands on the server.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use super::script::Told;
use crate::error::Shown;

/// A run that is recorded.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::once::RunOutcome;
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// let lock = client.lock("report");
/// lock.once_for("2026-11-26", async |_guard| Ok::<_, std::fmt::Error>(())).await?;
/// let last = lock.last_run().await?.ok_or("none is recorded")?;
/// assert_eq!((last.period.as_deref(), last.outcome), (Some("2026-11-26"), RunOutcome::Done));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedRun {
    /// The id of its period; `None` of one that is due by time.
    pub period: Option<String>,
    /// When it began, by the server's clock.
    pub start: SystemTime,
    /// When it had ended, by the server's clock.
    pub end: SystemTime,
    /// How long ago it began when the server told of it, by the server's clock.
    pub age: Duration,
    /// What it came to.
    pub outcome: RunOutcome,
    /// What the servers knew its hold by.
    pub holder: String,
    /// The [name](crate::ClientBuilder::name) of its client, or else the number of its process.
    pub by: String,
    /// Which run it is.
    pub(super) run_id: String,
}

/// What a run came to.
///
/// # Examples
/// ```
/// use palisade::once::RecordedRun;
///
/// fn line(run: &RecordedRun) -> String {
///     format!("{} by {}", run.outcome, run.by)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunOutcome {
    /// Its work is done.
    Done,
    /// Its work has failed, and that was to be recorded.
    Failed,
}

impl fmt::Display for RunOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Done => "done",
            Self::Failed => "failed",
        })
    }
}

impl fmt::Display for RecordedRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { outcome, by, holder, age, .. } = self;
        if let Some(period) = &self.period {
            write!(f, "{}: ", Shown::new(period))?;
        }
        let (by, holder) = (Shown::new(by), Shown::new(holder));
        write!(f, "{outcome} by {by} ({holder}), begun {}s ago", age.as_secs())
    }
}

/// What stands behind the times.
pub(super) fn rest(outcome: RunOutcome, holder: &str, by: &str, period: Option<&str>) -> Vec<u8> {
    // A line for the rest, then the period, which may have lines of its own.
    let by: String = by.chars().take(MOST_OF_NAME).filter(|c| !c.is_whitespace()).collect();
    let line = format!("{outcome} {holder} {by}");
    period.map_or(line.clone(), |period| format!("{line}\n{period}")).into_bytes()
}

/// In characters: at most four bytes each, so that a record has less than a kilobyte.
const MOST_OF_NAME: usize = 100;

impl RecordedRun {
    /// The record that a server tells; `None` if there is none.
    pub(super) fn of((now, record): Told) -> Option<Self> {
        record.map(|record| Self::read((now, record)))
    }

    /// What is no record of ours counts as a run of which nothing is known: whatever it is, a run would be one too many.
    pub(super) fn read((now, record): (i64, Vec<u8>)) -> Self {
        let record = String::from_utf8_lossy(&record);
        let (line, period) = match record.split_once('\n') {
            Some((line, period)) => (line, Some(period.to_owned())),
            None => (&*record, None),
        };
        let mut words = line.split(' ');
        let run_id = words.next().unwrap_or_default().to_owned();
        let mut time = || words.next().and_then(|word| word.parse().ok()).unwrap_or(now);
        let (start, end) = (time(), time());
        let failed = words.next() == Some("failed");
        let outcome = if failed { RunOutcome::Failed } else { RunOutcome::Done };
        let mut text = || words.next().unwrap_or_default().to_owned();
        let (holder, by) = (text(), text());
        let (start, end, age) = (at(start), at(end), micros(now.saturating_sub(start)));
        Self { period, start, end, age, outcome, holder, by, run_id }
    }
}

fn micros(us: i64) -> Duration {
    Duration::from_micros(u64::try_from(us).unwrap_or(0))
}

fn at(us: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH.checked_add(micros(us)).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(times: &str, rest: Vec<u8>) -> RecordedRun {
        let record = [format!("id {times} ").into_bytes(), rest].concat();
        RecordedRun::of((7_000_000, Some(record))).unwrap()
    }

    #[test]
    fn records_are_read_as_they_are_written() {
        let period = "2026\nW48 ☃";
        let run = read("4000000 6000000", rest(RunOutcome::Failed, "u:1", "web-1:4", Some(period)));
        assert_eq!(run.period.as_deref(), Some(period));
        assert_eq!((run.outcome, &*run.holder, &*run.by), (RunOutcome::Failed, "u:1", "web-1:4"));
        assert_eq!(run.age, Duration::from_secs(3));
        assert_eq!(run.end.duration_since(run.start).unwrap(), Duration::from_secs(2));
        let plain = read("9000000 9000000", rest(RunOutcome::Done, "u:1", "", None));
        // A start that is still to come is none that is over.
        assert_eq!((plain.period, plain.age), (None, Duration::ZERO));
        assert_eq!(RecordedRun::of((7, None)), None);
    }

    #[test]
    fn what_is_no_record_is_a_run_that_began_just_now() {
        for text in ["", "x", "x y z", "\n\n", "-1 -1 -1 -1"] {
            let run = RecordedRun::of((7_000_000, Some(text.into()))).unwrap();
            assert!(run.outcome == RunOutcome::Done, "{text}");
        }
    }

    #[test]
    fn record_has_less_than_a_kilobyte() {
        let (name, period) = ("☃".repeat(400), "x".repeat(256));
        let holder = "x".repeat(36 + 1 + 20);
        let rest = rest(RunOutcome::Failed, &holder, &name, Some(&period));
        assert!(32 + 2 * 21 + rest.len() < 1_000, "{}", rest.len());
    }
}
