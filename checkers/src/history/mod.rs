//! What happened, event by event: the only thing the checkers and the report look at.
//!
//! All times are on one clock.

mod files;
mod inscription;
mod latch;
mod period;
mod record;
mod section;
mod weather;

use std::{collections::BTreeMap, io};

pub use files::EXTENSION;
pub use inscription::InscriptionAnswer;
pub use latch::{LatchAnswer, LatchStep, LatchUse};
pub use period::{JobPeriod, RunAnswer, Trigger};
pub use record::{
    Event, Key, Kind, Leftovers, Manner, Record, Refusal, SectionId, Settings, Share, Worker,
};
pub use section::{Hold, Loss, Section, Write, section_of};
pub use weather::{Outages, Weather};

use crate::{spans::Span, time::Time};

/// The records of a whole run, and what they amount to.
#[derive(Debug)]
pub struct History {
    pub settings: Settings,
    /// In the order of time.
    pub records: Vec<Record>,
    /// In the order in which they asked.
    pub sections: Vec<Section>,
    pub weather: Weather,
}

impl History {
    /// What the records amount to.
    ///
    /// # Errors
    /// They have no beginning.
    pub fn from_records(mut records: Vec<Record>) -> io::Result<Self> {
        records.sort_by_key(|record| record.at);
        let settings = records.iter().find_map(|record| match &record.event {
            Event::RunBegan(settings) => Some(settings.clone()),
            _ => None,
        });
        let settings = settings.ok_or_else(|| invalid("a history without its beginning"))?;
        let weather = Weather::of(&records, &settings);
        let sections = section::collect(&records);
        Ok(Self { settings, records, sections, weather })
    }

    /// When a worker was found to be gone, or the history ends.
    pub(crate) fn worker_ended(&self, worker: Worker) -> Time {
        section::ends_of_workers(&self.records).get(&worker).copied().unwrap_or(self.weather.run.to)
    }

    /// What was recorded within `span`.
    pub(crate) fn within(&self, span: Span) -> &[Record] {
        let place = |at| self.records.partition_point(|record| record.at < at);
        self.records.get(place(span.from)..place(span.to)).unwrap_or_default()
    }

    /// The names of the latches, sorted, each with all that was done with it.
    pub fn by_latch(&self) -> BTreeMap<&str, Vec<LatchUse>> {
        latch::collect(&self.records)
    }

    /// The periods of each job, sorted, each with all that asked for it.
    pub fn by_period(&self) -> BTreeMap<JobPeriod<'_>, Vec<Trigger>> {
        period::collect(&self.records)
    }

    /// The names of the locks, sorted, each with its sections in the order in which they asked.
    pub fn by_lock(&self) -> impl Iterator<Item = (&str, Vec<&Section>)> {
        let mut locks = BTreeMap::<_, Vec<_>>::new();
        for section in &self.sections {
            locks.entry(section.lock.as_str()).or_default().push(section);
        }
        locks.into_iter()
    }

    /// The sections that want a member of several locks, by that.
    pub fn by_key(&self) -> impl Iterator<Item = (&Key, Vec<&Section>)> {
        let mut keys = BTreeMap::<_, Vec<_>>::new();
        for section in &self.sections {
            section.keys.iter().for_each(|key| keys.entry(key).or_default().push(section));
        }
        keys.into_iter()
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
