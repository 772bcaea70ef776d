//! What is told of an acquire that has ended, where a subscriber wants to know.

use super::target::Target;
use crate::{error::AcquireError, guard::LockGuard, logging::LOCK, telling};

/// Costs a comparison if nothing listens and nothing is measured.
pub(super) fn tell(target: &Target, outcome: &Result<Option<LockGuard>, AcquireError>) {
    let meters = &target.members.first().services.settings.meters;
    match outcome {
        Ok(Some(guard)) => {
            meters.granted(guard.waited());
            guard.turn().was_granted();
        }
        Ok(None) => meters.refused(),
        Err(error) => meters.failed(error),
    }
    if !telling::is_each_wanted() {
        return;
    }
    let lock = target.lock_name();
    match outcome {
        Ok(Some(guard)) => {
            let (holder, waited) = (guard.turn().claim().holder().clone(), guard.waited());
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, %holder, ?waited, "a lock was granted");
            });
        }
        Ok(None) => telling::event(move || {
            tracing::debug!(target: LOCK, %lock, "a lock was refused: another holds it");
        }),
        Err(error) => {
            let error = error.clone();
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, %error, "a lock was not acquired");
            });
        }
    }
}
