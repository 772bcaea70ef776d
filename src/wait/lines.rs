//! What stands in which line: one line for each name, for as long as a waiter stands in it.
//!
//! A release thus costs a server one attempt for each *process* that waits, not for each waiter. Most
//! that come find no other, and are granted before the next one comes: to stand alone takes no line.

use std::{
    collections::{HashMap, hash_map::Entry},
    future::poll_fn,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use foldhash::fast::RandomState;

use crate::home::Home;

use super::{
    line::{HeadSignal, Line, Summons},
    places::{HandoverTerms, Offered},
};

/// The lines of a client, or of a process' composites, by name.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    home: Home,
    standing: Mutex<HashMap<Arc<str>, NameLine<T>, RandomState>>,
    /// How many lines were made for waiters that stood alone: each of them looks for its own when there are
    /// more.
    lined_up: AtomicU64,
}

/// What stands there for one name.
#[derive(Debug)]
enum NameLine<T> {
    /// One that takes over a hold on these terms.
    Alone(Option<HandoverTerms>),
    InLine(Arc<Line<T>>),
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { home: Home::here(), standing: Mutex::default(), lined_up: AtomicU64::new(0) }
    }
}

impl<T: Offered> Lines<T> {
    /// The line of a name, if a waiter stands there.
    pub(crate) fn line(&self, key: &str) -> Option<Arc<Line<T>>> {
        Some(self.line_of(self.standing().get_mut(key)?))
    }

    /// Tells all waiters that nothing is granted any more.
    pub(crate) fn close(&self) {
        let standing = self.standing();
        let in_line = |standing: &NameLine<T>| match standing {
            NameLine::InLine(line) => Some(line.clone()),
            NameLine::Alone(_) => None,
        };
        let lines: Vec<_> = standing.values().filter_map(in_line).collect();
        drop(standing);
        lines.iter().for_each(|line| line.close());
    }

    /// Takes a place behind all others, for a waiter that takes over a hold on the terms `takes`. True
    /// if the caller is to look after the first in line from now on.
    pub(crate) fn join(
        self: &Arc<Self>,
        key: &Arc<str>,
        takes: Option<HandoverTerms>,
    ) -> (LinePlace<T>, bool) {
        let mut standing = self.standing();
        match standing.entry(key.clone()) {
            Entry::Vacant(vacant) => {
                vacant.insert(NameLine::Alone(takes));
                (self.place(key, Line::<T>::FIRST, OnceLock::new()), false)
            }
            Entry::Occupied(mut occupied) => self.join_behind(key, occupied.get_mut(), takes),
        }
    }

    /// The same, if there are others.
    pub(super) fn join_others(
        self: &Arc<Self>,
        key: &Arc<str>,
        takes: Option<HandoverTerms>,
    ) -> Option<(LinePlace<T>, bool)> {
        let mut standing = self.standing();
        Some(self.join_behind(key, standing.get_mut(key)?, takes))
    }

    /// With the lock on what stands where: the last to leave removes the line.
    fn join_behind(
        self: &Arc<Self>,
        key: &Arc<str>,
        others: &mut NameLine<T>,
        takes: Option<HandoverTerms>,
    ) -> (LinePlace<T>, bool) {
        let line = self.line_of(others);
        let (number, attends) = line.join(takes);
        (self.place(key, number, line.into()), attends)
    }

    fn place(
        self: &Arc<Self>,
        key: &Arc<str>,
        number: u64,
        line: OnceLock<Arc<Line<T>>>,
    ) -> LinePlace<T> {
        let looked_at = AtomicU64::new(self.lined_up.load(Ordering::Relaxed));
        LinePlace { lines: self.clone(), key: key.clone(), number, line, looked_at }
    }

    /// A waiter that stands alone is the first in a line from now on.
    fn line_of(&self, standing: &mut NameLine<T>) -> Arc<Line<T>> {
        let takes = match standing {
            NameLine::InLine(line) => return line.clone(),
            NameLine::Alone(takes) => *takes,
        };
        let line = Arc::<Line<T>>::default();
        line.join(takes);
        *standing = NameLine::InLine(line.clone());
        self.lined_up.fetch_add(1, Ordering::Relaxed);
        line
    }

    /// Gives up the place of a waiter that stands alone. The line, if it is in one.
    fn leave_alone(&self, key: &Arc<str>) -> Option<Arc<Line<T>>> {
        let mut standing = self.home.lock(&self.standing)?;
        match standing.entry(key.clone()) {
            Entry::Vacant(_) => None,
            Entry::Occupied(mut mine) => match mine.get_mut() {
                NameLine::InLine(line) => Some(line.clone()),
                NameLine::Alone(_) => {
                    mine.remove();
                    None
                }
            },
        }
    }

    /// Removes a line that the last has left, unless another has come since.
    fn remove_if_over(&self, key: &str) {
        let mut standing = self.standing();
        let is_over = |of: &NameLine<T>| matches!(of, NameLine::InLine(line) if line.is_empty());
        let over = if standing.get(key).is_some_and(is_over) { standing.remove(key) } else { None };
        drop(standing);
        // Without the mutex: its listeners unsubscribe.
        drop(over);
    }

