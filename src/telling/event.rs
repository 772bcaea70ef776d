//! Events for subscribers, told where nothing waits for them.

use tracing::{Level, level_filters::LevelFilter};

use super::desk::{desk, is_spared};
use crate::{logging::LOCK, panics::contained};

// keeps: no-guard-across-await
/// Tells subscribers of an event. Not for where a mutex is locked.
pub(crate) fn event(tell: impl FnOnce() + Send + 'static) {
    if is_spared() {
        event_elsewhere(tell);
    } else {
        contained(tell);
    }
}

/// The same for where one may be locked: never on this thread.
pub(crate) fn event_elsewhere(tell: impl FnOnce() + Send + 'static) {
    desk().events.add(Box::new(tell));
}

/// Whether a subscriber may want to know of each acquire and release: a comparison where none does.
pub(crate) fn is_each_wanted() -> bool {
    let wants = || tracing::enabled!(target: LOCK, Level::DEBUG);
    LevelFilter::current() >= LevelFilter::DEBUG
        && (is_spared() || contained(wants).unwrap_or(false))
}
