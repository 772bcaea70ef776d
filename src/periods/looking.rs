//! Looking for a record: with a hold, and without.

use std::sync::Arc;

use futures::future::join_all;

use super::{
    cadence::Cadence,
    record::RecordedRun,
    script::{RecordLook, Told, look_under},
};
use crate::{
    by_member::ByMember,
    error::{ConfigError, GuardedError, InspectError, NodeError},
    guard::LockGuard,
    kind::Admission,
    voting::Voter,
    wire::key,
};

/// Whether records can be kept beside a lock with these members.
pub(super) fn check_members(members: &ByMember<Voter>) -> Result<(), ConfigError> {
    let invalid =
        |reason: &str| Err(ConfigError::InvalidSetting { setting: "once", reason: reason.into() });
    if members.values().any(|of| of.kind.is_shared()) {
        return invalid("several may hold it at a time, so that two would run for one period");
    }
    let first = members.first().kind.name();
    if members.values().any(|of| of.kind.name() != first) {
        return invalid("its members have several names: it is not clear beside which to record");
    }
    Ok(())
}

/// Looks on all servers where the hold stands. `None`: none is recorded, on enough of them.
pub(super) async fn recorded_under(
    guard: &LockGuard,
    cadence: &Cadence,
) -> Result<Option<RecordedRun>, GuardedError> {
    if planted!(RecordNotLookedAt) {
        return Ok(None);
    }
    let members = guard.turn().claim().members();
    let looks = members.iter().map(async |(member, of)| {
        let at = cadence.deciding_key(of.kind.name());
        match look_under(guard, member, &at).await {
            // Too few look there, but a record is one all the same.
            Err(error @ GuardedError::NotHeldThere { .. }) => {
                let told = look(of, at).await.ok();
                (told, Some(error))
            }
            Err(error) => (None, Some(error)),
            Ok(told) => (Some(told), None),
        }
    });
    let (told, errors): (Vec<_>, Vec<_>) = join_all(looks).await.into_iter().unzip();
    if let Some(run) = keeping_from(cadence, told.into_iter().flatten()) {
        return Ok(Some(run));
    }
    let mut errors = errors.into_iter().flatten();
    // As many as may be missing of a majority.
    errors.nth(members.len() - majority(members.len())).map_or(Ok(None), Err)
}

/// Looks without a hold. Of what does not answer nothing is known.
pub(super) async fn recorded_as_told<'a>(
    members: impl Iterator<Item = &'a Voter>,
    cadence: &Cadence,
) -> Option<RecordedRun> {
    let looks = members.map(|of| look(of, cadence.deciding_key(of.kind.name())));
    let told = join_all(looks).await.into_iter().filter_map(Result::ok);
    keeping_from(cadence, told)
}

/// The last of the runs that the servers tell.
pub(super) async fn last<'a>(
    members: impl ExactSizeIterator<Item = &'a Voter>,
) -> Result<Option<RecordedRun>, InspectError> {
    let missing = members.len() - majority(members.len());
    let looks = members.map(async |of| {
        let told = look(of, key::last_run(of.kind.name())).await;
        told.map_err(|source| {
            let (lock, node) = (of.services.shown_name_of(of.kind.name()), of.services.node_id());
            InspectError::Node { lock, node: node.clone(), source }
        })
    });
    let (told, errors): (Vec<_>, Vec<_>) =
        join_all(looks).await.into_iter().partition(Result::is_ok);
    let runs = told.into_iter().flatten().filter_map(RecordedRun::of);
    let last = runs.max_by_key(|run| run.start);
    match (last, errors.into_iter().filter_map(Result::err).nth(missing)) {
        (None, Some(error)) => Err(error),
        (last, _) => Ok(last),
    }
}

/// More than half.
pub(super) const fn majority(of: usize) -> usize {
    of / 2 + 1
}

async fn look(of: &Voter, at: Arc<str>) -> Result<Told, NodeError> {
    let deadline = of.services.now() + of.services.settings.node_timeout;
    let answer = of.services.node.call(of.kind.name(), &RecordLook { at }, deadline).await;
    answer.map(|(_, answer)| answer.reply)
}

/// The one of them that keeps another from being due, for the longest.
fn keeping_from(cadence: &Cadence, told: impl Iterator<Item = Told>) -> Option<RecordedRun> {
    let runs = told.filter_map(RecordedRun::of).filter(|run| !cadence.is_due_after(run));
    runs.min_by_key(|run| run.age)
}

/// Whether a hold keeps all others out.
pub(super) fn check_guard(guard: &LockGuard) -> Result<(), ConfigError> {
    check_members(guard.turn().claim().members())?;
    let is_alone = !guard.turn().claim().is_all(Admission::Shared) && guard.turn().is_exclusive();
    let reason = "the hold keeps no others out, so that two would run for one period";
    let refused = ConfigError::InvalidSetting { setting: "once", reason: reason.into() };
    if is_alone { Ok(()) } else { Err(refused) }
}
