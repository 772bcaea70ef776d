//! Claims that nobody has: renewed, and kept for the next user, until one of these ends them:
//! somebody takes one, others wait for it, its client is shut down, its time is over.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::listed::Listed;

/// The claims of a process that nobody has, by their number. It owns them.
#[derive(Debug, Default)]
pub(crate) struct Kept(Mutex<BTreeMap<u64, Arc<dyn Listed>>>);

impl Kept {
    pub(crate) fn keep(&self, id: u64, claim: Arc<dyn Listed>) {
        self.kept().insert(id, claim);
    }

    /// It is somebody's from now on, or over. True if it was kept.
    pub(crate) fn take(&self, id: u64) -> bool {
        // Dropped after the mutex was let go.
        let taken = self.kept().remove(&id);
        taken.is_some()
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.kept().contains_key(&id)
    }

    /// Those who wait for what is announced on `channel` are to have it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for claims kept for the next user"))]
    pub(crate) fn others_wait(&self, channel: &str) {
        let wanted: Vec<_> =
            self.kept().values().filter(|claim| claim.is_announced_on(channel)).cloned().collect();
        wanted.iter().for_each(|claim| claim.give_back());
    }

    #[cfg(test)]
    pub(crate) fn has_any(&self) -> bool {
        !self.kept().is_empty()
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<dyn Listed>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
