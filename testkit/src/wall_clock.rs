//! Servers whose wall clock can be set, by a small library that is loaded before libc.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// What servers with a settable wall clock have in common: the library, and a file for each that
/// says how far its clock is off.
#[derive(Debug)]
pub struct WallClocks {
    folder: TempDir,
}

impl WallClocks {
    /// Builds the library with the system's C compiler.
    ///
    /// # Errors
    /// There is no `cc`, or it cannot build this.
    pub fn build() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("palisade-clock-").tempdir()?;
        let clocks = Self { folder };
        let source = clocks.folder.path().join("wall_clock.c");
        fs::write(&source, include_str!("wall_clock.c"))?;
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-O2", "-o"]).arg(clocks.shim()).arg(source);
        let built = cc.stdin(Stdio::null()).output()?;
        if built.status.success() {
            Ok(clocks)
        } else {
            Err(io::Error::other(String::from_utf8_lossy(&built.stderr).into_owned()))
        }
    }

    pub(crate) fn set(&self, port: u16, ahead_ms: i64) {
        let file = File::options().write(true).create(true).truncate(false).open(self.file(port));
        let written = file.and_then(|file| file.write_all_at(&(ahead_ms * 1_000).to_ne_bytes(), 0));
        written.expect("a clock can be set");
    }

    pub(crate) fn give_to(&self, server: &mut Command, port: u16) {
        server.env("LD_PRELOAD", self.shim()).env("PALISADE_WALL_CLOCK", self.file(port));
    }

    fn shim(&self) -> PathBuf {
        self.folder.path().join("wall_clock.so")
    }

    fn file(&self, port: u16) -> PathBuf {
        self.folder.path().join(port.to_string())
    }
}
