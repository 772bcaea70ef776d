//! What hears what a lane does.

use std::fmt;

use checkers::history::{Event, SectionId};
use palisade::LockGuard;

use crate::target::Target;

/// Keeps the history, for the checkers to go through afterwards.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Records that this happens now.
    fn record(&self, event: Event);

    /// Something rare that the history does not tell: a run that never saw it has proved nothing
    /// about it.
    fn saw(&self, _what: &'static str) {}

    /// The guard of a section, right before its grant is recorded.
    fn granted(&self, _section: SectionId, _target: &Target, _guard: &LockGuard) {}

    /// The lock of a section was passed on to the next waiter of the process.
    fn passed_on(&self, _section: SectionId) {}

    /// A guard that is about to be orphaned: what it holds stays behind.
    fn orphaned(&self, _guard: &LockGuard) {}
}
