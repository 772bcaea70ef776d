//! Who stands in which line: one line for each name, for as long as somebody stands in it.
//!
//! A release thus costs a server one attempt for each *process* that waits, not for each waiter.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::RandomState;

use crate::home::Home;

use super::{
    line::{Line, Summons, Word},
    places::{Offered, Terms},
};

/// The lines of a client, or of a process' composites, by name.
#[derive(Debug)]
pub(crate) struct Queues {
    home: Home,
    lines: Mutex<HashMap<Arc<str>, Arc<Line>, RandomState>>,
}

impl Default for Queues {
    fn default() -> Self {
        Self { home: Home::here(), lines: Mutex::default() }
    }
}

impl Queues {
    /// The line of a name, if somebody stands in it.
    pub(crate) fn line(&self, key: &str) -> Option<Arc<Line>> {
        self.lines().get(key).cloned()
    }

    /// Takes a place at the end of a line, for somebody who takes over a hold on the terms `takes`. True if
    /// somebody is to look after the first in line from now on.
    pub(crate) fn join(self: &Arc<Self>, key: &Arc<str>, takes: Option<Terms>) -> (Place, bool) {
        let mut lines = self.lines();
        let line = lines.entry(key.clone()).or_default().clone();
        // Before the lines are let go: who leaves last removes the line.
        let (number, attends) = line.join(takes);
        drop(lines);
        let place = Place { queues: self.clone(), key: key.clone(), line, number };
        (place, attends)
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Line>, RandomState>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a line, given up when dropped.
#[derive(Debug)]
pub(crate) struct Place {
    queues: Arc<Queues>,
    key: Arc<str>,
    line: Arc<Line>,
    number: u64,
}

impl Place {
    pub(super) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    pub(super) fn is_first(&self) -> bool {
        self.line.is_first(self.number)
    }

    /// Completes when it is the first, or is offered something.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn summons(&self) -> Summons {
        poll_fn(|cx| self.line.poll_summons(self.number, cx)).await
    }

    /// For the first: does something else, and still comes when it is called.
    ///
    /// # Cancel safety
    /// That of `work`.
    pub(super) async fn busy_with<F: Future>(&self, mut work: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| {
            self.line.comes(self.number, cx);
            work.as_mut().poll(cx)
        })
        .await
    }

    /// For the first: completes when there is word for it.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing, unless it has completed.
    pub(super) async fn word(&self) -> Word {
        poll_fn(|cx| self.line.poll_word(self.number, cx)).await
    }

    /// For the first: completes when it is offered something.
    ///
    /// # Cancel safety
    /// As [`word`](Self::word).
    pub(super) async fn offer(&self) -> Arc<dyn Offered> {
        poll_fn(|cx| self.line.poll_offer(self.number, cx)).await
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A thread that the child of a fork does not have may have held the mutexes.
        if !self.queues.home.is_here() || !self.line.leave(self.number) {
            return;
        }
        let mut lines = self.queues.lines();
        // Somebody may have come since.
        let is_over = lines.get(&self.key).is_some_and(|line| line.is_empty());
        let line = if is_over { lines.remove(&self.key) } else { None };
        drop(lines);
        // Without the mutex: its listeners unsubscribe.
        drop(line);
    }
}
