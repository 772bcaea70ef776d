//! What is said while a command holds its lock for long, and the command that is run for that.

use std::{
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    time::Duration,
};

use rustix::{
    process::{Pid, Signal, kill_process_group},
    system::uname,
};

use crate::{args::RunArgs, boottime, duration, env, hold::Hold, processes, tell};

/// Says that a lock is held for long, after a time, twice that, four times that, and so on.
pub(crate) struct HeldAlarm<'a> {
    args: &'a RunArgs,
    /// What is run then, but for what it is told of the time.
    shell: Option<Command>,
    /// By the clock of [`boottime`].
    began: Duration,
    /// For how long it is held when it is said the next time.
    next: Option<Duration>,
    /// What was run for it, and until when it may run.
    running: Option<(Child, Duration)>,
}

impl<'a> HeldAlarm<'a> {
    pub(crate) fn new(args: &'a RunArgs, hold: &Hold) -> Self {
        let shell = args.on_warn.as_deref().map(|line| shell(args, hold, line));
        Self { args, shell, began: boottime::now(), next: args.warn_held, running: None }
    }

    /// When the command is to have ended, whatever becomes of the lock.
    pub(crate) fn ends_at(&self) -> Option<Duration> {
        self.args.max_hold.map(|longest| self.began.saturating_add(longest))
    }

    /// Says it if it is time, and ends what has run for too long. Waits for nothing.
    pub(crate) fn look(&mut self) {
        self.end_what_is_late();
        let held = boottime::now().saturating_sub(self.began);
        let Some(due) = self.next.filter(|due| held >= *due) else { return };
        let mut next = due;
        while next <= held {
            next = next.saturating_mul(2);
        }
        self.next = Some(next);
        let name = &self.args.lock.name;
        tell(format_args!("{name} is held by this command for {}", duration::show_roughly(held)));
        if let (Some(shell), None) = (&mut self.shell, &self.running) {
            match shell.env("PALISADE_HELD_MS", held.as_millis().to_string()).spawn() {
                Ok(child) => self.running = Some((child, boottime::now() + LONGEST)),
                Err(error) => tell(format_args!("--on-warn cannot be run: {error}")),
            }
        }
    }

    /// Our child that is none of the command's.
    pub(crate) fn pid(&self) -> Option<i32> {
        self.running.as_ref().and_then(|(child, _)| i32::try_from(child.id()).ok())
    }

    /// Leaves what still runs some time: a message may be on its way, and whatever called us waits, too.
    pub(crate) async fn finish(mut self) {
        if let Some((mut child, until)) = self.running.take() {
            let left = until.saturating_sub(boottime::now());
            processes::until_ended(&mut child, left.min(AFTERWARDS)).await;
            end(&mut child);
        }
    }

    fn end_what_is_late(&mut self) {
        let Some((child, until)) = &mut self.running else { return };
        let has_ended = !matches!(child.try_wait(), Ok(None));
        if !has_ended && boottime::now() < *until {
            return;
        }
        if !has_ended {
            tell("--on-warn has not ended in time: killed");
            end(child);
        }
        self.running = None;
    }
}

fn shell(args: &RunArgs, hold: &Hold, line: &str) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(line).stdin(Stdio::null()).process_group(0);
    let host = uname().nodename().to_string_lossy().into_owned();
    env::prepare(&mut shell, &args.lock, hold, args.keep_env);
    shell.env("PALISADE_NAME", &args.lock.name).env("PALISADE_HOST", host);
    shell
}

/// With all that it has begun.
fn end(child: &mut Child) {
    if matches!(child.try_wait(), Ok(None))
        && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        let _is_gone = kill_process_group(group, Signal::KILL);
        let _reaped = child.wait();
    }
}

/// For how long what is run may run ...
const LONGEST: Duration = Duration::from_secs(30);
/// ... and at most behind the command.
const AFTERWARDS: Duration = Duration::from_secs(5);
