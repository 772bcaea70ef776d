//! Whether the command is due: a run for its period, or lately, may be recorded.

use palisade::{
    LockGuard,
    error::GuardedError,
    once::{Begun, Cadence, RecordError, RunOutcome},
};

use super::outcome::Outcome;
use crate::{args::RunArgs, exit::Failure, refusal, tell};

/// How often it is due, if that was said.
fn cadence(args: &RunArgs) -> Option<Cadence> {
    let every = args.at_most_every.map(Cadence::at_most_every);
    args.once_for.as_ref().map(Cadence::once_for).or(every)
}

/// Looks under the hold. `None`: it is always due.
pub(super) async fn begin<'a>(
    args: &RunArgs,
    guard: &'a LockGuard,
) -> Result<Option<Begun<'a>>, Failure> {
    let Some(cadence) = cadence(args) else { return Ok(None) };
    let begun = cadence.begin(guard).await;
    begun.map(Some).map_err(|error| refusal::of_guarded(&error))
}

/// Records a command that has ended with 0 under the lock; why not, if it is not known to be recorded.
pub(super) async fn record(begun: Option<Begun<'_>>, outcome: &Outcome) -> Option<String> {
    let Some(Begun::Due(run)) = begun.filter(|_| outcome.is_success()) else { return None };
    match run.record(RunOutcome::Done).await {
        // The end of the lock says so by itself.
        Ok(_) | Err(RecordError::Lost(_)) => None,
        Err(RecordError::Unconfirmed(GuardedError::Lost(lost))) => Some(lost.to_string()),
        Err(error) => Some(error.to_string()),
    }
    .inspect(|why| tell(format_args!("the command has ended well, and may be repeated: {why}")))
}
