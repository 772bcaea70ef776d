//! Work that was left to a user's runtime, and is taken over if it is not done there in time.
//!
//! A runtime of one thread runs only while somebody blocks on it: between two calls of `block_on`
//! nothing goes on there, and no timer of its own can notice. To hand everything over at once would
//! be safe as well, but costs a second request for each, and a wake-up of the watchdog's thread.

use std::{
    fmt,
    sync::{Mutex, MutexGuard, PoisonError, Weak},
};

use super::Shared;
use crate::clock::Instant;

/// Work on another runtime.
pub(crate) trait Straggling: fmt::Debug + Send + Sync {
    /// Ends it there, if it is not done. What is left of it goes to the releaser by itself.
    fn take_over(&self);
}

/// What is to be looked at, and when. Most of it is done by then, and gone.
#[derive(Debug, Default)]
pub(super) struct List(Mutex<Vec<(Instant, Weak<dyn Straggling>)>>);

impl List {
    /// True if nobody looks after the list yet.
    pub(super) fn add(&self, at: Instant, work: Weak<dyn Straggling>) -> bool {
        let mut list = self.list();
        list.push((at, work));
        list.len() == 1
    }

    /// When all that is listed now may be looked at; `None` if nothing is.
    fn latest(&self) -> Option<Instant> {
        self.list().iter().map(|(at, _)| *at).max()
    }

    fn take_due(&self, now: Instant) -> Vec<Weak<dyn Straggling>> {
        self.list().extract_if(.., |(at, _)| *at <= now).map(|(_, work)| work).collect()
    }

    fn list(&self) -> MutexGuard<'_, Vec<(Instant, Weak<dyn Straggling>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks after the list until it is empty: in few glances, each at all that has gathered.
pub(super) async fn look_after(shared: &Shared) {
    while let Some(at) = shared.stragglers.latest() {
        shared.clock.sleep_until(at).await;
        for work in shared.stragglers.take_due(shared.clock.now()) {
            if let Some(work) = work.upgrade() {
                work.take_over();
            }
        }
    }
}
