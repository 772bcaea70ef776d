// keeps: deciders-pure
//! The keys that are followed: where each stands, and which is to be read next. Pure.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::pace::{Followed, Pace};
use crate::clock::Instant;

/// Keys that are followed, and which of them is to be read next.
#[derive(Debug, Default)]
pub(super) struct KeyEntries {
    keys: BTreeMap<Arc<str>, FollowedKey>,
    due: BTreeSet<(Instant, Arc<str>)>,
    /// How many keys are unheard.
    unheard: usize,
}

#[derive(Debug)]
pub(super) struct FollowedKey {
    pub(super) followed: Followed,
    /// Of it only `again` is changed outside of [`KeyEntries::set`].
    pub(super) phase: KeyPhase,
    /// Whether its holds are looked at once it was read.
    pub(super) looks: bool,
    pub(super) pace: Pace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyPhase {
    /// A read is under way; `again` if a change was told meanwhile.
    Reading { again: bool },
    /// The next change is told.
    Standing,
    /// It has changed, and is to be read at that time.
    Waiting(Instant),
    /// The connection was lost, or has refused.
    Unheard,
}

impl KeyEntries {
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut FollowedKey> {
        self.keys.get_mut(key)
    }

    pub(super) fn insert(&mut self, key: &Arc<str>, followed: Followed) {
        let (phase, pace) = (KeyPhase::Standing, Pace::default());
        self.keys.insert(key.clone(), FollowedKey { followed, phase, looks: false, pace });
    }

    pub(super) fn remove(&mut self, key: &Arc<str>) {
        self.set(key, KeyPhase::Standing);
        self.keys.remove(key);
    }

    pub(super) fn set(&mut self, key: &Arc<str>, phase: KeyPhase) {
        let Some(known) = self.keys.get_mut(key) else { return };
        let before = std::mem::replace(&mut known.phase, phase);
        known.looks |= phase == KeyPhase::Unheard && !planted!(GapNotLookedAt);
        self.unheard -= usize::from(before == KeyPhase::Unheard);
        self.unheard += usize::from(phase == KeyPhase::Unheard);
        if let KeyPhase::Waiting(at) = before {
            self.due.remove(&(at, key.clone()));
        }
        if let KeyPhase::Waiting(at) = phase {
            self.due.insert((at, key.clone()));
        }
    }

    pub(super) fn set_all(&mut self, phase: KeyPhase) {
        let keys: Vec<_> = self.keys.keys().cloned().collect();
        keys.iter().for_each(|key| self.set(key, phase));
    }

    /// Those that are being read are read once more.
    pub(super) fn read_again(&mut self) {
        for known in self.keys.values_mut() {
            if let KeyPhase::Reading { again } = &mut known.phase {
                *again = true;
            }
        }
    }

    /// Those whose next change is told.
    pub(super) fn standing(&self) -> impl Iterator<Item = (&Arc<str>, &FollowedKey)> {
        self.keys.iter().filter(|(_, known)| known.phase == KeyPhase::Standing)
    }

    pub(super) const fn has_unheard(&self) -> bool {
        self.unheard > 0
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The next of those that are due. Its phase is the caller's to change.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Arc<str>> {
        let is_due = self.next_due().is_some_and(|at| at <= now);
        is_due.then(|| self.due.pop_first())?.map(|(_, key)| key)
    }

    pub(super) fn into_keys(self) -> impl Iterator<Item = Arc<str>> {
        self.keys.into_keys()
    }
}

impl FollowedKey {
    /// When it may be read, if it has changed now.
    pub(super) fn next_read(&self, now: Instant) -> Instant {
        self.pace.next_read(&self.followed, now)
    }
}
