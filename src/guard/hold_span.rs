//! The span of a turn with a lock, for subscribers that want spans: others cost nothing.

use std::sync::Arc;

use tracing::{Span, field::Empty};

use crate::{error::LockName, kind::FencingToken, logging::LOCK, panics::contained, telling};

/// A span that ends where subscribers may be called, wherever it is dropped: the last to let a turn go may be the
/// watchdog's thread, or one that has a lock of ours.
#[derive(Debug)]
pub(super) struct HoldSpan(Span);

impl Drop for HoldSpan {
    fn drop(&mut self) {
        let span = std::mem::replace(&mut self.0, Span::none());
        telling::event_elsewhere(move || drop(span));
    }
}

impl HoldSpan {
    /// Begins in the span of the task that acquires; `None` if none is wanted.
    pub(super) fn begin(
        lock: &LockName,
        holder: &Arc<str>,
        token: Option<FencingToken>,
    ) -> Option<Box<Self>> {
        let token = token.map(FencingToken::get);
        // A subscriber that panics costs the span, and no hold.
        let span = contained(
            || tracing::debug_span!(target: LOCK, "hold", %lock, %holder, token, passed_on = Empty),
        );
        span.filter(|span| !span.is_none()).map(|span| Box::new(Self(span)))
    }

    /// What has become of the lock at its end. Nothing is recorded of one that was lost.
    pub(super) fn ended(&self, passed_on: bool) {
        self.0.record("passed_on", passed_on);
    }
}
