//! What a client has begun that a shutdown is to end.
//!
//! The caller may be a future that is not polled any more, as one that is parked beside a `select!`, and would keep
//! what it does not know of.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::RandomState;

use super::Listed;
use crate::home::Home;

/// What is asked for and not granted yet, by the numbers of the claims.
pub(crate) type Attempts = UnderWay<u64, Arc<dyn Listed>>;
/// The names of the locks at whose turnstiles a server may know of a waiter, by the ids of the waiters.
pub(crate) type InLine = UnderWay<Arc<str>, Arc<str>>;

/// What of one client is under way.
pub(crate) struct UnderWay<K, V> {
    home: Home,
    /// `None` once all were ended.
    all: Mutex<Option<HashMap<K, V, RandomState>>>,
}

impl<K: Eq + Hash + Ord, V> UnderWay<K, V> {
    /// It is under way, until it is said that it is over. False if nothing may begin any more.
    pub(crate) fn begin(&self, id: K, what: V) -> bool {
        let mut all = self.all();
        let Some(all) = &mut *all else { return false };
        all.insert(id, what);
        true
    }

    /// What was under way of this id. `None` in the child of a fork.
    pub(crate) fn end(&self, id: &K) -> Option<V> {
        self.home.lock(&self.all)?.as_mut()?.remove(id)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().as_ref().is_none_or(HashMap::is_empty)
    }

    /// Ends all, and returns it in the order of the ids. From then on none begins.
    pub(crate) fn end_all(&self) -> impl Iterator<Item = (K, V)> {
        let all = self.all().take();
        let mut all: Vec<_> = all.into_iter().flatten().collect();
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all.into_iter()
    }

    fn all(&self) -> MutexGuard<'_, Option<HashMap<K, V, RandomState>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K, V> Default for UnderWay<K, V> {
    fn default() -> Self {
        Self { home: Home::here(), all: Mutex::new(Some(HashMap::default())) }
    }
}

impl<K, V> fmt::Debug for UnderWay<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UnderWay").finish_non_exhaustive()
    }
}
