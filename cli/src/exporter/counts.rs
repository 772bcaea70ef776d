//! What one pass through all keys found, as numbers. Pure.

use std::{collections::BTreeSet, time::Duration};

use palisade::inspect::{ListedHolder, ListedLock, LockList, SortOfLock};

/// Numbers of locks. Names are not kept: there may be any number of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// How many are held, of each of [`SORTS`].
    pub(super) held: [u64; SORTS.len()],
    /// For how long, of that which is held longest. `None` if none tells.
    pub(super) oldest: Option<Duration>,
    /// How many holders do not tell since when.
    pub(super) of_unknown_age: u64,
    /// How many processes wait for a lock that is held. `None` if that is not known of each.
    pub(super) waiting: Option<u64>,
    /// How many of those that are held are not on all servers.
    pub(super) short_of_votes: u64,
    /// How many more are on too few servers to be held: rounds leave them that are under way or were broken off.
    pub(super) on_too_few: u64,
    /// How many hashes could not be read.
    pub(super) unread: u64,
    /// How many locks were too many to be looked at.
    pub(super) left_out: u64,
}

/// What a lock can be, as its label says it.
pub(super) const SORTS: [SortOfLock; 4] =
    [SortOfLock::Lock, SortOfLock::Fenced, SortOfLock::Fair, SortOfLock::ReadWrite];

impl Counts {
    /// Nothing follows from too few servers, not even that nothing is held.
    pub(super) fn of(list: &LockList, needed: usize) -> Option<Self> {
        // What a part of a cluster's masters has is no count of it.
        let told_in_part: BTreeSet<_> =
            list.failed.iter().map(|(node, _)| node.to_string()).collect();
        if list.asked.saturating_sub(told_in_part.len()) < needed {
            return None;
        }
        let mut counts = Self {
            waiting: Some(0),
            unread: list.unread,
            left_out: list.left_out,
            ..Self::default()
        };
        for lock in &list.locks {
            counts.note(lock, list.asked, needed);
        }
        Some(counts)
    }

    fn note(&mut self, lock: &ListedLock, asked: usize, needed: usize) {
        let living = || lock.holders.iter().filter(|it| !it.is_dead && !it.holder.is_revoked());
        // Where holders differ from server to server, none has the votes of the others.
        let Some(votes) = living().map(|it| it.votes).max() else { return };
        if votes < needed {
            self.on_too_few += 1;
            return;
        }
        for (count, sort) in self.held.iter_mut().zip(SORTS) {
            *count += u64::from(sort == lock.sort);
        }
        self.short_of_votes += u64::from(votes < asked);
        let ages = living().map(ListedHolder::held_for);
        for age in ages {
            self.oldest = self.oldest.max(age);
            self.of_unknown_age += u64::from(age.is_none());
        }
        self.of_unknown_age += lock.more_holders;
        self.waiting = self.waiting.zip(lock.waiting).map(|(all, here)| all + here);
    }
}
