//! Why a run is not recorded, or was not begun.

use super::record::RecordedRun;
use crate::error::{AcquireError, GuardedError, LockLost};

/// Why a run is not known to be recorded.
///
/// # Examples
/// ```
/// use palisade::once::{BegunRun, RecordError, RunOutcome};
///
/// async fn finish(run: BegunRun<'_>) -> &'static str {
///     match run.record(RunOutcome::Done).await {
///         Ok(_) => "recorded",
///         Err(RecordError::Lost(_)) => "it will be repeated; another may have run meanwhile",
///         Err(RecordError::Another(_)) => "another has run, too, and is recorded",
///         Err(_) => "it may be repeated",
///     }
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The lock was lost before. Nothing was recorded.
    #[error("nothing was recorded: {0}")]
    Lost(#[source] LockLost),
    /// Another run is recorded that leaves no room for this one: it was begun under the same hold, or this hold was
    /// not the only one.
    #[error("another run is recorded: {0}")]
    Another(Box<RecordedRun>),
    /// Too few servers confirmed. Whether it counts as recorded is open.
    #[error("too few servers confirmed the record: {0}")]
    Unconfirmed(#[source] GuardedError),
}

/// Why a job that may be due brought no value, or is not known to be recorded. `T` is the value of its work, `E` the
/// error of that.
///
/// # Examples
/// ```
/// use palisade::{Lock, once::{Once, OnceError}};
///
/// async fn nightly(lock: &Lock, night: &str) -> Result<(), std::io::Error> {
///     let report = async |_guard: &_| std::fs::write("report.txt", "all is well");
///     match lock.once_for(night, report).await {
///         Ok(Once::NotDue(run)) => println!("was there already: {run}"),
///         Ok(_) => println!("done"),
///         Err(OnceError::Failed { error, .. }) => return Err(error),
///         Err(OnceError::Unrecorded { cause, .. }) => eprintln!("done, may be repeated: {cause}"),
///         Err(error) => eprintln!("will be repeated: {error}"),
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError<T, E> {
    /// The lock was not acquired, or this cannot be asked of it. The work was not begun.
    #[error(transparent)]
    Acquire(#[from] AcquireError),
    /// It is not known whether it is due. The work was not begun.
    #[error("not known whether it is due: {0}")]
    Unread(#[source] GuardedError),
    /// The lock was lost: the work was stopped at its next suspension point, unless it had ended. Nothing was recorded.
    #[error("{lost}; nothing was recorded")]
    #[non_exhaustive]
    Lost {
        /// How.
        lost: LockLost,
        /// What the work returned, if it had ended before that was noticed.
        value: Option<T>,
    },
    /// The work is done, and not known to be recorded: it may be repeated.
    #[error("the work is done, and may be repeated: {cause}")]
    #[non_exhaustive]
    Unrecorded {
        /// What the work returned.
        value: T,
        /// Why.
        cause: RecordError,
    },
    /// The work returned an error. It is repeated, unless that was recorded.
    #[error("the work failed: {error}")]
    #[non_exhaustive]
    Failed {
        /// The error.
        error: E,
        /// Whether the failure is [recorded](super::Cadence::record_failures).
        is_recorded: bool,
    },
}
