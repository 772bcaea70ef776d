//! The files: where they are, and whether others may have had a hand in them.

use std::{
    env, fs,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::process::geteuid;

use crate::exit::{CONFIGURATION, Failure};

/// What stands in a file, and how it is kept.
pub(super) struct Opened {
    pub(super) text: String,
    /// Whether it can be read again: a pipe cannot.
    pub(super) is_lasting: bool,
    mode: u32,
    owner: u32,
}

impl Opened {
    /// Reads it; `None` if there is no such file. `advice` says what to do about one that cannot be read.
    pub(super) fn at(path: &Path, advice: &str) -> Result<Option<Self>, Failure> {
        let unusable = |error: &dyn std::fmt::Display| {
            wrong(format_args!("{} cannot be read: {error}{advice}", path.display()))
        };
        let file = match fs::File::open(path) {
            Ok(file) => file,
            // A link to what is not there was meant to say something.
            Err(error) if is_missing(&error) && fs::symlink_metadata(path).is_err() => {
                return Ok(None);
            }
            Err(error) => return Err(unusable(&error)),
        };
        // Of what was opened, whatever stands at that path by now.
        let found = file.metadata().map_err(|error| unusable(&error))?;
        let mut text = String::new();
        file.take(LONGEST + 1).read_to_string(&mut text).map_err(|error| unusable(&error))?;
        if text.len() as u64 > LONGEST {
            return Err(unusable(&"it is longer than 1 MB"));
        }
        let is_lasting = found.is_file();
        Ok(Some(Self { text, is_lasting, mode: found.mode(), owner: found.uid() }))
    }

    /// Refuses a secret that others read, or may have put in place of another.
    pub(super) fn check_it_is_kept(&self, path: &Path) -> Result<(), Failure> {
        let (mode, path) = (self.mode & 0o777, path.display());
        if mode & OTHERS_READ != 0 {
            return Err(wrong(format_args!(
                "{path} has a password and mode {mode:03o}, so that others can read it: chmod 640 {path}"
            )));
        }
        self.check_others_cannot_change("has a password", &path)
    }

    /// Refuses a file by which others may have a password sent to servers of theirs.
    pub(super) fn check_others_cannot_change_it(&self, path: &Path) -> Result<(), Failure> {
        self.check_others_cannot_change("says where a password is", &path.display())
    }

    fn check_others_cannot_change(
        &self,
        what: &str,
        path: &std::path::Display<'_>,
    ) -> Result<(), Failure> {
        let mode = self.mode & 0o777;
        if ![0, geteuid().as_raw()].contains(&self.owner) {
            return Err(wrong(format_args!(
                "{path} {what} and is another user's: it must be root's or this user's (chown)"
            )));
        }
        if mode & OTHERS_WRITE != 0 {
            return Err(wrong(format_args!(
                "{path} {what} and mode {mode:03o}, so that others can change it: chmod 640 {path}"
            )));
        }
        Ok(())
    }
}

/// The files that are read where none is named, the one that counts first. None in the current directory, which another
/// may have chosen.
pub(super) fn standard() -> Vec<PathBuf> {
    let folder = |variable: &str| {
        let path = PathBuf::from(env::var_os(variable)?);
        // As the specification of these variables asks: what is relative is to be ignored.
        path.is_absolute().then_some(path)
    };
    let home = || folder("HOME").map(|home| home.join(".config"));
    let of_user = folder("XDG_CONFIG_HOME").or_else(home);
    let of_all = PathBuf::from("/etc");
    of_user.into_iter().chain([of_all]).map(|it| it.join("palisade/config.toml")).collect()
}

/// What is wrong with the configuration.
pub(super) fn wrong(what: impl std::fmt::Display) -> Failure {
    Failure::new(CONFIGURATION, what)
}

/// A folder that is a file has no files in it either.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

const OTHERS_READ: u32 = 0o004;
/// A group is often a service's own; what it may read it need not write.
const OTHERS_WRITE: u32 = 0o022;
const LONGEST: u64 = 1 << 20;
