// keeps: deciders-pure
//! What follows of what is heard of keys. Pure.
//!
//! # Invariants
//! - Of each key at most one read is under way.
//! - A key is read no more often than `pace` has it.

use std::{sync::Arc, time::Duration};

use super::{
    entries::{KeyEntries, KeyPhase},
    news::{NewsStreaks, TrackingNews},
    pace::{Followed, SUSPENDED, Surplus, pause_of},
};
use crate::{clock::Instant, error::NodeError, pubsub::PubSubEvent};

/// A key with so many holders changes so often that nothing can be made of it.
pub(super) const CROWD: u64 = 16;
/// It is left alone for so many renewals: many clients that ask whether it is still one cost more than it does.
const LEFT_ALONE: u32 = 4;

/// After so long what was refused is asked for again: the user may have been given the right.
const REFUSED: Duration = Duration::from_secs(600);

/// So many keys are followed: each costs its server a read with each renewal.
pub(super) const MOST: usize = 1_024;

/// The keys that are followed on one node.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    entries: KeyEntries,
    /// Until when the server is not asked, since it does not tell this user.
    off_until: Option<Instant>,
    surplus: Surplus,
    streaks: NewsStreaks,
}

/// What follows.
#[derive(Debug)]
pub(super) enum TrackingStep {
    /// Reads a key, and has its next change told.
    Read(Arc<str>),
    /// The key is of no interest any more.
    Leave(Arc<str>),
    /// The holds on a channel are looked at.
    Look(Arc<str>),
    Tell(TrackingNews),
}

/// Until when what is held on a channel stands, if anything is.
pub(super) type HeldUntil<'a> = &'a dyn Fn(&str) -> Option<Instant>;

impl KeyTable {
    /// From now on changes of `key` are to be told.
    pub(super) fn follow(
        &mut self,
        key: &Arc<str>,
        followed: Followed,
        now: Instant,
    ) -> Vec<TrackingStep> {
        if self.is_off(now) {
            return Vec::new();
        }
        if let Some(known) = self.entries.get_mut(key) {
            known.followed = followed;
            // Another hold, whose looks are its own.
            known.pace.begin_again();
            // What was told may have come after this one began.
            known.looks |= matches!(known.phase, KeyPhase::Waiting(_));
            return match known.phase {
                KeyPhase::Standing | KeyPhase::Waiting(_) => self.read(key),
                KeyPhase::Reading { .. } | KeyPhase::Unheard => Vec::new(),
            };
        }
        if self.entries.len() >= MOST {
            return told(self.streaks.no_more());
        }
        if self.entries.len() <= MOST / 2 {
            self.streaks.has_room();
        }
        self.entries.insert(key, followed);
        self.read(key)
    }

    /// Takes note of what was heard.
    pub(super) fn on_event(
        &mut self,
        event: &PubSubEvent,
        now: Instant,
        held_until: HeldUntil<'_>,
    ) -> Vec<TrackingStep> {
        match event {
            PubSubEvent::Changed(key) => self.changed(key, now, held_until),
            PubSubEvent::Read(key, holders) => self.was_read(key, *holders, now, held_until),
            PubSubEvent::AllChanged => self.all_changed(now, held_until),
            // A connection that is back at once is no news, nor is one that was shut down.
            PubSubEvent::Gap => {
                self.entries.set_all(KeyPhase::Unheard);
                Vec::new()
            }
            PubSubEvent::GapOn(key) => {
                self.entries.set(key, KeyPhase::Unheard);
                Vec::new()
            }
            PubSubEvent::Refused(key, error) => self.refused(key, error, now),
            PubSubEvent::Message(..)
            | PubSubEvent::Subscribed(_)
            | PubSubEvent::Unsubscribed(_) => Vec::new(),
        }
    }

