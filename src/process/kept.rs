//! Claims that nobody has: renewed, and kept for the next user, until one of these ends them:
//! somebody takes one, others wait for it, its client is shut down, its time is over.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::listed::Listed;

/// The claims of a process that nobody has, by their number. It owns them.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    claims: Mutex<BTreeMap<u64, Arc<dyn Listed>>>,
    /// How many: every claim that ends looks here, and mostly there are none.
    count: AtomicUsize,
}

impl Kept {
    pub(crate) fn keep(&self, id: u64, claim: Arc<dyn Listed>) {
        let mut claims = self.claims();
        claims.insert(id, claim);
        self.count.store(claims.len(), Ordering::SeqCst);
    }

    /// It is somebody's from now on, or over. True if it was kept.
    pub(crate) fn take(&self, id: u64) -> bool {
        if self.count.load(Ordering::SeqCst) == 0 {
            return false;
        }
        let taken = {
            let mut claims = self.claims();
            let taken = claims.remove(&id);
            self.count.store(claims.len(), Ordering::SeqCst);
            taken
        };
        // Dropped after the mutex was let go.
        taken.is_some()
    }

    pub(crate) fn has(&self, id: u64) -> bool {
        self.count.load(Ordering::SeqCst) > 0 && self.claims().contains_key(&id)
    }

    /// Those who wait for what is announced on `channel` are to have it.
    #[cfg_attr(not(test), expect(dead_code, reason = "for claims kept for the next user"))]
    pub(crate) fn others_wait(&self, channel: &str) {
        let wanted: Vec<_> = self
            .claims()
            .values()
            .filter(|claim| claim.is_announced_on(channel))
            .cloned()
            .collect();
        wanted.iter().for_each(|claim| claim.give_back());
    }

    #[cfg(test)]
    pub(crate) fn has_any(&self) -> bool {
        !self.claims().is_empty()
    }

    fn claims(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<dyn Listed>>> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
