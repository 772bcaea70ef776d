//! The line of a name: the waiters of one process stand in it, and only the first asks servers.
//!
//! A holder of the lock in this process may offer it to the first in line. An offer belongs to one place.
//! It is taken when that is polled, passed on when it is given up, and withdrawn when it is left for too
//! long: a future may be parked for ever. Then the next one asks servers, and the place that did not take
//! it is passed over until it is polled. So is a first that does not come when it is called.
//!
//! For instance, tasks 1, 2 and 3 wait, and 1 is parked beside a `select!`. The lock is offered to 1, which is not
//! polled, so the offer is withdrawn. Now 2 is the first, and asks servers. Once 1 is polled it is the first again,
//! unless 2 has been granted the lock by then.
//!
//! # Deadlock safety
//! The mutex is a leaf. Wakers run, and offers are given back, after it was let go.

use std::{
    sync::{Arc, PoisonError},
    task::{Context, Poll, Waker},
};

use super::{
    others::Others,
    places::{HandoverTerms, LinePlaces, Offered, Vacated, Withdrawn},
};
use crate::{
    by_member::ByMember,
    clock::Instant,
    error::AcquireError,
    notifier::Listener,
    sync::{Mutex, MutexGuard},
};

/// The waiters for one lock, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Line<T>(Mutex<LineState<T>>);

#[derive(Debug)]
struct LineState<T> {
    places: LinePlaces<T>,
    is_watched: bool,
    /// Whether a task looks whether the first comes when it is called.
    is_attended: bool,
    /// How many were passed over since the first came when it was called.
    absent: usize,
    /// Nothing is granted here any more.
    is_closed: bool,
    released: Option<ReleasedHere>,
    /// Since when the lock has been this process', if it was never left to others meanwhile.
    since: Option<Instant>,
    left: HeadState,
    others: Others,
    trouble: Option<AcquireError>,
}

/// The lock was released here since the first in line asked last.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReleasedHere {
    /// When it may be asked for: before that it is left to other processes.
    pub(super) ask_from: Instant,
    /// How many messages had come by then.
    messages: u64,
}

impl ReleasedHere {
    /// Whether another has released the lock since, too: more was announced than this release.
    pub(super) fn others_had_it(&self, listeners: &ByMember<Listener>) -> bool {
        messages(listeners) > self.messages + listeners.len() as u64
    }
}

/// How many came on all of them.
pub(super) fn messages(listeners: &ByMember<Listener>) -> u64 {
    listeners.values().map(Listener::messages).sum()
}

/// What the first in line has, and leaves to the next.
#[derive(Debug, Default)]
struct HeadState {
    /// One for each member; the subscription lasts as long as the line.
    listeners: Option<Arc<ByMember<Listener>>>,
    /// Set by one that was granted: before this nothing is to be had unless a wake-up comes. A waiter
    /// that gave up leaves `None`, so that the next looks at once: whatever wake-up it had taken is
    /// passed on.
    look_at: Option<Instant>,
}

/// What becomes of a waiter in line.
#[derive(Debug)]
pub(super) enum Summons<T> {
    /// It is the first, and may ask servers.
    First,
    /// It is offered what this process holds.
    Offer(Arc<T>),
    /// Nothing is granted any more.
    Closed,
}

/// What tells the first in line not to sleep any longer.
#[derive(Debug)]
pub(super) enum HeadSignal<T> {
    Offer(Arc<T>),
    /// The lock was released here.
    Released,
}

/// When to look after the first in line again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attention {
    Later,
    /// It did not come, and the next one is called.
    Soon,
}

/// Whether an offer was taken, as far as the task that watches over it is concerned.
#[derive(Debug)]
pub(crate) enum Overdue<T> {
    /// There is none, and none need be watched.
    Nothing,
    /// One that was made meanwhile is to be looked at later: by this number.
    LookAgain(u64),
    /// It was taken, and is not had yet: to be [withdrawn](Line::withdraw_taken) if it never is.
    Taken,
    /// It was not taken, and is to be given back.
    GiveBack(Arc<T>),
}

impl<T: Offered> Line<T> {
    /// The place of the first in a new one.
    pub(super) const FIRST: u64 = 0;

    /// Takes a place. True if the caller is to [look after](Self::look_after_first) the first from now
    /// on.
    pub(super) fn join(&self, takes: Option<HandoverTerms>) -> (u64, bool) {
        let mut state = self.state();
        let place = state.places.join(takes);
        let is_attended = state.is_attended;
        state.is_attended |= state.places.has_several();
        (place, state.is_attended && !is_attended)
    }

