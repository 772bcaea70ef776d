//! Histories on disk: a folder of files with a line a record, one file a process; or all in one file
//! that was kept. Nothing else in this package touches a file.

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

use super::{History, Record};

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
}

/// A process may be killed inside its last `write`, so a last line without its end is left out.
fn read_records(text: &str, records: &mut Vec<Record>) -> io::Result<()> {
    for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
        records.push(Record::from_line(line)?);
    }
    Ok(())
}

/// Of a file of records.
pub const EXTENSION: &str = "jsonl";
