//! A file for each lock, outside Redis, that only its holder may change.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, Write},
    path::PathBuf,
};

use rustix::fs::{FlockOperation, flock};
use workload::{Change, Store, TooOld, Value};

/// The files, which all workers share.
#[derive(Debug)]
pub(super) struct Witnesses {
    pub(super) folder: PathBuf,
}

impl Store for Witnesses {
    /// # Panics
    /// A file cannot be read or written: without it the run would prove nothing.
    fn transact(&self, lock: &'static str, change: Change<'_>) -> Result<Value, TooOld> {
        let mut file = self.open(lock).expect("a witness can be opened");
        let before = parse(&mut file).expect("a witness can be read");
        let after = change(before)?;
        if after != before {
            replace(&mut file, &after).expect("a witness can be written");
        }
        Ok(after)
    }
}

impl Witnesses {
    /// For this process alone, until it is closed, also by the end of the process.
    fn open(&self, lock: &str) -> io::Result<File> {
        let mut options = fs::OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        let file = options.open(self.folder.join(format!("{lock}.witness")))?;
        flock(&file, FlockOperation::LockExclusive)?;
        Ok(file)
    }
}

/// A line of fixed length, so that one write replaces it whole even if its writer is killed.
fn replace(file: &mut File, value: &Value) -> io::Result<()> {
    let writer = value.writer.map_or("-".to_owned(), |writer| writer.to_string());
    file.rewind()?;
    file.write_all(format!("{:>20} {writer:>40}\n", value.token).as_bytes())
}

fn parse(file: &mut File) -> io::Result<Value> {
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let odd = || io::Error::new(io::ErrorKind::InvalidData, format!("not a witness: {text:?}"));
    let words: Vec<_> = text.split_whitespace().collect();
    let [token, writer] = *words else {
        return if text.is_empty() { Ok(Value::default()) } else { Err(odd()) };
    };
    let writer = match writer {
        "-" => None,
        name => Some(name.parse().map_err(|_no_name| odd())?),
    };
    Ok(Value { writer, token: token.parse().map_err(|_no_number| odd())? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_back_by_another_worker_unless_it_was_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [ours, theirs] = [0, 1].map(|_| Witnesses { folder: folder.path().to_owned() });
        let read = || theirs.transact("red-a", &Ok);
        assert_eq!(read(), Ok(Value::default()));
        let shown = Value { writer: None, token: 5 };
        let written = Value { writer: Some("w0.0/1#7".parse().unwrap()), token: 6 };
        for value in [shown, written] {
            ours.transact("red-a", &|_| Ok(value)).unwrap();
            assert_eq!(read(), Ok(value));
        }
        assert_eq!(ours.transact("red-a", &|_| Err(TooOld)), Err(TooOld));
        assert_eq!(read(), Ok(written));
    }
}
