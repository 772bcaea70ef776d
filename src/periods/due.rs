//! Running what is due, under its lock.

use std::panic::{AssertUnwindSafe, resume_unwind};

use futures::FutureExt;

use super::{
    begun::{Begun, BegunRun},
    cadence::Cadence,
    errors::{OnceError, RecordError},
    looking::{self, check_members},
    record::{RecordedRun, RunOutcome},
};
use crate::{
    acquire::{Handle, WaitLimit, release_after_work},
    error::{AcquireError, GuardedError, InspectError},
    guard::Proof,
};

/// What became of a job that was asked for.
///
/// # Examples
/// ```
/// use palisade::once::Once;
///
/// fn line(once: &Once<u32>) -> String {
///     match once {
///         Once::Done(rows) => format!("{rows} rows"),
///         Once::NotDue(run) => format!("not due: {run}"),
///         Once::Held => "another is at it".to_owned(),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Once<T> {
    /// It was due, its work was done, and the run is recorded.
    Done(T),
    /// It was not due: this run is recorded. The work was not begun.
    NotDue(RecordedRun),
    /// Another held the lock for all the time that it was [to be waited for](Cadence::wait_at_most). The work was not
    /// begun.
    Held,
}

/// Runs `work` under the lock, if it is due, and records that.
pub(crate) async fn when_due<P: Proof, T, E>(
    handle: &Handle<P>,
    cadence: &Cadence,
    work: impl AsyncFnOnce(&P) -> Result<T, E>,
) -> Result<Once<T>, OnceError<T, E>> {
    if let Some(run) = past_run(handle, cadence).await? {
        return Ok(Once::NotDue(run));
    }
    let patience = cadence.patience.map_or(WaitLimit::Forever, WaitLimit::of);
    let Some(proof) = handle.acquire(None, patience).await? else {
        return match patience {
            // Only a limit in time can end the wait without a guard.
            WaitLimit::Forever => Err(AcquireError::Shutdown.into()),
            WaitLimit::Once | WaitLimit::For(_) => Ok(Once::Held),
        };
    };
    let done = match cadence.begin(proof.guard()).await {
        Ok(Begun::Due(run)) => run.carry_out(&proof, work).await,
        Ok(Begun::NotDue(run)) => Ok(Once::NotDue(run)),
        Err(GuardedError::Lost(lost)) => Err(OnceError::Lost { lost, value: None }),
        Err(error) => Err(OnceError::Unread(error)),
    };
    release_after_work(proof.into()).await;
    done
}

/// The run that keeps another from being due, without the lock: there may be one that is not told.
pub(crate) async fn past_run<P>(
    handle: &Handle<P>,
    cadence: &Cadence,
) -> Result<Option<RecordedRun>, AcquireError>
where
    P: Proof,
{
    cadence.check()?;
    handle.target.check(handle.lease)?;
    check_members(&handle.target.members)?;
    Ok(looking::recorded_as_told(handle.target.members.values(), cadence).await)
}

/// The last run that is recorded beside a lock.
pub(crate) async fn last_run<P: Proof>(
    handle: &Handle<P>,
) -> Result<Option<RecordedRun>, InspectError> {
    for member in handle.target.members.values() {
        member.check_name()?;
        member.services.check_here()?;
    }
    looking::last(handle.target.members.values()).await
}

impl BegunRun<'_> {
    /// Does the work, and records it as the cadence says.
    async fn carry_out<P: Proof, T, E>(
        self,
        proof: &P,
        work: impl AsyncFnOnce(&P) -> Result<T, E>,
    ) -> Result<Once<T>, OnceError<T, E>> {
        let working = AssertUnwindSafe(proof.guard().run(work(proof)));
        let ended = match working.catch_unwind().await {
            Ok(ended) => ended,
            Err(panic) => {
                self.record_failure().await;
                resume_unwind(panic)
            }
        };
        match ended {
            Err(lost) => Err(OnceError::Lost { lost, value: None }),
            Ok(Err(error)) => {
                let is_recorded = self.record_failure().await;
                Err(OnceError::Failed { error, is_recorded })
            }
            Ok(Ok(value)) => match self.record(RunOutcome::Done).await {
                Ok(_) => Ok(Once::Done(value)),
                Err(RecordError::Lost(lost)) => Err(OnceError::Lost { lost, value: Some(value) }),
                Err(cause) => Err(OnceError::Unrecorded { value, cause }),
            },
        }
    }

    /// Whether it is recorded, which it is only if that was wanted.
    async fn record_failure(&self) -> bool {
        self.records_failures() && self.record(RunOutcome::Failed).await.is_ok()
    }
}
