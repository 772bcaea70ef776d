//! How often a job is due.

use std::{sync::Arc, time::Duration};

use crate::{
    error::ConfigError,
    periods::record::RecordedRun,
    wire::key::{self, MAX_PERIOD},
};

/// How often a job is due, and for how long its runs are recorded.
///
/// # Examples
/// ```
/// # #[cfg(feature = "embedded")]
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::{convert::Infallible, time::Duration};
/// use palisade::once::{Cadence, Once};
///
/// const DAY: Duration = Duration::from_secs(86_400);
///
/// let client = palisade::embedded::Server::start()?.client()?;
/// // A month is longer than records are kept by default.
/// let monthly = Cadence::once_for("2026-11").keep_for(62 * DAY);
/// let lock = client.lock("invoices");
/// let first = lock.when_due(&monthly, async |_guard| Ok::<_, Infallible>(42)).await?;
/// assert!(matches!(first, Once::Done(42)));
/// let second = lock.when_due(&monthly, async |_guard| Ok::<_, Infallible>(43)).await?;
/// assert!(matches!(second, Once::NotDue(_)));
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "embedded"))]
/// # fn main() {}
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cadence {
    due: DueBy,
    keep: Duration,
    pub(super) records_failures: bool,
    /// `None`: as long as it takes.
    pub(super) patience: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum DueBy {
    Period(Arc<str>),
    Pause(Duration),
}

impl Cadence {
    /// Once for the period `id`, which has from 1 to 256 bytes.
    ///
    /// The id comes of the *schedule*: `"2026-11-26T03"` for the run at three o'clock. So it is the same on all
    /// machines, whatever their clocks show.
    #[must_use]
    pub fn once_for(id: impl Into<String>) -> Self {
        Self::of(DueBy::Period(id.into().into()))
    }

    /// Again once `pause` is over since the last recorded *start*, by the server's clock.
    ///
    /// Where a timer asks, take its period less what its ticks may be early: 55 minutes for an hour.
    #[must_use]
    pub const fn at_most_every(pause: Duration) -> Self {
        Self::of(DueBy::Pause(pause))
    }

    const fn of(due: DueBy) -> Self {
        Self { due, keep: KEPT, records_failures: false, patience: None }
    }

    /// For how long the record of a period is kept, from 1 ms to 10 years. Then it may run once more.
    ///
    /// Defaults to 8 days: a weekly job that is asked for a day late still finds its record. A record takes about
    /// half a kilobyte of the server, so those of a job of each minute take 6 MB. Keep it for longer than its
    /// period, and the longest time for which a machine may come late.
    #[must_use]
    pub const fn keep_for(mut self, keep: Duration) -> Self {
        self.keep = keep;
        self
    }

    /// Records a run too whose work returned an error or panicked: it is not due again.
    #[must_use]
    pub const fn record_failures(mut self) -> Self {
        self.records_failures = true;
        self
    }

    /// Waits for the lock for so long at most: with nothing, one attempt. The record is never waited for.
    #[must_use]
    pub const fn wait_at_most(mut self, limit: Duration) -> Self {
        self.patience = Some(limit);
        self
    }

    /// Whether it can be asked for.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let invalid = |setting, reason: &str| {
            Err(ConfigError::InvalidSetting { setting, reason: reason.into() })
        };
        let is_countable = |time: Duration| (LEAST..=MOST).contains(&time);
        match &self.due {
            DueBy::Period(id) if !(1..=MAX_PERIOD).contains(&id.len()) => {
                invalid("period", "its id must have from 1 to 256 bytes")
            }
            DueBy::Pause(pause) if !is_countable(*pause) => {
                invalid("at_most_every", "must be from 1 ms to 10 years")
            }
            _ if !is_countable(self.keep) => invalid("keep_for", "must be from 1 ms to 10 years"),
            _ => Ok(()),
        }
    }

    pub(super) fn period(&self) -> Option<&Arc<str>> {
        match &self.due {
            DueBy::Period(id) => Some(id),
            DueBy::Pause(_) => None,
        }
    }

    /// Where the record of its period is, beside the lock of this key.
    pub(super) fn period_key(&self, lock: &str) -> Option<Arc<str>> {
        self.period().map(|id| key::period(lock, id))
    }

    /// Where the record is that says whether it is due.
    pub(super) fn deciding_key(&self, lock: &str) -> Arc<str> {
        self.period_key(lock).unwrap_or_else(|| key::last_run(lock))
    }

    /// Whether a run is due beside one that is recorded.
    pub(super) fn is_due_after(&self, run: &RecordedRun) -> bool {
        match &self.due {
            DueBy::Period(_) => false,
            DueBy::Pause(pause) => run.age >= *pause,
        }
    }

    /// What another run that is recorded leaves between its start and the next, in µs.
    pub(super) fn room_us(&self) -> u64 {
        match &self.due {
            DueBy::Period(_) => 0,
            DueBy::Pause(pause) => u64::try_from(pause.as_micros()).unwrap_or(u64::MAX),
        }
    }

    /// For how long the records of the period and of the last run are kept, in ms.
    pub(super) fn keeps_ms(&self) -> (u64, u64) {
        let ms = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let pause = if let DueBy::Pause(pause) = self.due { pause } else { Duration::ZERO };
        (ms(self.keep), ms(self.keep.max(pause).max(KEPT)))
    }
}

const KEPT: Duration = Duration::from_secs(8 * 24 * 60 * 60);
const LEAST: Duration = Duration::from_millis(1);
/// In microseconds since 1970 this is still a number that Lua has exactly.
const MOST: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_asked_for_is_refused() {
        let period = |len| Cadence::once_for("x".repeat(len));
        let second = Duration::from_secs(1);
        for good in
            [period(1), period(256), Cadence::at_most_every(second), period(1).keep_for(MOST)]
        {
            assert_eq!(good.check(), Ok(()), "{good:?}");
        }
        for bad in [
            period(0),
            period(257),
            Cadence::at_most_every(Duration::ZERO),
            Cadence::at_most_every(MOST + second),
            period(1).keep_for(Duration::from_micros(999)),
            period(1).keep_for(Duration::MAX),
        ] {
            assert!(bad.check().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn last_run_is_kept_for_as_long_as_any_may_ask_for_it() {
        let day = Duration::from_secs(86_400);
        let kept = |cadence: Cadence| cadence.keeps_ms();
        assert_eq!(kept(Cadence::once_for("x").keep_for(day)), (86_400_000, 8 * 86_400_000));
        assert_eq!(kept(Cadence::at_most_every(31 * day)).1, 31 * 86_400_000);
    }
}
