//! What happened, event by event: the only thing the checkers and the report look at.
//!
//! On disk a history is a folder of files with a line a record, one file a process. All times are on
//! one clock.

mod record;
mod section;
mod weather;

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

pub use record::{Event, Kind, Leftovers, Manner, Record, Refusal, SectionId, Settings, Worker};
pub use section::{Hold, Loss, Section, Write, section_of};
pub use weather::{Outages, Weather};

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
    /// Reads all files of a folder.
    ///
    /// # Errors
    /// A file cannot be read, or is no history.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut records = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == EXTENSION) {
                read_records(&fs::read_to_string(path)?, &mut records)?;
            }
        }
        Self::from_records(records)
    }

    /// Reads a history that was kept.
    ///
    /// # Errors
    /// The file cannot be read, or is no history.
    pub fn read_file(path: &Path) -> io::Result<Self> {
        let mut records = Vec::new();
        read_records(&fs::read_to_string(path)?, &mut records)?;
        Self::from_records(records)
    }

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

    /// Writes all records into one file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_file(&self, path: &Path) -> io::Result<()> {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        for record in &self.records {
            file.write_all(record.to_line().as_bytes())?;
        }
        file.flush()
    }

    /// The names of the locks, sorted, each with its sections in the order in which they asked.
    pub fn by_lock(&self) -> impl Iterator<Item = (&str, Vec<&Section>)> {
        let mut locks = std::collections::BTreeMap::<_, Vec<_>>::new();
        for section in &self.sections {
            locks.entry(section.lock.as_str()).or_default().push(section);
        }
        locks.into_iter()
    }
}

/// A process may be killed inside its last `write`, so a last line without its end is left out.
fn read_records(text: &str, records: &mut Vec<Record>) -> io::Result<()> {
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        records.push(Record::from_line(line)?);
    }
    Ok(())
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Of a file of records.
pub const EXTENSION: &str = "jsonl";
