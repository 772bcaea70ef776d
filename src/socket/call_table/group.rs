//! Which acquires share a call, and which go alone.
//!
//! # Invariants
//! - Only those share a call that say the same of all locks, and have the same stamp.
//! - No two of a call are for one name, unless the script takes them in turns: each would be read by
//!   the other's answer.
//! - Whether an acquire is wanted is asked once its place in the order is certain: it is packed then,
//!   or never.

use std::task::Waker;

use smallvec::SmallVec;

use super::{
    CallId, CallTable, QueuedAcquire, QueuedCall,
    call::{CallEnd, CallState, SentPart},
    sent::MOST_LOCKS,
};
use crate::{clock::Instant, socket::clocks::Clocks, wire::key};

/// No more is put in one call, in bytes, than its first lock and so much.
const MOST_BYTES: usize = 64 * 1024;

/// How many that wait may be passed over in search of those that share a call.
const LOOK_AHEAD: usize = 64;

/// A call that is being put together. Its locks are the last of those that are sent.
struct Group {
    /// How many flew before.
    start: usize,
    bytes: usize,
    now: Instant,
    /// A part of the name of each: most that differ, differ there.
    prints: SmallVec<[u64; MOST_LOCKS]>,
}

enum Joins {
    Yes,
    /// It waits for another call.
    Later,
    /// It will not be sent.
    No(Option<Waker>),
}

impl CallTable {
    // keeps: no-blind-resend, one-sender
    /// Packs one call of those acquires that come first and others that may share it. False if none
    /// is left that is wanted.
    pub(super) fn pack_acquires(
        &mut self,
        now: Instant,
        clocks: &Clocks,
        to: &mut Vec<u8>,
        unsent: &mut Vec<Waker>,
    ) -> bool {
        let mut group =
            Group { start: self.sent_acquires.len(), bytes: 0, now, prints: SmallVec::new() };
        let mut passed = Vec::new();
        while self.sent_acquires.len() - group.start < MOST_LOCKS
            && passed.len() < LOOK_AHEAD
            && let Some(id) = self.acquires.pop_front()
        {
            match self.join(id, &mut group, clocks) {
                Joins::Yes => self.sent_acquires.push_back(id),
                Joins::Later => passed.push(id),
                Joins::No(waker) => unsent.extend(waker),
            }
        }
        passed.into_iter().rev().for_each(|id| self.acquires.push_front(id));
        self.write_group(&group, to)
    }

    fn join(&mut self, id: CallId, group: &mut Group, clocks: &Clocks) -> Joins {
        let Some(CallState::Queued { call: QueuedCall::Acquire(queued), .. }) = self.calls.get(id)
        else {
            self.calls.try_remove(id);
            return Joins::No(None);
        };
        if queued.unsent_until.is_some_and(|until| group.now >= until) {
            return Joins::No(self.end(id, CallEnd::late(false)));
        }
        if !self.lanes.has_let_go(queued.behind) {
            return Joins::Later;
        }
        let (size, print) = (queued.source.acquire().size(), queued.source.acquire().print());
        let first = self.sent_acquire(group.start);
        if first.is_some_and(|first| !self.share(group, first, queued, size, print)) {
            return Joins::Later;
        }
        let noted = first.map_or(queued.stamp, |first| first.stamp);
        let stamp = noted.unwrap_or_else(|| group.stamp(queued, clocks));
        if !queued.source.wants(group.now, stamp, queued.reason) {
            return Joins::No(self.end(id, CallEnd::Unwanted));
        }
        self.take_acquire(id, group.now, stamp);
        group.bytes += size;
        group.prints.push(print);
        Joins::Yes
    }

    /// It was noted with this stamp, and its bytes are made next.
    fn take_acquire(&mut self, id: CallId, now: Instant, stamp: i64) {
        let Some(state) = self.calls.get_mut(id) else { return };
        *state = match std::mem::replace(state, CallState::GivenUp) {
            CallState::Queued { call: QueuedCall::Acquire(mut acquire), waiter } => {
                acquire.stamp = Some(stamp);
                // Its call comes behind the word that lets it pass, if it needs one.
                let number = self.taken + u64::from(acquire.is_asking);
                CallState::SentAcquire { sent: now, number, acquire, waiter }
            }
            other => other,
        };
    }

    /// Whether one more may share the call that `first` begins.
    fn share(
        &self,
        group: &Group,
        first: &QueuedAcquire,
        other: &QueuedAcquire,
        size: usize,
        print: u64,
    ) -> bool {
        let (one, two) = (first.source.acquire(), other.source.acquire());
        let is_sent_with = |queued: &QueuedAcquire| {
            (queued.reason, queued.is_asking, queued.part, queued.source.valid())
        };
        // The first has its stamp by now; one that was not sent yet takes the same.
        let stamp = other.stamp.or(first.stamp);
        let is_there = |other: &QueuedAcquire| other.source.acquire().has_key_of(two);
        is_sent_with(first) == is_sent_with(other)
            && first.stamp == stamp
            && one.may_share_with(two)
            && group.bytes + size <= MOST_BYTES
            && (!self.rules.by_slot || key::slot(one.key()) == key::slot(two.key()))
            && ![one, two].into_iter().any(|acquire| self.rules.loners.has(acquire, group.now))
            && (one.may_meet()
                || !group.prints.contains(&print)
                || !(group.start..self.sent_acquires.len())
                    .filter_map(|at| self.sent_acquire(at))
                    .any(is_there))
    }

    /// One of those that are sent.
    fn sent_acquire(&self, at: usize) -> Option<&QueuedAcquire> {
        match self.calls.get(*self.sent_acquires.get(at)?) {
            Some(CallState::SentAcquire { acquire, .. }) => Some(acquire),
            _ => None,
        }
    }

    fn write_group(&mut self, group: &Group, to: &mut Vec<u8>) -> bool {
        if self.sent_acquires.len() == group.start {
            return false;
        }
        let mut words = std::mem::take(&mut self.scratch);
        words.clear();
        let all = (group.start..self.sent_acquires.len()).filter_map(|at| self.sent_acquire(at));
        let locks = self.sent_acquires.len() - group.start;
        let Some(first) = all.clone().next() else { return false };
        let is_asking = first.is_asking;
        let (acquire, stamp) = (first.source.acquire(), first.stamp.unwrap_or(i64::MIN));
        first.form().begin(acquire.script().publishing(self.rules.publishing), &mut words);
        acquire.write_call(all.map(|one| one.source.acquire()), stamp, &mut words);
        if is_asking {
            self.take_asking(group.now, to);
        }
        let what = SentPart::Acquires(locks);
        self.take(what, false, group.now, to, |to| words.write_to(to));
        self.acquire_calls += 1;
        self.scratch = words;
        true
    }
}

impl Group {
    /// Until when it may be executed, by the server's clock.
    fn stamp(&self, queued: &QueuedAcquire, clocks: &Clocks) -> i64 {
        if planted!(GhostStampOff) {
            return i64::MAX;
        }
        let valid = i64::try_from(queued.source.valid().as_micros()).unwrap_or(i64::MAX);
        clocks.server_at(self.now).saturating_add(valid)
    }
}
