//! A counter in a file, for each lock: read, then written, with nothing that makes the two one
//! step but the lock.
//!
//! Whoever has a fencing token shows it with both. The greatest is kept beside the counter, and
//! whoever comes with a lesser one is refused: what a holder that was stopped does late does no
//! harm, whenever it was stopped.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use crate::history::SectionId;

/// The file that belongs to one lock.
#[derive(Debug)]
pub(super) struct Witness {
    path: PathBuf,
}

/// How often it was written, by whom last, and the greatest token that it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Value {
    pub(super) count: u64,
    pub(super) writer: Option<SectionId>,
    token: u64,
}

/// The witness has seen a greater token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooOld;

impl Witness {
    pub(super) fn new(folder: &Path, lock: &str) -> Self {
        Self { path: folder.join(format!("{lock}.witness")) }
    }

    pub(super) fn read(&self, token: Option<u64>) -> io::Result<Result<Value, TooOld>> {
        self.admit(token, |value| value)
    }

    /// Replaces whatever is there by then.
    pub(super) fn write(
        &self,
        token: Option<u64>,
        count: u64,
        writer: SectionId,
    ) -> io::Result<Result<Value, TooOld>> {
        self.admit(token, |value| Value { count, writer: Some(writer), ..value })
    }

    /// Looks at the token, and changes the value: one transaction of the store.
    fn admit(
        &self,
        token: Option<u64>,
        change: impl FnOnce(Value) -> Value,
    ) -> io::Result<Result<Value, TooOld>> {
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.read(true).write(true).create(true).truncate(false).open(&self.path)?;
        // Let go of when the file is closed, also by the end of the process.
        flock(&file, FlockOperation::LockExclusive)?;
        let before = parse(&mut file)?;
        let token = token.unwrap_or(before.token);
        if token < before.token {
            return Ok(Err(TooOld));
        }
        let after = change(Value { token, ..before });
        if after != before {
            replace(&mut file, &after)?;
        }
        Ok(Ok(after))
    }
}

/// A line of fixed length, so that one write replaces it whole even if its writer is killed.
fn replace(file: &mut File, value: &Value) -> io::Result<()> {
    let writer = value.writer.map_or("-".to_owned(), |writer| writer.to_string());
    file.rewind()?;
    file.write_all(format!("{:>20} {:>20} {writer:>40}\n", value.count, value.token).as_bytes())
}

fn parse(file: &mut File) -> io::Result<Value> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("not a witness: {text:?}"));
    let words: Vec<_> = text.split_whitespace().collect();
    let [count, token, writer] = *words else {
        return if text.is_empty() { Ok(Value::default()) } else { Err(odd()) };
    };
    let number = |word: &str| word.parse().map_err(|_no_number| odd());
    let writer = match writer {
        "-" => None,
        name => Some(name.parse().map_err(|_no_name| odd())?),
    };
    Ok(Value { count: number(count)?, token: number(token)?, writer })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_back_by_another_writer() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = [0, 1].map(|_| Witness::new(folder.path(), "red-a"));
        assert_eq!(theirs.read(None).unwrap(), Ok(Value::default()));
        let writer = "w0.0/1#7".parse().unwrap();
        ours.write(None, 1, writer).unwrap().unwrap();
        let value = theirs.read(None).unwrap().unwrap();
        assert_eq!((value.count, value.writer), (1, Some(writer)));
    }

    #[test]
    fn whoever_comes_with_a_lesser_token_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let witness = Witness::new(folder.path(), "red-a");
        let [old, new] = ["w0.0/1#7", "w1.0/1#7"].map(|name| name.parse().unwrap());
        witness.read(Some(5)).unwrap().unwrap();
        // Read already: the store knows that there is a later holder.
        witness.read(Some(6)).unwrap().unwrap();
        assert_eq!(witness.write(Some(5), 1, old).unwrap(), Err(TooOld));
        assert_eq!(witness.write(Some(6), 1, new).unwrap().unwrap().writer, Some(new));
        assert_eq!(witness.read(Some(5)).unwrap(), Err(TooOld));
    }
}
