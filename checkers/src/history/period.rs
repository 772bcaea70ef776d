//! What became of jobs that are to run once for a period. Pure.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{Event, Kind, Record, SectionId};
use crate::time::Time;

/// What a worker was told of a job that it was to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunAnswer {
    /// Its work is done and recorded.
    Done,
    /// Another run is recorded.
    NotDue,
    /// Its work has failed, and that is not recorded.
    Failed,
    /// Its lock was lost.
    Lost,
    /// Its work is done. Whether it is recorded is open.
    Unrecorded,
    /// It was not waited for.
    Dropped,
    /// Its work was not begun.
    NotBegun(String),
}

/// A job that a worker was to run for a period, from when it was told so.
#[derive(Debug, Clone)]
pub struct Trigger {
    pub section: SectionId,
    pub kind: Kind,
    /// The masters that its lock is on; empty: all.
    pub on: Vec<usize>,
    /// How long after the start of a run the next may begin; zero: never, in this period.
    pub every: Duration,
    pub at: Time,
    pub ended: Option<(Time, RunAnswer)>,
}

impl Trigger {
    /// When it had ended so.
    pub fn ended(&self, wanted: &RunAnswer) -> Option<Time> {
        self.ended.as_ref().filter(|(_, answer)| answer == wanted).map(|(at, _)| *at)
    }
}

/// A job, by its lock, and a period.
pub type JobPeriod<'a> = (&'a str, &'a str);

/// The triggers of each period of each job, in the order of time.
pub(crate) fn collect(records: &[Record]) -> BTreeMap<JobPeriod<'_>, Vec<Trigger>> {
    let mut periods = BTreeMap::<_, Vec<Trigger>>::new();
    let mut open = HashMap::new();
    for Record { at, event } in records {
        match event {
            Event::Triggered { section, lock, period, kind, on, every_ms } => {
                let of = (lock.as_str(), period.as_str());
                let triggers = periods.entry(of).or_default();
                open.insert(*section, (of, triggers.len()));
                triggers.push(Trigger {
                    section: *section,
                    kind: *kind,
                    on: on.clone(),
                    every: Duration::from_millis(*every_ms),
                    at: *at,
                    ended: None,
                });
            }
            Event::Answered { section, answer } => {
                let place = open.remove(section);
                let trigger = place.and_then(|(of, place)| periods.get_mut(&of)?.get_mut(place));
                trigger.into_iter().for_each(|it| it.ended = Some((*at, answer.clone())));
            }
            _ => {}
        }
    }
    periods
}
