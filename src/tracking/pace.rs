// keeps: deciders-pure
//! How often a key is read for what is told of it. Pure.
//!
//! # Invariants
//! - A key is read at most once in [`GAP`], or [`SHARED_GAP`] if others may share it; and so often between two
//!   renewals as [`LOOKS`] says. A renewal of ours changes the key, too, and uses up one of them.

use std::{sync::Arc, time::Duration};

use crate::clock::Instant;

/// The least time between two reads of a key.
const GAP: Duration = Duration::from_millis(100);
/// The same of one that many may hold, of whom each tells the others of its coming and going.
const SHARED_GAP: Duration = Duration::from_millis(250);
/// So often a key is read for what is told between two renewals: for the renewal itself, and three times more.
pub(super) const LOOKS: u32 = 4;
/// For so long it is counted how often keys are read beyond their renewals, ...
const WINDOW: Duration = Duration::from_secs(10);
/// ... and for so long none is followed if that was more than once for each, and so often more.
pub(super) const SUSPENDED: Duration = Duration::from_secs(120);
pub(super) const FEW: usize = 64;
/// So many keys are read at once, after which others have a millisecond.
pub(super) const AT_ONCE: usize = 64;
/// Within this all keys are read of which it is not known which have changed, unless a lease is short.
const ALL_WITHIN: Duration = Duration::from_secs(1);

/// A key that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Followed {
    /// Where its holds are listed.
    pub(crate) channel: Arc<str>,
    /// Whether many may hold it.
    pub(crate) is_shared: bool,
    /// How often it is renewed.
    pub(crate) period: Duration,
}

/// How often one key was read, and when.
#[derive(Debug, Default)]
pub(super) struct Pace {
    last: Option<Instant>,
    /// How often it was read for what was told, since when.
    reads: u32,
    since: Option<Instant>,
}

impl Pace {
    /// Another hold has looks of its own.
    pub(super) const fn begin_again(&mut self) {
        (self.reads, self.since) = (0, None);
    }

    /// When it may be read, if it has changed now.
    pub(super) fn next_read(&self, of: &Followed, now: Instant) -> Instant {
        let gap = if of.is_shared { SHARED_GAP } else { GAP };
        let next = self.last.map_or(now, |at| (at + gap).max(now));
        let renewal = self.since.map(|since| since + of.period);
        renewal.filter(|at| self.reads >= LOOKS && next < *at).unwrap_or(next)
    }

    /// Whether a renewal does not explain it.
    pub(super) fn count_read(&mut self, of: &Followed, now: Instant) -> bool {
        self.last = Some(now);
        // What is renewed together may be renewed early.
        if self.since.is_none_or(|since| now >= since + of.period * 3 / 4) {
            (self.reads, self.since) = (0, Some(now));
        }
        self.reads += 1;
        self.reads > 1
    }
}

/// For how long the reads of `keys` that are due at once leave the one at `place` alone.
pub(super) fn pause_of(place: usize, keys: usize) -> Duration {
    let most = AT_ONCE.max(keys / ALL_WITHIN.as_millis() as usize);
    Duration::from_millis((place / most) as u64)
}

/// Reads of all keys that no renewal of ours explains.
#[derive(Debug, Default)]
pub(super) struct Surplus {
    since: Option<Instant>,
    reads: usize,
}

impl Surplus {
    /// Counts one more of so many keys.
    pub(super) fn is_too_much(&mut self, keys: usize, now: Instant) -> bool {
        if self.since.is_none_or(|since| now >= since + WINDOW) {
            (self.since, self.reads) = (Some(now), 0);
        }
        self.reads += 1;
        if self.reads <= keys + FEW {
            return false;
        }
        self.reads = 0;
        true
    }
}
