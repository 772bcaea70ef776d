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
    entries: HashMap<u64, (Instant, T), RandomState>,
}

impl<T: Clone> Schedule<T> {
    pub(crate) fn new() -> Self {
        Self { due: BTreeSet::new(), entries: HashMap::default() }
    }

    /// Adds an entry, or moves it.
    pub(crate) fn insert(&mut self, id: u64, at: Instant, entry: T) {
        if let Some((before, _)) = self.entries.insert(id, (at, entry)) {
            self.due.remove(&(before, id));
        }
        self.due.insert((at, id));
    }

    /// Moves an entry. Does nothing if it was removed meanwhile: what is over stays over.
    pub(crate) fn reschedule(&mut self, id: u64, at: Instant) {
        if let Some((before, _)) = self.entries.get_mut(&id) {
            // The answers of one round all say the same.
            if *before != at {
                self.due.remove(&(*before, id));
                *before = at;
            }
            self.due.insert((at, id));
        }
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<T> {
        let (at, entry) = self.entries.remove(&id)?;
        self.due.remove(&(at, id));
        Some(entry)
    }

    /// When the next entry is due.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The entries due at `now`. They stay, but come again only when they are rescheduled.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<(u64, T)> {
        let mut taken = Vec::new();
        while let Some(&(at, id)) = self.due.first().filter(|(at, _)| *at <= now) {
            self.due.remove(&(at, id));
            if let Some((_, entry)) = self.entries.get(&id) {
                taken.push((id, entry.clone()));
            }
        }
        taken
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
        assert_eq!(schedule.take_due(at(9)), vec![]);
        assert_eq!(schedule.take_due(at(10)), vec![(2, "early")]);
        assert_eq!(schedule.take_due(at(20)), vec![]);
        schedule.reschedule(2, at(25));
        assert_eq!(schedule.take_due(at(30)), vec![(2, "early"), (1, "late")]);
        schedule.reschedule(2, at(25));
        assert_eq!(schedule.take_due(at(30)), vec![(2, "early")]);
    }

    #[test]
    fn what_was_removed_is_not_rescheduled() {
        let mut schedule = Schedule::new();
        schedule.insert(1, at(10), ());
        assert_eq!(schedule.take_due(at(10)).len(), 1);
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
