//! Appends events to a process' own file.

use std::{
    fs::File,
    io::{self, Write},
    path::Path,
};

use workload::Observer;

use crate::{
    history::{EXTENSION, Event, Record},
    time::{self, Time},
};

/// A file of records of which this process is the only writer.
#[derive(Debug)]
pub(crate) struct Recorder {
    file: File,
}

impl Recorder {
    /// Makes `<name>.jsonl` in `folder`.
    pub(crate) fn create(folder: &Path, name: &str) -> io::Result<Self> {
        let path = folder.join(format!("{name}.{EXTENSION}"));
        Ok(Self { file: File::options().append(true).create_new(true).open(path)? })
    }

    /// Records that `event` happens now. A worker that is killed after this has returned leaves the
    /// record behind: one `write`, and no buffer of our own.
    ///
    /// # Panics
    /// The record cannot be written: without it the run would prove nothing.
    pub(crate) fn note(&self, event: Event) {
        self.note_at(time::now(), event);
    }

    /// Records that `event` happened at a time that was taken before.
    ///
    /// # Panics
    /// As [`note`](Self::note).
    pub(crate) fn note_at(&self, at: Time, event: Event) {
        let line = Record { at, event }.to_line();
        let written = (&self.file).write(line.as_bytes());
        assert_eq!(written.ok(), Some(line.len()), "the history cannot be written");
    }
}

impl Observer for Recorder {
    fn record(&self, event: Event) {
        self.note(event);
    }
}
