//! The tool itself, started as a user would.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Instant,
};

use rustix::process::{Pid, Signal, kill_process};

use super::{LIMIT, NO_CONFIGURATION, PALISADE};

/// A call of the tool that has not been made yet.
pub(crate) struct Tool(Command);

/// `palisade` with these words, in an environment without any settings of it.
pub(crate) fn palisade<S: AsRef<OsStr>>(words: &[S]) -> Tool {
    program(PALISADE, words)
}

/// Any program, likewise.
pub(crate) fn program<S: AsRef<OsStr>>(name: &str, words: &[S]) -> Tool {
    let mut command = Command::new(name);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PALISADE") {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", NO_CONFIGURATION);
    Tool(command)
}

/// `palisade run` with options, then the lock `name` and a shell's command line.
pub(crate) fn run(urls: &[String], options: &str, script: &str) -> Tool {
    let mut words = vec!["run".to_owned()];
    words.extend(urls.iter().flat_map(|url| ["-s".to_owned(), url.clone()]));
    words.extend(options.split_whitespace().map(str::to_owned));
    words.extend(["name", "--", "sh", "-c", script].map(str::to_owned));
    palisade(&words)
}

impl Tool {
    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.0.env(name, value);
        self
    }

    pub(crate) fn without(mut self, variable: &str) -> Self {
        self.0.env_remove(variable);
        self
    }

    pub(crate) fn in_folder(mut self, folder: &Path) -> Self {
        self.0.current_dir(folder);
        self
    }

    pub(crate) fn start(mut self) -> Running {
        self.spawn()
    }

    fn spawn(&mut self) -> Running {
        let started = Instant::now();
        let mut child = self.0.spawn().expect("the binary is there");
        let output = lines(child.stdout.take().expect("piped"));
        let errors = lines(child.stderr.take().expect("piped"));
        Running { child, output, errors, started }
    }

    /// Starts it, without any input, and waits for its end. The tool gives a server half a second:
    /// one that was late by chance is asked again.
    pub(crate) fn finish(mut self) -> Finished {
        let mut finished = self.spawn().finish();
        for _ in 1..TRIES {
            if !finished.met_a_late_server() {
                break;
            }
            finished = self.spawn().finish();
        }
        finished
    }
}

/// The tool at work. Dropped, it is killed, and its supervisor ends the command.
pub(crate) struct Running {
    child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    pub(crate) started: Instant,
}

impl Running {
    /// The next line of the command's output.
    pub(crate) fn line(&self) -> String {
        let line = self.output.recv_timeout(LIMIT);
        line.unwrap_or_else(|error| {
            panic!("{error}; on stderr: {:?}", self.errors.try_iter().collect::<Vec<_>>())
        })
    }

    /// The next line of the command's output, if it has come.
    pub(crate) fn line_if_there(&self) -> Option<String> {
        self.output.try_recv().ok()
    }

    /// The next line on stderr.
    pub(crate) fn complaint(&self) -> String {
        self.errors.recv_timeout(LIMIT).expect("a line of stderr in time")
    }

    /// The next line on stderr; none of one that has ended.
    pub(crate) fn complaint_if_any(&self) -> Option<String> {
        match self.errors.recv_timeout(LIMIT) {
            Ok(line) => Some(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => None,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it says nothing and does not end"),
        }
    }

    /// Waits until it has run for so many seconds.
    pub(crate) fn pass(&self, seconds: u64) {
        let time = std::time::Duration::from_secs(seconds);
        thread::sleep(time.saturating_sub(self.started.elapsed()));
    }

    pub(crate) fn write(&mut self, text: &str) {
        let stdin = self.child.stdin.as_mut().expect("not closed yet");
        if let Err(error) = stdin.write_all(text.as_bytes()) {
            panic!("{error}; on stderr: {:?}", self.errors.try_iter().collect::<Vec<_>>());
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process number")
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid()).expect("not zero"), signal).expect("it is there");
    }

    /// The exit code of one that ends by itself, while its input is open.
    pub(crate) fn ended_with(&mut self) -> i32 {
        let status = within_limit_wait(&mut self.child);
        status.code().unwrap_or_else(|| panic!("{status:?}"))
    }

    /// Closes its input and waits for its end and that of every process that could write.
    pub(crate) fn finish(mut self) -> Finished {
        drop(self.child.stdin.take());
        let output = until_closed(&self.output);
        let errors = until_closed(&self.errors);
        let took = self.started.elapsed();
        let status = within_limit_wait(&mut self.child);
        Finished { status, output, errors, took }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// What it came to.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<String>,
    pub(crate) errors: Vec<String>,
    pub(crate) took: std::time::Duration,
}

impl Finished {
    /// The exit code; fails the test if it died by a signal.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:?}"))
    }

    fn met_a_late_server(&self) -> bool {
        self.output.iter().chain(&self.errors).any(|line| line.contains("timed out while"))
    }

    /// What it said on stderr.
    pub(crate) fn said(&self) -> String {
        self.errors.join("\n")
    }

    /// The last sign of life of a [`CLOCK`](super::CLOCK).
    pub(crate) fn last_time(&self) -> std::time::Duration {
        super::last_time(self.output.iter().map(String::as_str))
    }

    pub(crate) fn died_of(&self, signal: Signal) -> bool {
        self.status.signal() == Some(signal.as_raw())
    }
}

const TRIES: u32 = 5;

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

fn until_closed(lines: &Receiver<String>) -> Vec<String> {
    let started = Instant::now();
    let mut all = Vec::new();
    loop {
        match lines.recv_timeout(LIMIT.saturating_sub(started.elapsed())) {
            Ok(line) => all.push(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => return all,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it never ended; so far: {all:?}"),
        }
    }
}

fn within_limit_wait(child: &mut Child) -> ExitStatus {
    // Its output is closed: the end is near, and a wait cannot be moved to another thread.
    super::until("the end of the process", || child.try_wait().expect("our child"))
}
