//! Starting the command: in two steps, so that it does not run a moment before it may.
//!
//! The supervisor starts this binary once more, as leader of the command's group. That process
//! asks to die with the supervisor, stops itself, and becomes the command when it is continued.
//! Meanwhile palisade has learned the group and has given it the terminal: a command that reads
//! its terminal first thing is not stopped for being in the background.

use std::{
    ffi::OsString,
    fs, io,
    os::{fd::OwnedFd, unix::process::CommandExt},
    process::{Command, Stdio},
};

use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
};

use crate::{
    args::LaunchArgs,
    exit::{self, Failure},
};

/// Starts the process that will become the command; it stops itself at once.
pub(super) fn start(stdin: Option<OwnedFd>, command: &[OsString]) -> io::Result<Pid> {
    let child = Command::new(OURSELVES)
        .arg0("palisade")
        .arg("__launch")
        .arg(format!("--parent={}", getpid().as_raw_nonzero()))
        .arg("--")
        .args(command)
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .process_group(0)
        .spawn()?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the system gave a process no number"))
}

/// The hidden subcommand: waits for SIGCONT and becomes the command. Returns only if that fails.
pub(crate) fn become_command(args: &LaunchArgs) -> Failure {
    if let Err(error) = wait_to_be_continued(args.parent) {
        return Failure::system("cannot prepare the command", error);
    }
    let (program, arguments) = match args.command.split_first() {
        Some((program, arguments)) => (program, arguments),
        None => return Failure::usage("no command"),
    };
    let error = Command::new(program).args(arguments).exec();
    not_started(program, &error)
}

fn wait_to_be_continued(supervisor: i32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The supervisor may have died before that call: then nothing would kill us.
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(supervisor) {
        return Err(io::Error::other("the supervisor has ended"));
    }
    Ok(kill_process(getpid(), Signal::STOP)?)
}

/// The exit codes and the words of a shell.
fn not_started(program: &OsString, error: &io::Error) -> Failure {
    let name = program.to_string_lossy();
    if error.kind() != io::ErrorKind::NotFound {
        return Failure::new(exit::NOT_EXECUTABLE, format_args!("{name}: {error}"));
    }
    if fs::exists(program).is_ok_and(|is_there| is_there) {
        // The kernel says so of a script whose first line names what is not there, or a missing loader.
        return Failure::new(
            exit::NOT_EXECUTABLE,
            format_args!("{name}: bad interpreter: {error}"),
        );
    }
    let hint = if name.contains(char::is_whitespace) {
        format!("; it is started without a shell: for a shell's command line use: sh -c '{name}'")
    } else {
        String::new()
    };
    Failure::new(exit::NOT_FOUND, format_args!("{name}: command not found{hint}"))
}

/// This binary, even if it was replaced or removed since it was started.
pub(crate) const OURSELVES: &str = "/proc/self/exe";
