//! A run that has begun, for programs that do not run their work in a closure.

use std::fmt;

use super::{
    cadence::Cadence,
    errors::RecordError,
    looking::{check_guard, recorded_under},
    record::{RecordedRun, RunOutcome},
    recording::Recording,
};
use crate::{clock::Instant, error::GuardedError, guard::LockGuard};

/// Whether a run is due, under a lock that is held.
///
/// # Examples
/// See [`Cadence::begin`].
#[derive(Debug)]
pub enum Begun<'a> {
    /// It is: to be recorded once its work is done.
    Due(BegunRun<'a>),
    /// It is not: this run keeps it from that.
    NotDue(RecordedRun),
}

/// A run that is due and has begun. Dropped, it is not recorded.
///
/// # Examples
/// See [`Cadence::begin`].
#[must_use = "a run that is not recorded is repeated"]
pub struct BegunRun<'a> {
    guard: &'a LockGuard,
    cadence: Cadence,
    run_id: String,
    began: Instant,
}

impl Cadence {
    /// Looks under a hold whether a run is due. It begins now.
    ///
    /// For programs whose work fits into no closure; [`when_due`](crate::Lock::when_due) is the same for those whose
    /// work does. Begin right after the lock was acquired.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::once::{Begun, Cadence, RunOutcome};
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let guard = client.lock("report").acquire().await?;
    /// match Cadence::once_for("2026-11-26").begin(&guard).await? {
    ///     Begun::NotDue(run) => println!("{run}"),
    ///     Begun::Due(run) => {
    ///         // … the report …
    ///         run.record(RunOutcome::Done).await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    ///
    /// # Errors
    /// [`Config`](GuardedError::Config): it cannot be asked for, or others may hold the lock at the same time.
    /// Else too few servers told what is recorded, of those where the hold stands.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn begin<'a>(&self, guard: &'a LockGuard) -> Result<Begun<'a>, GuardedError> {
        self.check()?;
        guard.ensure_valid()?;
        check_guard(guard)?;
        let process = guard.turn().claim().process();
        let (began, run_id) = (process.clock.now(), process.fresh_id());
        Ok(match recorded_under(guard, self).await? {
            Some(run) => Begun::NotDue(run),
            None => Begun::Due(BegunRun { guard, cadence: self.clone(), run_id, began }),
        })
    }
}

impl BegunRun<'_> {
    pub(super) const fn records_failures(&self) -> bool {
        self.cadence.records_failures
    }

    /// Records what it came to. Where too few servers confirm it is said once more, for some seconds, as long as the
    /// lock is held.
    ///
    /// # Errors
    /// [`RecordError`] says whether the record may stand.
    ///
    /// # Cancel safety
    /// After the future was dropped it is unknown whether it is recorded.
    pub async fn record(&self, outcome: RunOutcome) -> Result<RecordedRun, RecordError> {
        let Self { guard, cadence, run_id, began } = self;
        self.guard.ensure_valid().map_err(RecordError::Lost)?;
        Recording { guard, cadence, run_id, began: *began }.record(outcome).await
    }
}

impl fmt::Debug for BegunRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { guard, cadence, .. } = self;
        f.debug_struct("BegunRun")
            .field("guard", guard)
            .field("cadence", cadence)
            .finish_non_exhaustive()
    }
}
