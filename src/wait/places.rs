//! What stands in a line, and what is offered to which place.

use std::{
    collections::VecDeque,
    fmt,
    sync::Arc,
    task::{Context, Waker},
};

use crate::lease::Term;

/// How a user holds a lock: what is offered suits a waiter if it is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HandoverTerms {
    pub(crate) lease: Term,
    /// Tells apart what else must be the same.
    pub(crate) sort: u64,
}

/// What is offered to the next in line: a hold without a user.
///
/// A trait because a claim, which alone is offered but for tests, stands above this room.
pub(crate) trait Offered: fmt::Debug + Send + Sync + 'static {
    /// It was not taken, or not had in time: it is released, unless it has a user by now. Never
    /// blocks.
    fn give_back(&self);
}

/// The places of one line, in the order in which they were taken.
#[derive(Debug)]
pub(super) struct LinePlaces<T> {
    /// By their places: mostly the foremost leaves, and one from the middle moves what stands behind it.
    waiters: VecDeque<Waiter>,
    next: u64,
    offer: Option<Offer<T>>,
    /// What was taken, until it is had: that may take a while, or for ever if its waiter is parked.
    taken: Option<Offer<T>>,
    /// How many offers were made.
    offers: u64,
}

#[derive(Debug, Default)]
struct Waiter {
    place: u64,
    /// How it takes what is offered; `None` if it takes nothing.
    takes: Option<HandoverTerms>,
    waker: Option<Waker>,
    /// It did not come when it was offered something, or was called.
    is_absent: bool,
    /// How often it looked.
    polls: u64,
    /// How often it had when it was called last, and once more; 0 if it never was.
    called: u64,
}

#[derive(Debug)]
struct Offer<T> {
    to: u64,
    number: u64,
    terms: HandoverTerms,
    what: Arc<T>,
}

impl<T> LinePlaces<T> {
    pub(super) fn join(&mut self, takes: Option<HandoverTerms>) -> u64 {
        let place = self.next;
        self.next += 1;
        self.waiters.push_back(Waiter { place, takes, ..Waiter::default() });
        place
    }

    /// Gives up a place. What was offered there is passed on.
    pub(super) fn leave(&mut self, place: u64) -> Vacated<T> {
        let was_first = self.first() == Some(place);
        let former = self.index(place).and_then(|index| self.waiters.remove(index)?.waker);
        let waker = if was_first { self.waker_of_first() } else { None };
        let mut vacated = Vacated { former, waker, taken: self.has_taken(place), unwanted: None };
        if let Some(Offer { terms, what, .. }) = self.offer.take_if(|offer| offer.to == place) {
            match self.offer(terms, what) {
                Ok((_, waker)) => vacated.waker = vacated.waker.or(waker),
                Err(what) => vacated.unwanted = Some(what),
            }
        }
        vacated
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
    }

    pub(super) fn has_several(&self) -> bool {
        self.waiters.len() > 1
    }

    /// The offer, if it is none that was made after `number`. Its waiter is passed over from now on.
    pub(super) fn withdraw(&mut self, number: u64) -> Withdrawn<T> {
        let Some(offer) = self.offer.take_if(|offer| offer.number <= number) else {
            return match (&self.offer, &self.taken) {
                (None, None) => Withdrawn::Nothing,
                (None, Some(taken)) if taken.number <= number => Withdrawn::Taken,
                _ => Withdrawn::Younger(self.offers),
            };
        };
        Withdrawn::Offer(self.miss(offer))
    }

    /// What was taken of the offer `number`, or an older one, and is not had yet. Its waiter is passed over.
    pub(super) fn withdraw_taken(&mut self, number: u64) -> Option<Arc<T>> {
        let offer = self.taken.take_if(|offer| offer.number <= number)?;
        Some(self.miss(offer))
    }

    fn miss(&mut self, offer: Offer<T>) -> Arc<T> {
        if let Some(waiter) = self.waiter(offer.to) {
            waiter.is_absent = true;
        }
        offer.what
    }