    fn standing(&self) -> MutexGuard<'_, HashMap<Arc<str>, NameLine<T>, RandomState>> {
        self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a line, given up when dropped.
#[derive(Debug)]
pub(crate) struct LinePlace<T: Offered> {
    lines: Arc<Lines<T>>,
    key: Arc<str>,
    number: u64,
    /// Missing as long as no other took an interest in what stands here.
    line: OnceLock<Arc<Line<T>>>,
    /// How many lines had been made when it looked for its own last.
    looked_at: AtomicU64,
}

impl<T: Offered> LinePlace<T> {
    /// The line, made if it stands alone.
    pub(super) fn line(&self) -> &Arc<Line<T>> {
        self.line.get_or_init(|| {
            let line = self.lines.line(&self.key);
            line.expect("invariant: whoever has a place stands in the lines")
        })
    }

    /// The line, unless it stands alone.
    pub(super) fn line_if_any(&self) -> Option<&Arc<Line<T>>> {
        let lined_up = self.lines.lined_up.load(Ordering::Relaxed);
        if self.line.get().is_none() && lined_up != self.looked_at.swap(lined_up, Ordering::Relaxed)
        {
            match self.lines.standing().get(&self.key) {
                Some(NameLine::InLine(line)) => drop(self.line.set(line.clone())),
                Some(NameLine::Alone(_)) | None => {}
            }
        }
        self.line.get()
    }

    pub(super) fn is_first(&self) -> bool {
        self.line_if_any().is_none_or(|line| line.is_first(self.number))
    }

    /// Completes when it is the first, or is offered something, or all is over.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(super) async fn summons(&self) -> Summons<T> {
        poll_fn(|cx| self.line().poll_summons(self.number, cx)).await
    }

    /// What it took is had by now, or never will be.
    pub(super) fn has_taken(&self) {
        self.line().has_taken(self.number);
    }

    /// Does something else, and still comes when it is called.
    ///
    /// # Cancel safety
    /// That of `work`.
    pub(super) async fn busy_with<F: Future>(&self, mut work: Pin<&mut F>) -> F::Output {
        poll_fn(|cx| {
            if let Some(line) = self.line_if_any() {
                line.comes(self.number, cx);
            }
            work.as_mut().poll(cx)
        })
        .await
    }

    /// For the first: completes when there is word for it.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing, unless it has completed.
    pub(super) async fn word(&self) -> HeadSignal<T> {
        poll_fn(|cx| self.line().poll_word(self.number, cx)).await
    }

    /// For the first: completes when it is offered something.
    ///
    /// # Cancel safety
    /// As [`word`](Self::word).
    pub(super) async fn offer(&self) -> Arc<T> {
        poll_fn(|cx| self.line().poll_offer(self.number, cx)).await
    }
}

impl<T: Offered> Drop for LinePlace<T> {
    fn drop(&mut self) {
        let line = self.line.take().or_else(|| self.lines.leave_alone(&self.key));
        // A thread that the child of a fork does not have may have held the mutexes.
        if let Some(line) = line.filter(|_| self.lines.home.is_here())
            && line.leave(self.number)
        {
            self.lines.remove_if_over(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::pending,
        task::{Context, Poll, Waker},
    };

    use futures::FutureExt;

    use super::*;

    /// Nothing is offered here.
    #[derive(Debug)]
    struct NoHold;

    impl Offered for NoHold {
        fn give_back(&self) {}
    }

    fn stands_alone(lines: &Lines<NoHold>) -> bool {
        matches!(lines.standing().get("x"), Some(NameLine::Alone(_)))
    }

    #[test]
    fn who_stands_alone_has_no_line_and_leaves_nothing() {
        let (lines, key) = (Arc::<Lines<NoHold>>::default(), Arc::from("x"));
        let (place, attends) = lines.join(&key, None);
        assert!(place.is_first() && !attends && stands_alone(&lines));
        assert!(place.line_if_any().is_none());
        drop(place);
        assert!(lines.line("x").is_none() && lines.standing().is_empty());
    }

    #[test]
    fn who_stood_alone_is_the_first_in_the_line_of_the_next() {
        let (lines, key) = (Arc::<Lines<NoHold>>::default(), Arc::from("x"));
        let (first, _) = lines.join(&key, None);
        let (second, attends) = lines.join(&key, None);
        assert!(attends && first.is_first() && !second.is_first());
        assert!(Arc::ptr_eq(first.line(), second.line()));
        drop(first);
        assert!(second.is_first());
        drop(second);
        assert!(lines.standing().is_empty());
    }

    #[test]
    fn who_stood_alone_leaves_the_line_that_it_never_saw() {
        let (lines, key) = (Arc::<Lines<NoHold>>::default(), Arc::from("x"));
        let (first, _) = lines.join(&key, None);
        let line = lines.line("x").expect("somebody stands there");
        assert!(first.line.get().is_none() && !line.is_empty());
        drop(first);
        assert!(line.is_empty() && lines.standing().is_empty());
    }

    #[test]
    fn who_is_busy_comes_to_the_line_that_others_made() {
        let (lines, key) = (Arc::<Lines<NoHold>>::default(), Arc::from("x"));
        let (first, _) = lines.join(&key, None);
        let mut work = pending::<()>();
        let mut busy = Box::pin(first.busy_with(Pin::new(&mut work)));
        let mut poll = || busy.poll_unpin(&mut Context::from_waker(Waker::noop()));
        assert_eq!(poll(), Poll::Pending);
        let (second, _) = lines.join(&key, None);
        let line = second.line();
        for _ in 0..3 {
            line.look_after_first();
            assert_eq!(poll(), Poll::Pending);
            assert!(!second.is_first(), "the first comes when it is called");
        }
    }
}
