//! What a client is asked for and has not granted yet.
//!
//! A shutdown ends it: its caller may be a future that nobody polls any more, as one that is parked beside
//! a `select!`, and would keep what it does not know of.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, PoisonError, Weak},
};

use foldhash::fast::RandomState;

use super::Listed;
use crate::{
    sync::{Mutex, MutexGuard},
    watchdog::{Drain, Draining},
};

/// The attempts of one client that are under way.
#[derive(Default)]
pub(crate) struct Attempts(Mutex<HashMap<u64, UnderWay, RandomState>>);

struct UnderWay {
    claim: Weak<dyn Listed>,
    /// A shutdown waits for what becomes of it.
    draining: Draining,
}

impl Attempts {
    /// The claim of this number is asked for, until it is said that that is over.
    pub(crate) fn begin(&self, id: u64, claim: Weak<dyn Listed>, drain: &Arc<Drain>) {
        let draining = drain.begin();
        self.all().insert(id, UnderWay { claim, draining });
    }

    pub(crate) fn end(&self, id: u64) {
        let ended = self.all().remove(&id);
        drop(ended);
    }

    /// Ends all by `shut_down`. From then on those who began them are waited for no more.
    pub(crate) fn end_all(&self, shut_down: impl Fn(&dyn Listed)) {
        let mut all: Vec<_> = std::mem::take(&mut *self.all()).into_iter().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        for (_, UnderWay { claim, draining }) in all {
            if let Some(claim) = claim.upgrade() {
                shut_down(&*claim);
            }
            // What has been begun for it by now is counted by itself.
            drop(draining);
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u64, UnderWay, RandomState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").field("under_way", &self.all().len()).finish()
    }
}
