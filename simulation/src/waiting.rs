//! What waits for a lock at the moment.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use checkers::history::{Event, SectionId, Worker};

/// The sections that have asked and are not answered, and whether each looks after that.
#[derive(Debug, Default)]
pub(crate) struct Waiting(Mutex<BTreeMap<SectionId, bool>>);

impl Waiting {
    pub(crate) fn note(&self, event: &Event) {
        match event {
            Event::Asked { section, .. } => {
                self.sections().entry(*section).or_insert(true);
            }
            Event::Granted { section, .. } | Event::GaveUp { section, .. } => {
                self.sections().remove(section);
            }
            _ => {}
        }
    }

    /// It is about to ask, and not to look after that for a while.
    pub(crate) fn will_park(&self, section: SectionId) {
        self.sections().insert(section, false);
    }

    /// Whether any task of a process does and is polled.
    pub(crate) fn in_process(&self, worker: Worker) -> bool {
        self.sections().iter().any(|(section, looks)| *looks && section.worker == worker)
    }

    fn sections(&self) -> MutexGuard<'_, BTreeMap<SectionId, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