    /// When the next key is to be read.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.entries.next_due()
    }

    /// Reads the keys that are due.
    pub(super) fn be_due(&mut self, now: Instant, held_until: HeldUntil<'_>) -> Vec<TrackingStep> {
        let mut steps = Vec::new();
        while let Some(key) = self.entries.pop_due(now) {
            steps.extend(self.read_if_held(&key, now, held_until));
        }
        steps
    }

    fn changed(
        &mut self,
        key: &Arc<str>,
        now: Instant,
        held_until: HeldUntil<'_>,
    ) -> Vec<TrackingStep> {
        let Some(known) = self.entries.get_mut(key) else { return Vec::new() };
        match &mut known.phase {
            KeyPhase::Reading { again } => *again = true,
            KeyPhase::Standing => {
                let at = known.next_read(now);
                if at <= now {
                    return self.read_if_held(key, now, held_until);
                }
                self.entries.set(key, KeyPhase::Waiting(at));
            }
            KeyPhase::Waiting(_) | KeyPhase::Unheard => {}
        }
        Vec::new()
    }

    fn was_read(
        &mut self,
        key: &Arc<str>,
        holders: u64,
        now: Instant,
        held_until: HeldUntil<'_>,
    ) -> Vec<TrackingStep> {
        let Some(known) = self.entries.get_mut(key) else { return Vec::new() };
        if holders == 0 && held_until(&known.followed.channel).is_none() {
            // It ended before it was read, so nothing may ever be told of it.
            return self.leave(key);
        }
        let again = known.phase == (KeyPhase::Reading { again: true });
        let is_lone = holders < CROWD;
        let mut steps = Vec::new();
        // What is told of a crowd is mostly that another came or went.
        if std::mem::take(&mut known.looks) && is_lone || holders == 0 {
            steps.push(TrackingStep::Look(known.followed.channel.clone()));
        }
        if let KeyPhase::Waiting(_) = known.phase {
            // It was put off while it was read.
            known.looks = true;
            return steps;
        }
        known.looks = again && is_lone;
        let next = match (is_lone, again) {
            (true, true) => KeyPhase::Waiting(known.next_read(now)),
            (true, false) => KeyPhase::Standing,
            // Whatever is told of it until then does not matter.
            (false, _) => KeyPhase::Waiting(now + known.followed.period * LEFT_ALONE),
        };
        self.entries.set(key, next);
        steps.extend(self.tell_restored());
        steps
    }

    fn all_changed(&mut self, now: Instant, held_until: HeldUntil<'_>) -> Vec<TrackingStep> {
        let standing = self.entries.standing();
        let mut keys: Vec<_> = standing
            .map(|(key, known)| (held_until(&known.followed.channel), key.clone()))
            .collect();
        keys.sort_unstable();
        for (i, (_, key)) in keys.iter().enumerate() {
            let Some(known) = self.entries.get_mut(key) else { continue };
            let pause = pause_of(i, keys.len()).min(known.followed.period / 2);
            let at = known.next_read(now).max(now + pause);
            self.entries.set(key, KeyPhase::Waiting(at));
        }
        self.entries.read_again();
        self.be_due(now, held_until)
    }

    fn refused(&mut self, key: &Arc<str>, error: &NodeError, now: Instant) -> Vec<TrackingStep> {
        if !is_for_good(error) {
            self.entries.set(key, KeyPhase::Unheard);
            if self.entries.len() == 0 {
                return Vec::new();
            }
            return told(self.streaks.lost(error));
        }
        if self.is_off(now) {
            return Vec::new();
        }
        self.off_until = Some(now + REFUSED);
        let left = std::mem::take(&mut self.entries).into_keys().map(TrackingStep::Leave);
        left.chain(told(self.streaks.refused(error))).collect()
    }

    fn is_off(&self, now: Instant) -> bool {
        self.off_until.is_some_and(|until| now < until)
    }

    /// It is not asked for what nobody waits for.
    fn read_if_held(
        &mut self,
        key: &Arc<str>,
        now: Instant,
        held_until: HeldUntil<'_>,
    ) -> Vec<TrackingStep> {
        let Some(known) = self.entries.get_mut(key) else { return Vec::new() };
        if held_until(&known.followed.channel).is_none() {
            return self.leave(key);
        }
        let is_surplus = known.pace.count_read(&known.followed, now);
        known.looks = true;
        if planted!(NotReadAgain) {
            return vec![TrackingStep::Look(known.followed.channel.clone())];
        }
        if is_surplus && self.surplus.is_too_much(self.entries.len(), now) {
            return self.suspend(now);
        }
        self.read(key)
    }

    fn leave(&mut self, key: &Arc<str>) -> Vec<TrackingStep> {
        self.entries.remove(key);
        vec![TrackingStep::Leave(key.clone())]
    }

    fn read(&mut self, key: &Arc<str>) -> Vec<TrackingStep> {
        self.entries.set(key, KeyPhase::Reading { again: false });
        vec![TrackingStep::Read(key.clone())]
    }

    /// All keys wait for a while.
    fn suspend(&mut self, now: Instant) -> Vec<TrackingStep> {
        self.entries.set_all(KeyPhase::Waiting(now + SUSPENDED));
        told(self.streaks.suspended(now))
    }

    fn tell_restored(&mut self) -> Vec<TrackingStep> {
        if self.entries.has_unheard() { Vec::new() } else { told(self.streaks.restored()) }
    }
}

fn told(news: Option<TrackingNews>) -> Vec<TrackingStep> {
    news.map(TrackingStep::Tell).into_iter().collect()
}

/// Whether it would be the same a moment later.
fn is_for_good(error: &NodeError) -> bool {
    match error {
        NodeError::Permission { .. } => true,
        // What it says of RESP3, and what it or a proxy says of what it does not know.
        NodeError::Server { code, message } => {
            let said = message.to_lowercase();
            let words = ["unknown", "not support", "unsupported", "syntax error"];
            &**code == "NOPROTO" || words.iter().any(|word| said.contains(word))
        }
        _ => false,
    }
}