    /// The first that is there.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiters.iter().find(|waiter| !waiter.is_absent).map(|waiter| waiter.place)
    }

    /// Those in front that were called and have not come: the next one is the first until they do. How
    /// many these are.
    pub(super) fn pass_over_absent(&mut self) -> usize {
        let there = self.waiters.iter_mut().filter(|waiter| !waiter.is_absent);
        let absent = there.take_while(|waiter| waiter.called == waiter.polls + 1);
        absent.map(|waiter| waiter.is_absent = true).count()
    }

    /// Calls the first so many.
    pub(super) fn call(&mut self, most: usize) -> Vec<Waker> {
        let there = self.waiters.iter_mut().filter(|waiter| !waiter.is_absent).take(most);
        let call = |waiter: &mut Waiter| {
            waiter.called = waiter.polls + 1;
            waiter.waker.take()
        };
        there.filter_map(call).collect()
    }

    /// Of all waiters.
    pub(super) fn wakers(&mut self) -> Vec<Waker> {
        self.waiters.iter_mut().filter_map(|waiter| waiter.waker.take()).collect()
    }

    pub(super) fn waker_of_first(&mut self) -> Option<Waker> {
        let first = self.first()?;
        self.waiter(first)?.waker.take()
    }

    pub(super) fn offer(
        &mut self,
        terms: HandoverTerms,
        what: Arc<T>,
    ) -> Result<(u64, Option<Waker>), Arc<T>> {
        let is_free = self.offer.is_none() && self.taken.is_none();
        let first = self.waiters.iter_mut().find(|waiter| is_free && !waiter.is_absent);
        let Some(waiter) = first else { return Err(what) };
        if waiter.takes != Some(terms) {
            return Err(what);
        }
        self.offers += 1;
        let number = self.offers;
        self.offer = Some(Offer { to: waiter.place, number, terms, what });
        Ok((number, waiter.waker.take()))
    }

    /// It may be withdrawn all the same until it [is had](Self::has_taken).
    pub(super) fn take_offer(&mut self, place: u64) -> Option<Arc<T>> {
        let offer = self.offer.take_if(|offer| offer.to == place)?;
        let what = offer.what.clone();
        self.taken = Some(offer);
        Some(what)
    }

    /// What was taken there is had by now, or never will be.
    pub(super) fn has_taken(&mut self, place: u64) -> Option<Arc<T>> {
        self.taken.take_if(|taken| taken.to == place).map(|taken| taken.what)
    }

    /// A waiter looks, and is to be woken by this waker from now on. Returns the one before.
    pub(super) fn arrives(&mut self, place: u64, cx: &Context<'_>) -> Option<Waker> {
        let waiter = self.waiter(place)?;
        waiter.is_absent = false;
        waiter.polls += 1;
        let is_known = |waker: &Waker| waker.will_wake(cx.waker());
        if waiter.waker.as_ref().is_some_and(is_known) {
            return None;
        }
        waiter.waker.replace(cx.waker().clone())
    }

    fn waiter(&mut self, place: u64) -> Option<&mut Waiter> {
        let index = self.index(place)?;
        self.waiters.get_mut(index)
    }

    fn index(&self, place: u64) -> Option<usize> {
        self.waiters.binary_search_by_key(&place, |waiter| waiter.place).ok()
    }
}

// By hand: derived, it would ask for what is offered to have a default.
impl<T> Default for LinePlaces<T> {
    fn default() -> Self {
        Self { waiters: VecDeque::new(), next: 0, offer: None, taken: None, offers: 0 }
    }
}

/// What a place leaves behind, to be dealt with when nothing is locked.
#[derive(Debug)]
pub(super) struct Vacated<T> {
    /// Of the waiter that left.
    pub(super) former: Option<Waker>,
    /// Of the first in line now.
    pub(super) waker: Option<Waker>,
    /// What it was about to have: the caller that gets this ends it.
    pub(super) taken: Option<Arc<T>>,
    /// What was offered to it, and suits no other.
    pub(super) unwanted: Option<Arc<T>>,
}

/// What was found when an offer was to be withdrawn.
#[derive(Debug)]
pub(super) enum Withdrawn<T> {
    Nothing,
    /// The last number.
    Younger(u64),
    /// It was taken, and is not had yet.
    Taken,
    Offer(Arc<T>),
}