    /// Gives up a place. True if it was the last.
    pub(super) fn leave(&self, place: u64) -> bool {
        let mut state = self.state();
        let Vacated { former, waker, taken, unwanted } = state.places.leave(place);
        let is_last = state.places.is_empty();
        // The task that watches over offers has the line for a moment longer.
        let left = if is_last { std::mem::take(&mut state.left) } else { HeadState::default() };
        drop(state);
        drop((former, left, taken));
        waker.into_iter().for_each(Waker::wake);
        if let Some(what) = unwanted {
            what.give_back();
        }
        is_last
    }

    pub(super) fn is_empty(&self) -> bool {
        self.state().places.is_empty()
    }

    pub(super) fn is_first(&self, place: u64) -> bool {
        self.state().places.first() == Some(place)
    }

    /// Ready when it is the first, or is offered something, or all is over.
    pub(super) fn poll_summons(&self, place: u64, cx: &Context<'_>) -> Poll<Summons<T>> {
        // Dropped after the mutex was let go, as it is declared before.
        let _former;
        let mut state = self.state();
        if state.is_closed {
            return Poll::Ready(Summons::Closed);
        }
        if let Some(what) = state.places.take_offer(place) {
            return Poll::Ready(Summons::Offer(what));
        }
        _former = state.places.arrives(place, cx);
        if state.places.first() == Some(place) {
            Poll::Ready(Summons::First)
        } else {
            Poll::Pending
        }
    }

    /// The waiter is there, whatever it does.
    pub(super) fn comes(&self, place: u64, cx: &Context<'_>) {
        let former = self.state().places.arrives(place, cx);
        drop(former);
    }

    /// For the first: ready when it is offered something.
    pub(super) fn poll_offer(&self, place: u64, cx: &Context<'_>) -> Poll<Arc<T>> {
        let _former;
        let mut state = self.state();
        _former = state.places.arrives(place, cx);
        state.places.take_offer(place).map_or(Poll::Pending, Poll::Ready)
    }

    /// For the first: ready when it is offered something, or when the lock was released here.
    pub(super) fn poll_word(&self, place: u64, cx: &Context<'_>) -> Poll<HeadSignal<T>> {
        let _former;
        let mut state = self.state();
        _former = state.places.arrives(place, cx);
        match state.places.take_offer(place) {
            Some(what) => Poll::Ready(HeadSignal::Offer(what)),
            None if state.released.is_some() => Poll::Ready(HeadSignal::Released),
            None => Poll::Pending,
        }
    }

    pub(super) fn take_released(&self) -> Option<ReleasedHere> {
        self.state().released.take()
    }

    // keeps: offer-taken-or-back
    /// Offers `what`, held on `terms`, to the first in line. Returns the number of the offer if it is to
    /// be watched.
    ///
    /// # Errors
    /// It is not taken: it is the caller's.
    pub(crate) fn offer(&self, terms: HandoverTerms, what: Arc<T>) -> Result<Option<u64>, Arc<T>> {
        let mut state = self.state();
        let (number, waker) = state.places.offer(terms, what)?;
        let is_watched = std::mem::replace(&mut state.is_watched, true);
        drop(state);
        waker.into_iter().for_each(Waker::wake);
        Ok((!is_watched).then_some(number))
    }

    // keeps: offer-taken-or-back
    /// Withdraws the offer `number`, or an older one, if it was not taken. The next one in line is offered
    /// nothing, since others have waited for as long as they are to: it asks servers.
    pub(crate) fn withdraw(&self, number: u64) -> Overdue<T> {
        let mut state = self.state();
        let what = match state.places.withdraw(number) {
            Withdrawn::Offer(what) => what,
            Withdrawn::Younger(last) => return Overdue::LookAgain(last),
            Withdrawn::Taken => return Overdue::Taken,
            Withdrawn::Nothing => {
                state.is_watched = false;
                return Overdue::Nothing;
            }
        };
        Self::given_up(state);
        Overdue::GiveBack(what)
    }

    /// Withdraws what was taken of the offer `number`, or an older one, if it is not had yet: the waiter
    /// that took it is parked, while it asks servers for what it needs to have it.
    pub(crate) fn withdraw_taken(&self, number: u64) -> Option<Arc<T>> {
        let mut state = self.state();
        let what = state.places.withdraw_taken(number)?;
        Self::given_up(state);
        Some(what)
    }

    /// What was offered is withdrawn.
    fn given_up(mut state: MutexGuard<'_, LineState<T>>) {
        state.is_watched = false;
        state.since = None;
        let (waker, listeners) = state.pass_over();
        drop(state);
        drop(listeners);
        waker.into_iter().for_each(Waker::wake);
    }

    /// What was taken at a place is had by now, or never will be.
    pub(super) fn has_taken(&self, place: u64) {
        let taken = self.state().places.has_taken(place);
        drop(taken);
    }

