//! A holder in another process, as its operator sees it.

use std::{
    error::Error,
    io::{self, BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdout, Command, Stdio},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

pub(crate) struct HolderProcess {
    child: Child,
    said: Lines<BufReader<ChildStdout>>,
}

impl HolderProcess {
    /// Runs this very program as a holder.
    pub(crate) fn start(urls: &str, file: &Path) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["holder", urls])
            .arg(file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = BufReader::new(child.stdout.take().ok_or("it has no output")?).lines();
        Ok(Self { child, said })
    }

    /// Passes on what it says, up to a line that begins so.
    pub(crate) fn listen_until(&mut self, beginning: &str) -> Result<(), Box<dyn Error>> {
        for line in self.said.by_ref() {
            let line = line?;
            println!("holder 1: {line}");
            if line.starts_with(beginning) {
                return Ok(());
            }
        }
        Err("the first holder ended too soon".into())
    }

    /// Passes on what it says, up to its end.
    pub(crate) fn listen_to_the_end(mut self) -> Result<(), Box<dyn Error>> {
        for line in self.said.by_ref() {
            println!("holder 1: {}", line?);
        }
        let status = self.child.wait()?;
        if status.success() { Ok(()) } else { Err(format!("the first holder: {status}").into()) }
    }

    /// SIGSTOP. Returns when it stands still.
    pub(crate) fn stop(&self) -> io::Result<()> {
        kill_process(self.pid()?, Signal::STOP)?;
        waitpid(Some(self.pid()?), WaitOptions::UNTRACED)?;
        Ok(())
    }

    /// SIGCONT, and the line that it waits for.
    pub(crate) fn go_on(&mut self) -> io::Result<()> {
        kill_process(self.pid()?, Signal::CONT)?;
        self.child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(b"\n"))
    }

    fn pid(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        Pid::from_raw(id).ok_or_else(|| io::Error::other("no process has the id 0"))
    }
}

impl Drop for HolderProcess {
    fn drop(&mut self) {
        // It has ended already, unless the story went wrong.
        if self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}
