//! What the locks guard: a value for each, that says who wrote it last.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use checkers::history::SectionId;

/// Knows nothing of locks: whoever writes is the last.
#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<BTreeMap<&'static str, SectionId>>);

impl Store {
    pub(crate) fn read(&self, name: &str) -> Option<SectionId> {
        self.values().get(name).copied()
    }

    pub(crate) fn write(&self, name: &'static str, writer: SectionId) {
        self.values().insert(name, writer);
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<&'static str, SectionId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
