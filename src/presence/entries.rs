// keeps: deciders-pure
//! Which holds are told, and when. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Weak,
    time::Duration,
};

use crate::clock::Instant;

/// A hold that is noted, as far as a record needs it.
///
/// A trait because holds stand above this room.
pub(crate) trait LongHold: Send + Sync {
    fn is_held(&self) -> bool;
}

/// The noted holds of one client.
#[derive(Default)]
pub(super) struct Entries {
    holds: BTreeMap<u64, Entry>,
    /// Those that the server may have.
    written: BTreeSet<u64>,
    /// When it was written, or was to be, the last time.
    tried: Option<Instant>,
    next: Option<Instant>,
}

struct Entry {
    since: Instant,
    hold: Weak<dyn LongHold>,
}

/// What is to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Writing {
    /// The number of each hold, and for how long it is held.
    pub(super) holds: Vec<(u64, Duration)>,
    /// Numbers that may stand there, and are over.
    pub(super) ended: Vec<u64>,
}

impl Entries {
    /// Notes a hold. Whether it is to be written sooner than anything was.
    pub(super) fn note(
        &mut self,
        number: u64,
        since: Instant,
        hold: Weak<dyn LongHold>,
        now: Instant,
    ) -> bool {
        let known = self.holds.contains_key(&number);
        self.holds.entry(number).or_insert(Entry { since, hold });
        let at = self.tried.map_or(now, |tried| now.max(tried + BETWEEN));
        let is_sooner = !known && self.next.is_none_or(|next| at < next);
        if is_sooner {
            self.next = Some(at);
        }
        is_sooner
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.next
    }

    /// What is to be written now; `None` if it is not time, or nothing is left to say. `again` is when everything is
    /// written once more.
    pub(super) fn take_due(&mut self, now: Instant, again: Duration) -> Option<Writing> {
        if self.next.is_none_or(|next| next > now) {
            return None;
        }
        self.next = None;
        let writing = self.all(now)?;
        self.tried = Some(now);
        if !writing.holds.is_empty() {
            self.next = Some(now + again);
        }
        Some(writing)
    }

    /// What ends the record, if there may be one.
    pub(super) fn take_all(&mut self) -> Option<Writing> {
        self.holds.clear();
        self.next = None;
        let ended: Vec<u64> = self.written.iter().copied().collect();
        (!ended.is_empty()).then(|| Writing { holds: Vec::new(), ended })
    }

    fn all(&mut self, now: Instant) -> Option<Writing> {
        let is_held = |hold: &Weak<dyn LongHold>| hold.upgrade().is_some_and(|hold| hold.is_held());
        self.holds.retain(|_, entry| is_held(&entry.hold));
        let mut holds: Vec<(u64, Duration)> = self
            .holds
            .iter()
            .map(|(number, entry)| (*number, now.saturating_since(entry.since)))
            .collect();
        holds.sort_by_key(|(number, age)| (std::cmp::Reverse(*age), *number));
        holds.truncate(MOST);
        let told: BTreeSet<u64> = holds.iter().map(|(number, _)| *number).collect();
        let ended: Vec<u64> = self.written.difference(&told).copied().collect();
        self.written.extend(told);
        (!holds.is_empty() || !ended.is_empty()).then_some(Writing { holds, ended })
    }

    /// That was written: what was over is not there any more.
    pub(super) fn confirm(&mut self, writing: &Writing) {
        for number in &writing.ended {
            self.written.remove(number);
        }
    }

    /// It may not have been: once more, though nothing may be held.
    pub(super) fn retry(&mut self, at: Instant) {
        if !self.written.is_empty() {
            self.next = Some(self.next.map_or(at, |next| next.min(at)));
        }
    }
}

/// Between two writings, however many holds come.
const BETWEEN: Duration = Duration::from_secs(10);

