//! What a client is asked for and has not granted yet.
//!
//! A shutdown ends it. Its caller may be a future that is not polled any more, as one that is parked
//! beside a `select!`, and would keep what it does not know of.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::RandomState;

use super::Listed;
use crate::home::Home;

/// The attempts of one client that are under way.
pub(crate) struct Attempts {
    home: Home,
    /// By the numbers of their claims; `None` once all were ended.
    all: Mutex<Option<All>>,
}

type All = HashMap<u64, Arc<dyn Listed>, RandomState>;

impl Attempts {
    /// The claim of this number is asked for, until it is said that that is over. False if none may be any
    /// more.
    pub(crate) fn begin(&self, id: u64, claim: Arc<dyn Listed>) -> bool {
        let mut all = self.all();
        let Some(all) = &mut *all else { return false };
        all.insert(id, claim);
        true
    }

    /// Does nothing in the child of a fork.
    pub(crate) fn end(&self, id: u64) {
        let Some(mut all) = self.home.lock(&self.all) else { return };
        let ended = all.as_mut().and_then(|all| all.remove(&id));
        drop(all);
        drop(ended);
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().as_ref().is_none_or(All::is_empty)
    }

    /// Ends all by `shut_down`, in their order. From then on none begins.
    pub(crate) fn end_all(&self, shut_down: impl Fn(&dyn Listed)) {
        let all = self.all().take();
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        all.sort_unstable_by_key(|(id, _)| *id);
        all.iter().for_each(|(_, claim)| shut_down(&**claim));
    }

    fn all(&self) -> MutexGuard<'_, Option<All>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Attempts {
    fn default() -> Self {
        Self { home: Home::here(), all: Mutex::new(Some(All::default())) }
    }
}

impl fmt::Debug for Attempts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempts").finish_non_exhaustive()
    }
}
