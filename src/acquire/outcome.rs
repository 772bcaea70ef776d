//! What is told of an acquire, where a subscriber wants to know.

use tracing::{Metadata, Span, field::Empty};

use super::target::Target;
use crate::{
    error::AcquireError, guard::LockGuard, kind::SortOfLock, logging::LOCK, panics::contained,
    telling,
};

/// The span of an acquire that begins now. Costs a comparison if nothing listens. On the heap: futures of users are not
/// to have room for what few want.
pub(super) fn span(target: &Target) -> Option<Box<Span>> {
    if !telling::is_each_wanted() {
        return None;
    }
    let sort = SortOfLock::of(&*target.members.first().kind);
    let (lock, servers) = (target.lock_name(), target.members.len());
    let span = tracing::debug_span!(
        target: LOCK, NAME, %lock, %sort, servers, rounds = Empty, outcome = Empty, votes = Empty,
        waited = Empty
    );
    (!span.is_none()).then(|| Box::new(span))
}

/// How often the servers were asked, for the span: it is entered, so that futures of users need no room for the number.
pub(super) fn count(rounds: u32) {
    if !telling::is_each_wanted() {
        return;
    }
    // A subscriber that panics is not told, and costs no grant.
    let _told = contained(|| {
        let span = Span::current();
        // That of the caller, where this library's are not wanted.
        let is_ours = |it: &Metadata<'_>| it.target() == LOCK && it.name() == NAME;
        if span.metadata().is_some_and(is_ours) {
            span.record("rounds", rounds);
        }
    });
}

/// Costs a comparison if nothing listens and nothing is measured.
pub(super) fn tell(
    target: &Target,
    outcome: &Result<Option<LockGuard>, AcquireError>,
    span: Option<&Span>,
) {
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
    if let Ok(Some(guard)) = outcome {
        // Beside this one, which would last as long as what is within it.
        guard.turn().begin_span();
    }
    let none = Span::none();
    let span = span.unwrap_or(&none);
    let _told = contained(|| span.in_scope(|| tell_subscribers(target, outcome, span)));
}

fn tell_subscribers(
    target: &Target,
    outcome: &Result<Option<LockGuard>, AcquireError>,
    span: &Span,
) {
    let lock = target.lock_name();
    match outcome {
        Ok(Some(guard)) => {
            record(span, guard);
            let (holder, waited) = (guard.turn().claim().holder().clone(), guard.waited());
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, %holder, ?waited, "a lock was granted");
            });
        }
        Ok(None) => {
            span.record("outcome", "refused");
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, "a lock was refused: another holds it");
            });
        }
        Err(error) => {
            span.record("outcome", "failed");
            let error = error.clone();
            telling::event(move || {
                tracing::debug!(target: LOCK, %lock, %error, "a lock was not acquired");
            });
        }
    }
}

fn record(span: &Span, guard: &LockGuard) {
    span.record("outcome", "granted");
    span.record("votes", guard.turn().claim().votes());
    span.record("waited", tracing::field::debug(guard.waited()));
}

const NAME: &str = "acquire";
