//! What was done with count-down latches. Pure.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use super::{Event, Record, SectionId};
use crate::time::Time;

/// One step with a latch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatchStep {
    Set(u64),
    CountDown,
    Delete,
    /// `count`.
    Look,
    Wait,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatchAnswer {
    /// It was set, counted down or deleted; the waiter was let through.
    Done,
    /// It was set already, or not set, or at zero, or not at zero in time.
    NotDone,
    /// Nothing was changed, and nothing learned.
    Failed,
    Count(u64),
    /// Unknown.
    Unknown,
}

/// A step, from when it was begun.
#[derive(Debug, Clone, Copy)]
pub struct LatchUse {
    pub section: SectionId,
    /// The master that the latch is on.
    pub on: usize,
    pub step: LatchStep,
    pub began: Time,
    pub ended: Option<(Time, LatchAnswer)>,
}

impl LatchUse {
    /// When it had ended so.
    pub fn ended(&self, wanted: LatchAnswer) -> Option<Time> {
        self.ended.filter(|(_, answer)| *answer == wanted).map(|(at, _)| at)
    }
}

/// All that was done with each latch, in the order in which it was begun.
pub(crate) fn collect(records: &[Record]) -> BTreeMap<&str, Vec<LatchUse>> {
    let mut latches = BTreeMap::<_, Vec<LatchUse>>::new();
    let mut open = HashMap::new();
    for Record { at, event } in records {
        match event {
            Event::Latching { section, latch, on, step } => {
                let uses = latches.entry(latch.as_str()).or_default();
                open.insert(*section, (latch.as_str(), uses.len()));
                let (on, step) = (*on, *step);
                uses.push(LatchUse { section: *section, on, step, began: *at, ended: None });
            }
            Event::Latched { section, answer } => {
                let place = open.remove(section);
                let used = place.and_then(|(latch, place)| latches.get_mut(latch)?.get_mut(place));
                used.into_iter().for_each(|used| used.ended = Some((*at, *answer)));
            }
            _ => {}
        }
    }
    latches
}
