//! The folder of one server.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tempfile::TempDir;

/// A temporary folder that is kept, and named on stderr, if its owner is dropped by a panic.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: TempDir,
    kept: AtomicBool,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("palisade-redis-")
            .tempdir()
            .expect("a temporary folder can be made");
        Self { folder, kept: AtomicBool::new(env::var_os("PALISADE_KEEP_LOGS").is_some()) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("redis.log")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path().join("redis.sock")
    }

    /// For what a server says before it reads `--logfile`.
    pub(crate) fn open_log(&self) -> File {
        let log = File::options().append(true).create(true).open(self.log());
        log.expect("a log can be written")
    }

    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Removes all data, and leaves the log.
    pub(crate) fn empty(&self) {
        for entry in self.path().read_dir().expect("the server's folder can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                std::fs::remove_dir_all(&path).expect("the server's data can be removed");
            } else if path != self.log() {
                std::fs::remove_file(&path).expect("the server's data can be removed");
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if thread::panicking() || self.kept.load(Ordering::Relaxed) {
            self.folder.disable_cleanup(true);
            eprintln!("kept: {}", self.log().display());
        }
    }
}