    /// Looks whether the first in line comes when it is called: it may be parked for ever, while others
    /// wait behind it. To be asked again while there are any: sooner if it was passed over.
    pub(super) fn look_after_first(&self) -> Option<Attention> {
        let mut state = self.state();
        if !state.places.has_several() {
            state.is_attended = false;
            return None;
        }
        let absent = state.places.pass_over_absent();
        if absent == 0 {
            state.absent = 0;
            let wakers = state.places.call(1);
            drop(state);
            wakers.into_iter().for_each(Waker::wake);
            return Some(Attention::Later);
        }
        state.absent += absent;
        let (waker, listeners) = state.pass_over();
        // Where one does not come others may not either: not one by one.
        let most = state.absent.saturating_mul(CALLED_FOR_EACH);
        let wakers = state.places.call(most);
        drop(state);
        drop(listeners);
        waker.into_iter().chain(wakers).for_each(Waker::wake);
        Some(Attention::Soon)
    }

    /// From now on all waiters, and those that come, are told that nothing is granted any more.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let wakers = state.places.wakers();
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Since when the lock has been this process' without a break: a hold that began at `since` is
    /// passed on, or released for the first in line to ask at once.
    pub(crate) fn ours_since(&self, since: Instant) -> Instant {
        *self.state().since.get_or_insert(since)
    }

    /// The lock is being released here, and may be asked for from `at` on. Others are left time for it,
    /// or it may be as if it had been passed on.
    pub(crate) fn released(&self, at: Instant, is_left_to_others: bool) {
        let mut state = self.state();
        let messages = state.left.listeners.as_deref().map_or(0, messages);
        state.released = Some(ReleasedHere { ask_from: at, messages });
        state.left.look_at = None;
        if is_left_to_others {
            state.since = None;
        }
        let waker = state.places.waker_of_first();
        drop(state);
        waker.into_iter().for_each(Waker::wake);
    }

    /// The first in line has the lock. For those behind it, if there are any: before `look_at` there is
    /// nothing to be had.
    pub(super) fn granted(&self, look_at: impl FnOnce() -> Option<Instant>) {
        let mut state = self.state();
        (state.released, state.trouble) = (None, None);
        if state.places.has_several() {
            state.left.look_at = look_at();
        }
    }

    /// Others had the lock, or might have.
    pub(super) fn was_others(&self) {
        self.state().since = None;
    }

    /// Before when there is nothing to be had, if that is known.
    pub(super) fn take_look_at(&self) -> Option<Instant> {
        self.state().left.look_at.take()
    }

    /// The listeners of the first before.
    pub(super) fn listeners(&self) -> Option<Arc<ByMember<Listener>>> {
        self.state().left.listeners.clone()
    }

    /// Leaves listeners to the next.
    pub(super) fn leave_listeners(&self, listeners: &Arc<ByMember<Listener>>) {
        let before = self.state().left.listeners.replace(listeners.clone());
        // Without the mutex: they unsubscribe.
        drop(before);
    }

    /// The first does not listen, and comes back to it.
    pub(super) fn forget_listeners(&self) {
        let before = self.state().left.listeners.take();
        // Without the mutex: they unsubscribe.
        drop(before);
    }

    /// What keeps the first from asking to an end; `None` once it got an answer.
    pub(super) fn note_trouble(&self, trouble: Option<&AcquireError>) {
        let mut state = self.state();
        if state.trouble.is_some() || trouble.is_some() {
            state.trouble = trouble.cloned();
        }
    }

    pub(super) fn trouble(&self) -> Option<AcquireError> {
        self.state().trouble.clone()
    }

    /// What is known of other processes that wait.
    pub(crate) fn others<R>(&self, look: impl FnOnce(&mut Others) -> R) -> R {
        look(&mut self.state().others)
    }

    fn state(&self) -> MutexGuard<'_, LineState<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// By hand, as that of the places.
impl<T> Default for Line<T> {
    fn default() -> Self {
        Self(Mutex::new(LineState {
            places: LinePlaces::default(),
            is_watched: false,
            is_attended: false,
            absent: 0,
            is_closed: false,
            released: None,
            since: None,
            left: HeadState::default(),
            others: Others::default(),
            trouble: None,
        }))
    }
}

/// How many are called at a time for each that did not come.
const CALLED_FOR_EACH: usize = 8;

impl<T> LineState<T> {
    /// Those that were marked absent stand behind all others. Wakes the first of these, which asks
    /// servers; with what is to be dropped when nothing is locked.
    fn pass_over(&mut self) -> (Option<Waker>, Option<Arc<ByMember<Listener>>>) {
        // A wake-up that the one before has not looked at would be the next one's, too.
        let listeners = self.left.listeners.take();
        self.left.look_at = None;
        (self.places.waker_of_first(), listeners)
    }
}
