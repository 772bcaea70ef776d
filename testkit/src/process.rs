//! A child process that cannot outlive its owner.

use std::io;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// A child that is killed and reaped on drop, frozen or not.
///
/// # Invariants
/// A signal is sent only while the child is not reaped: until then its process id is not reused.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        Ok(Self { child: command.spawn()? })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn child_mut(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, or `None` while it lives.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be waited for")
    }

    /// Waits until it ends by itself, at most for `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(POLL);
        }
    }

    /// SIGKILL, which also ends a frozen process. Returns when it is gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child can be reaped");
    }

    /// SIGSTOP. Returns when the process has stopped, so that nothing it does comes later.
    pub(crate) fn freeze(&mut self) {
        self.signal(Signal::STOP);
        // NOWAIT leaves the exit status, if there is one, to `Child`.
        let seen = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        rustix::process::waitid(WaitId::Pid(self.pid()), seen).expect("a child can be waited for");
    }

    /// SIGCONT.
    pub(crate) fn thaw(&mut self) {
        self.signal(Signal::CONT);
    }

    fn signal(&mut self, signal: Signal) {
        if let Some(status) = self.ended() {
            panic!("process {} cannot be signalled, it has ended: {status}", self.id());
        }
        rustix::process::kill_process(self.pid(), signal).expect("a child can be signalled");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Errors mean that it is gone already; a panic in a drop would hide the test's own.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

const POLL: Duration = Duration::from_millis(2);
