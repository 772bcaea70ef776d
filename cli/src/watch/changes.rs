//! What has changed between two looks. Pure.

use std::collections::{BTreeMap, BTreeSet};

use palisade::inspect::{ListedLock, LockList};

/// What was seen last.
#[derive(Debug)]
pub(super) struct Known {
    /// Of each lock that is held.
    held: BTreeMap<String, Held>,
    /// Those that were asked for by name, and were not told of yet.
    untold: BTreeSet<String>,
    /// Whether too few servers answered.
    is_lost: bool,
}

/// A lock, as far as a change of it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    holders: BTreeSet<String>,
    votes: usize,
    waiting: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) what: &'static str,
    /// `None` if it is about all.
    pub(super) name: Option<String>,
}

impl Known {
    /// Nothing yet, of these names.
    pub(super) fn of(names: &[String]) -> Self {
        Self { held: BTreeMap::new(), untold: names.iter().cloned().collect(), is_lost: false }
    }

    /// What is new. Of too few servers nothing follows, not even that a lock is free.
    pub(super) fn learn(&mut self, list: &LockList) -> Vec<Change> {
        let mut changes = Vec::new();
        let is_lost = 2 * list.answered <= list.asked;
        if is_lost != self.is_lost {
            let what = if is_lost { "unknown" } else { "known" };
            changes.push(Change { what, name: None });
            self.is_lost = is_lost;
        }
        if is_lost {
            return changes;
        }
        let now: BTreeMap<String, Held> = list
            .locks
            .iter()
            .filter(|lock| !lock.holders.is_empty())
            .map(|lock| (lock.name.clone(), Held::of(lock)))
            .collect();
        let gone = self.held.keys().filter(|name| !now.contains_key(*name)).cloned();
        let never = self.untold.iter().filter(|name| !now.contains_key(*name)).cloned();
        let free: BTreeSet<String> = gone.chain(never).collect();
        changes.extend(free.into_iter().map(|name| Change { what: "free", name: Some(name) }));
        for (name, held) in &now {
            let before = self.held.get(name);
            let what = held.differs_from(before);
            changes.extend(what.map(|what| Change { what, name: Some(name.clone()) }));
        }
        self.untold.clear();
        self.held = now;
        changes
    }
}

impl Held {
    fn of(lock: &ListedLock) -> Self {
        let living = lock.holders.iter().filter(|it| !it.is_dead);
        Self {
            holders: living.map(|it| it.holder.id.clone()).collect(),
            votes: lock.votes,
            waiting: lock.waiting,
        }
    }

    fn differs_from(&self, before: Option<&Self>) -> Option<&'static str> {
        let Some(before) = before else { return Some("held") };
        if self.holders != before.holders {
            Some("holder")
        } else if self.votes != before.votes {
            Some("votes")
        } else if self.waiting != before.waiting {
            Some("waiting")
        } else {
            None
        }
    }
}
