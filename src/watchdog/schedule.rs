// keeps: deciders-pure
//! Which entry is due when. Pure: `now` is an argument.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use foldhash::fast::RandomState;

use crate::clock::Instant;

/// Entries by the instant at which each wants to be looked at.
#[derive(Debug)]
pub(crate) struct Schedule<T> {
    due: BTreeSet<(Instant, u64)>,
    entries: HashMap<u64, Scheduled<T>, RandomState>,
}

#[derive(Debug)]
struct Scheduled<T> {
    /// `None` from when it was taken until it is rescheduled.
    at: Option<Instant>,
    value: T,
}

impl<T: Clone> Schedule<T> {
    pub(crate) fn new() -> Self {
        Self { due: BTreeSet::new(), entries: HashMap::default() }
    }

    /// Adds an entry, or moves it.
    pub(crate) fn insert(&mut self, id: u64, at: Instant, value: T) {
        let before = self.entries.insert(id, Scheduled { at: Some(at), value });
        self.moved(id, before.and_then(|entry| entry.at), at);
    }

    /// Has an entry come at `at`, unless it comes before that: what is due earlier was decided meanwhile, or
    /// finds that nothing is due. Does nothing if it was removed meanwhile: what is over stays over.
    pub(crate) fn reschedule(&mut self, id: u64, at: Instant) {
        if let Some(entry) = self.entries.get_mut(&id)
            && entry.at.is_none_or(|planned| at < planned)
        {
            let before = entry.at.replace(at);
            self.moved(id, before, at);
        }
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<T> {
        let Scheduled { at, value } = self.entries.remove(&id)?;
        if let Some(at) = at {
            self.due.remove(&(at, id));
        }
        Some(value)
    }

    /// When the next entry is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The first entries due at `now`, at most so many. They stay, but come again only when they are
    /// rescheduled.
    pub(crate) fn take_due(&mut self, now: Instant, most: usize) -> Vec<(u64, T)> {
        let mut taken = Vec::new();
        while taken.len() < most
            && self.next().is_some_and(|at| at <= now)
            && let Some((_, id)) = self.due.pop_first()
        {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.at = None;
                taken.push((id, entry.value.clone()));
            }
        }
        taken
    }

    fn moved(&mut self, id: u64, before: Option<Instant>, at: Instant) {
        if let Some(before) = before {
            self.due.remove(&(before, id));
        }
        self.due.insert((at, id));
    }
}

/// When to renew next: a period after `now`, moved back to a grid of a quarter period.
///
/// Holds that were acquired at different moments thus meet in a few batches per period. `phase`
/// differs between processes, so that theirs do not meet.
pub(crate) fn renewal_time(now: Instant, period: Duration, phase: Duration) -> Instant {
    let nanos = |duration: Duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let wanted = (now + period + phase).since_origin();
    let past_grid = Duration::from_nanos(nanos(wanted) % nanos(period / 4).max(1));
    Instant::from_origin(wanted) - past_grid - phase
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    #[test]
    fn entries_come_when_due_and_only_once() {
        let mut schedule = Schedule::new();
        schedule.insert(1, at(30), "late");
        schedule.insert(2, at(10), "early");
        assert_eq!(schedule.next(), Some(at(10)));
        assert_eq!(schedule.take_due(at(9), 9), vec![]);
        assert_eq!(schedule.take_due(at(10), 9), vec![(2, "early")]);
        assert_eq!(schedule.take_due(at(20), 9), vec![]);
        schedule.reschedule(2, at(25));
        assert_eq!(schedule.take_due(at(30), 9), vec![(2, "early"), (1, "late")]);
        schedule.reschedule(2, at(25));
        assert_eq!(schedule.take_due(at(30), 9), vec![(2, "early")]);
    }

    #[test]
    fn no_more_are_taken_at_once_than_were_asked_for() {
        let mut schedule = Schedule::new();
        (0..5).for_each(|id| schedule.insert(id, at(id), id));
        assert_eq!(schedule.take_due(at(3), 2), vec![(0, 0), (1, 1)]);
        assert_eq!(schedule.next(), Some(at(2)));
        assert_eq!(schedule.take_due(at(3), 9), vec![(2, 2), (3, 3)]);
    }

    #[test]
    fn what_was_taken_comes_again_at_the_same_time_if_it_is_rescheduled_for_that() {
        let mut schedule = Schedule::new();
        schedule.insert(1, at(10), ());
        for _ in 0..2 {
            assert_eq!(schedule.take_due(at(10), 9).len(), 1);
            assert_eq!(schedule.take_due(at(10), 9).len(), 0);
            schedule.reschedule(1, at(10));
            schedule.reschedule(1, at(10));
        }
        schedule.insert(1, at(20), ());
        assert_eq!(schedule.next(), Some(at(20)));
    }

    /// As by a re-entry, while the watchdog computes when to look next.
    #[test]
    fn what_is_to_come_earlier_is_not_put_off() {
        let mut schedule = Schedule::new();
        schedule.insert(1, at(10), ());
        assert_eq!(schedule.take_due(at(10), 9).len(), 1);
        schedule.reschedule(1, at(11));
        schedule.reschedule(1, at(500));
        assert_eq!(schedule.next(), Some(at(11)));
        assert_eq!(schedule.take_due(at(11), 9).len(), 1);
        schedule.reschedule(1, at(500));
        assert_eq!(schedule.next(), Some(at(500)));
    }

    #[test]
    fn what_was_removed_is_not_rescheduled() {
        let mut schedule = Schedule::new();
        schedule.insert(1, at(10), ());
        assert_eq!(schedule.take_due(at(10), 9).len(), 1);
        assert!(schedule.remove(1).is_some());
        schedule.reschedule(1, at(20));
        assert_eq!(schedule.next(), None);
        assert!(schedule.remove(1).is_none());
    }

    #[test]
    fn renewals_meet_on_a_grid_within_a_third_of_the_lease() {
        let period = Duration::from_millis(400);
        for phase in [0, 7, 93].map(Duration::from_millis) {
            let mut times = BTreeSet::new();
            for now in 1000..1400 {
                let next = renewal_time(at(now), period, phase);
                let wait = next.saturating_since(at(now));
                assert!(wait <= period && wait > period * 3 / 4 - Duration::from_millis(1));
                times.insert(next);
            }
            assert!(times.len() <= 5, "{times:?}");
        }
    }

    #[test]
    fn a_renewal_right_at_its_time_keeps_the_full_period() {
        let period = Duration::from_millis(400);
        let first = renewal_time(at(1234), period, Duration::from_millis(7));
        let second = renewal_time(first, period, Duration::from_millis(7));
        assert_eq!(second.saturating_since(first), period);
    }
}
