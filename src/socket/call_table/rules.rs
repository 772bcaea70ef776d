//! What is known of one server and its keys: which may not share a call, and how it is published.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    clock::Instant,
    wire::{Acquire, Publishing},
};

#[derive(Debug, Default)]
pub(in crate::socket) struct GroupingRules {
    /// Whether a call takes keys of one slot only.
    pub(in crate::socket) by_slot: bool,
    pub(in crate::socket) publishing: Publishing,
    pub(in crate::socket) loners: Loners,
}

/// Names that were refused when they were alone in a call. They stay alone for a while, or they would
/// have the calls of others refused.
#[derive(Debug, Default)]
pub(in crate::socket) struct Loners {
    plain: ExpiryByName,
    /// Behind a look at a mark: the mark's key may be why, and then they are soon asked for without.
    checked: ExpiryByName,
}

type ExpiryByName = BTreeMap<Box<str>, Instant>;

impl Loners {
    pub(in crate::socket) fn note(&mut self, acquire: &Acquire, now: Instant) {
        let all = if acquire.check.is_some() { &mut self.checked } else { &mut self.plain };
        if all.len() >= MOST {
            all.retain(|_, until| now < *until);
        }
        if all.len() < MOST {
            all.insert(acquire.key().into(), now + ALONE);
        }
    }

    pub(in crate::socket) fn has(&self, acquire: &Acquire, now: Instant) -> bool {
        let all = if acquire.check.is_some() { &self.checked } else { &self.plain };
        !all.is_empty() && all.get(acquire.key()).is_some_and(|until| now < *until)
    }
}

const ALONE: Duration = Duration::from_secs(60);
const MOST: usize = 256;
