//! Which of those of one process that wait for one member, each for a lock of several, has waited for longest.
//!
//! They stand in no line, since each wants something else. All hear of a release, and the order in which they ask is
//! that in which they came. Nothing relies on it: each asks soon, whatever its rank.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::{clock::Instant, home::Home};

/// Since when one waits, and a number that no other has.
type Age = (Instant, u64);

/// Those that wait for members of a client, by the names of these.
#[derive(Debug)]
pub(crate) struct Elders {
    home: Home,
    waiting: Mutex<BTreeMap<Arc<str>, BTreeSet<Age>>>,
    entered: AtomicU64,
}

/// How many wait for a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rank {
    /// For longer, no more than [`MOST_AHEAD`](Rank::MOST_AHEAD).
    pub(crate) ahead: u32,
    pub(crate) in_all: u32,
}

impl Rank {
    /// So many are counted: a crowd is not gone through at each release by each of it.
    pub(crate) const MOST_AHEAD: u32 = 8;
}

impl Default for Elders {
    fn default() -> Self {
        Self { home: Home::here(), waiting: Mutex::default(), entered: AtomicU64::new(0) }
    }
}

impl Elders {
    /// Enters one that has waited since then.
    pub(crate) fn enter(self: &Arc<Self>, name: &Arc<str>, since: Instant) -> ElderPlace {
        let age = (since, self.entered.fetch_add(1, Ordering::Relaxed));
        if let Some(mut waiting) = self.home.lock(&self.waiting) {
            waiting.entry(name.clone()).or_default().insert(age);
        }
        ElderPlace { among: self.clone(), name: name.clone(), age }
    }
}

/// One of those that wait, until it is dropped.
#[derive(Debug)]
pub(crate) struct ElderPlace {
    among: Arc<Elders>,
    name: Arc<str>,
    age: Age,
}

impl ElderPlace {
    /// Whether it is one `among` those that wait for `name`.
    pub(crate) fn is_for(&self, among: &Arc<Elders>, name: &str) -> bool {
        Arc::ptr_eq(&self.among, among) && *self.name == *name
    }

    pub(crate) fn rank(&self) -> Rank {
        let waiting = self.among.home.lock(&self.among.waiting);
        let others = waiting.as_ref().and_then(|waiting| waiting.get(&self.name));
        let Some(others) = others else { return Rank { ahead: 0, in_all: 1 } };
        let older = others.iter().take_while(|age| **age < self.age);
        let ahead = older.zip(0..Rank::MOST_AHEAD).count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Rank { ahead: number(ahead), in_all: number(others.len()) }
    }
}

impl Drop for ElderPlace {
    fn drop(&mut self) {
        let Some(mut waiting) = self.among.home.lock(&self.among.waiting) else { return };
        let Some(others) = waiting.get_mut(&self.name) else { return };
        others.remove(&self.age);
        if others.is_empty() {
            waiting.remove(&self.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_origin(Duration::from_millis(ms))
    }

    fn rank(ahead: u32, in_all: u32) -> Rank {
        Rank { ahead, in_all }
    }

    #[test]
    fn those_that_wait_for_longer_are_ahead_whenever_they_were_entered() {
        let (elders, x, y) = (Arc::<Elders>::default(), Arc::from("x"), Arc::from("y"));
        let young = elders.enter(&x, at(7));
        assert_eq!(young.rank(), rank(0, 1));
        let old = elders.enter(&x, at(3));
        let as_old = elders.enter(&x, at(3));
        let elsewhere = elders.enter(&y, at(1));
        assert_eq!(
            [&old, &as_old, &young].map(ElderPlace::rank),
            [rank(0, 3), rank(1, 3), rank(2, 3)]
        );
        assert_eq!(elsewhere.rank(), rank(0, 1));
        assert!(elsewhere.is_for(&elders, "y") && !elsewhere.is_for(&elders, "x"));
        assert!(!elsewhere.is_for(&Arc::default(), "y"));
        drop(old);
        assert_eq!([&as_old, &young].map(ElderPlace::rank), [rank(0, 2), rank(1, 2)]);
        drop((young, as_old, elsewhere));
        assert!(elders.waiting.lock().expect("no test panics").is_empty());
    }

    #[test]
    fn no_more_are_counted_than_matter() {
        let (elders, x) = (Arc::<Elders>::default(), Arc::from("x"));
        let all: Vec<_> = (0..20).map(|ms| elders.enter(&x, at(ms))).collect();
        let last = all.last().map(ElderPlace::rank);
        assert_eq!(last, Some(rank(Rank::MOST_AHEAD, 20)));
    }
}
