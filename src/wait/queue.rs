//! The queue of a name: those who wait in one process stand in line, only the first asks servers.
//!
//! A release thus costs a server one attempt for each *process* that waits, not for each waiter.
//! tokio's mutex is the line itself: first come, first served, and a waiter that is dropped leaves
//! it without a trace.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::{Mutex as Line, OwnedMutexGuard};

use crate::{by_member::ByMember, clock::Instant, notifier::Listener};

/// What the first in line has, and leaves to the next.
#[derive(Debug, Default)]
pub(crate) struct Turn {
    /// One for each member of the last head; the subscription lasts as long as the queue.
    pub(crate) listeners: Option<ByMember<Listener>>,
    /// Set by a head that was granted: before this nothing is to be had unless a wake-up comes.
    /// A head that gave up leaves `None`, so that the next looks at once: whatever wake-up it had
    /// taken is passed on.
    pub(crate) look_at: Option<Instant>,
}

/// The queues of a client, or of a process' composites, by name.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    queues: Mutex<HashMap<Arc<str>, Queue>>,
}

#[derive(Debug)]
struct Queue {
    line: Arc<Line<Turn>>,
    /// Those in line, the first included.
    size: usize,
}

impl Queues {
    pub(crate) fn is_empty(&self, key: &str) -> bool {
        !self.queues().contains_key(key)
    }

    /// Takes a place at the end of a queue.
    pub(crate) fn join(self: &Arc<Self>, key: &Arc<str>) -> Place {
        let mut queues = self.queues();
        let queue =
            queues.entry(key.clone()).or_insert_with(|| Queue { line: Arc::default(), size: 0 });
        queue.size += 1;
        Place { queues: self.clone(), key: key.clone(), line: queue.line.clone() }
    }

    fn leave(&self, key: &str) {
        let mut queues = self.queues();
        let last = queues.get_mut(key).is_some_and(|queue| {
            queue.size -= 1;
            queue.size == 0
        });
        // Dropped after the mutex was let go: its listeners unsubscribe.
        let queue = if last { queues.remove(key) } else { None };
        drop(queues);
        drop(queue);
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<Arc<str>, Queue>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a queue, given up when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    queues: Arc<Queues>,
    key: Arc<str>,
    line: Arc<Line<Turn>>,
}

impl Place {
    /// Completes when all who came before are gone.
    ///
    /// The place is taken at the first poll, which must follow [`Queues::join`] at once.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<Turn> {
        self.line.clone().lock_owned().await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.queues.leave(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, poll};

    use super::*;

    #[tokio::test]
    async fn turns_come_in_order_and_a_dropped_waiter_is_passed_over() {
        let queues = Arc::new(Queues::default());
        let key: Arc<str> = "x".into();
        let (first, second, third) = (queues.join(&key), queues.join(&key), queues.join(&key));
        let turn = first.turn().await;
        let mut waits = second.turn().boxed();
        let mut waits_longer = third.turn().boxed();
        assert!(poll!(&mut waits).is_pending());
        assert!(poll!(&mut waits_longer).is_pending());
        drop(waits);
        drop(second);
        drop(turn);
        drop(first);
        assert!(poll!(&mut waits_longer).is_ready());
    }

    #[tokio::test]
    async fn the_last_to_leave_removes_the_queue() {
        let queues = Arc::new(Queues::default());
        let key: Arc<str> = "x".into();
        assert!(queues.is_empty(&key));
        let (first, second) = (queues.join(&key), queues.join(&key));
        drop(first);
        assert!(!queues.is_empty(&key));
        drop(second);
        assert!(queues.is_empty(&key));
    }
}
