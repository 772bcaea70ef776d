//! A helper process that plays one contender.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::process::Process;

/// A process that is told what to do by lines and answers by lines; killed and reaped on drop.
///
/// Its stderr is ours.
#[derive(Debug)]
pub struct Actor {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Actor {
    /// Starts `program`, for example `env!("CARGO_BIN_EXE_worker")`.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn spawn<A: AsRef<OsStr>>(program: impl AsRef<Path>, args: &[A]) -> Self {
        let mut command = Command::new(program.as_ref());
        command.args(args);
        Self::spawn_command(command)
    }

    /// Starts a command that was prepared otherwise, with an environment for example.
    ///
    /// # Panics
    /// It cannot be started.
    pub fn spawn_command(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command)
            .unwrap_or_else(|e| panic!("{} cannot be run: {e}", command.get_program().display()));
        let stdin = process.child_mut().stdin.take();
        let stdout = process.child_mut().stdout.take().expect("invariant: stdout is piped");
        Self { process, stdin, lines: read_lines(stdout) }
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Writes one line to its stdin.
    ///
    /// # Errors
    /// It has ended, or its stdin was closed.
    pub fn send(&mut self, line: &str) -> io::Result<()> {
        let stdin = self.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        stdin.write_all(format!("{line}\n").as_bytes())
    }

    /// The next line of its stdout.
    ///
    /// # Errors
    /// `Timeout` if none came within `limit`, `Disconnected` if none will.
    pub fn recv(&self, limit: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(limit)
    }

    /// A line that is there already.
    pub fn try_recv(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Sends a line and returns the next one that comes back.
    ///
    /// # Panics
    /// None comes within `limit`.
    #[track_caller]
    pub fn ask(&mut self, line: &str, limit: Duration) -> String {
        if let Err(reason) = self.send(line) {
            panic!("process {} was not told {line:?}: {reason}", self.pid());
        }
        match self.recv(limit) {
            Ok(answer) => answer,
            Err(reason) => panic!("process {} did not answer {line:?}: {reason}", self.pid()),
        }
    }

    /// Closes its stdin.
    pub fn close(&mut self) {
        self.stdin = None;
    }

    /// Waits until it ends by itself, at most for `limit`.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        self.process.wait(limit)
    }

    /// SIGKILL. Returns when it is gone; lines written before can still be received.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// SIGSTOP. Returns when it has stopped.
    ///
    /// # Panics
    /// It has ended.
    pub fn freeze(&mut self) {
        self.process.freeze();
    }

    /// SIGCONT.
    ///
    /// # Panics
    /// It has ended.
    pub fn thaw(&mut self) {
        self.process.thaw();
    }
}

/// The thread ends with the pipe: when the process has ended, and whatever inherited the pipe from
/// it.
fn read_lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
