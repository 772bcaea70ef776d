//! A counter in a file, for each lock: read, then written, with nothing that makes the two one
//! step but the lock.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::history::{SectionId, Worker};

/// The file that belongs to one lock.
#[derive(Debug)]
pub(super) struct Witness {
    path: PathBuf,
    /// Where this writer prepares a value.
    draft: PathBuf,
}

/// How often it was written, and by whom last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Value {
    pub(super) count: u64,
    pub(super) writer: Option<SectionId>,
}

impl Witness {
    pub(super) fn new(folder: &Path, lock: &str, worker: Worker, lane: u32) -> Self {
        Self {
            path: folder.join(format!("{lock}.witness")),
            draft: folder.join(format!("{lock}.{worker}-{lane}.draft")),
        }
    }

    pub(super) fn read(&self) -> io::Result<Value> {
        match fs::read_to_string(&self.path) {
            Ok(text) => parse(&text).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, format!("not a witness: {text:?}"))
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Value::default()),
            Err(error) => Err(error),
        }
    }

    /// The value appears whole or not at all, but replaces whatever is there by then.
    pub(super) fn write(&self, count: u64, writer: SectionId) -> io::Result<()> {
        fs::write(&self.draft, format!("{count} {writer}\n"))?;
        fs::rename(&self.draft, &self.path)
    }
}

fn parse(text: &str) -> Option<Value> {
    let (count, writer) = text.trim_end().split_once(' ')?;
    Some(Value { count: count.parse().ok()?, writer: Some(writer.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_back_by_another_writer() {
        let folder = tempfile::tempdir().unwrap();
        let worker = "w0.0".parse().unwrap();
        let [ours, theirs] = [0, 1].map(|lane| Witness::new(folder.path(), "red-a", worker, lane));
        assert_eq!(theirs.read().unwrap(), Value::default());
        let writer = "w0.0/1#7".parse().unwrap();
        ours.write(1, writer).unwrap();
        assert_eq!(theirs.read().unwrap(), Value { count: 1, writer: Some(writer) });
    }
}