/// So many holds are told, the oldest ones: a record stays small.
const MOST: usize = 1_000;

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    };

    use super::*;

    struct Switch(AtomicBool);

    impl LongHold for Switch {
        fn is_held(&self) -> bool {
            self.0.load(Ordering::Relaxed)
        }
    }

    fn held() -> Arc<Switch> {
        Arc::new(Switch(AtomicBool::new(true)))
    }

    fn weak(hold: &Arc<Switch>) -> Weak<dyn LongHold> {
        let hold: Arc<dyn LongHold> = hold.clone();
        Arc::downgrade(&hold)
    }

    fn at(secs: u64) -> Instant {
        Instant::from_origin(Duration::from_secs(secs))
    }

    fn secs(secs: u64) -> Duration {
        Duration::from_secs(secs)
    }

    const AGAIN: Duration = Duration::from_secs(25);

    #[test]
    fn the_first_is_written_at_once_and_others_together() {
        let (one, two, mut entries) = (held(), held(), Entries::default());
        assert!(entries.note(1, at(90), weak(&one), at(100)));
        let first = entries.take_due(at(100), AGAIN).unwrap();
        assert_eq!(first, Writing { holds: vec![(1, secs(10))], ended: vec![] });
        entries.confirm(&first);
        assert_eq!(entries.next_due(), Some(at(125)));
        assert!(entries.note(2, at(95), weak(&two), at(101)));
        assert!(!entries.note(2, at(99), weak(&two), at(102)), "it is noted already");
        assert_eq!(entries.next_due(), Some(at(110)));
        assert_eq!(entries.take_due(at(109), AGAIN), None);
        let second = entries.take_due(at(110), AGAIN).unwrap();
        assert_eq!(second.holds, [(1, secs(20)), (2, secs(15))]);
        // All is written again, whether or not anything is new.
        assert_eq!(entries.take_due(at(135), AGAIN).unwrap().holds.len(), 2);
    }

    #[test]
    fn what_is_over_is_taken_out_and_the_last_ends_the_record() {
        let (one, two, mut entries) = (held(), held(), Entries::default());
        entries.note(1, at(90), weak(&one), at(100));
        entries.note(2, at(91), weak(&two), at(100));
        let first = entries.take_due(at(100), AGAIN).unwrap();
        entries.confirm(&first);
        one.0.store(false, Ordering::Relaxed);
        let second = entries.take_due(at(125), AGAIN).unwrap();
        assert_eq!(second, Writing { holds: vec![(2, secs(34))], ended: vec![1] });
        // That was not heard: it is said again.
        entries.retry(at(130));
        let third = entries.take_due(at(130), AGAIN).unwrap();
        assert_eq!(third.ended, [1]);
        entries.confirm(&third);
        drop(two);
        let last = entries.take_due(at(155), AGAIN).unwrap();
        assert_eq!(last, Writing { holds: vec![], ended: vec![2] });
        assert_eq!(entries.next_due(), None);
        entries.retry(at(160));
        assert_eq!(entries.next_due(), Some(at(160)));
        entries.confirm(&last);
        assert_eq!(entries.take_due(at(160), AGAIN), None);
        entries.retry(at(170));
        assert_eq!(entries.next_due(), None);
    }

    #[test]
    fn the_oldest_are_told() {
        let (hold, mut entries) = (held(), Entries::default());
        for number in 0..3_000 {
            entries.note(number, at(5_000 - number), weak(&hold), at(6_000));
        }
        let told = entries.take_due(at(6_000), AGAIN).unwrap().holds;
        assert_eq!((told.len(), told[0].0, told[999].0), (1_000, 2_999, 2_000));
    }

    #[test]
    fn nothing_is_said_of_holds_that_ended_before_they_were_told() {
        let (hold, mut entries) = (held(), Entries::default());
        entries.note(1, at(90), weak(&hold), at(100));
        drop(hold);
        assert_eq!(entries.take_due(at(100), AGAIN), None);
        assert_eq!((entries.next_due(), entries.take_all()), (None, None));
    }
}
