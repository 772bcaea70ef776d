//! The command line tool of palisade: runs a command while holding a lock in Redis, and never
//! after it.
//!
//! `run` tells the story; `supervisor` keeps its promise when palisade itself is killed or
//! stopped; `inspect` answers who holds a lock; `bless` vouches for a new fleet. There is no API here: the tool is its arguments,
//! its exit codes and its output.

#![cfg(target_os = "linux")]

mod acl;
mod args;
mod bless;
mod boottime;
mod duration;
mod env;
mod exit;
mod holder;
mod inspect;
mod processes;
mod run;
mod servers;
mod signals;
mod sort;
mod supervisor;
mod terminal;
mod tls;

use std::{
    fmt::Display,
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use tokio::runtime::Runtime;

use args::{Cli, Subcommand};
use exit::{End, Failure};

/// Runs the tool with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    end_on_panic();
    let end = match Cli::try_parse() {
        Ok(cli) => dispatch(cli).unwrap_or_else(|failure| {
            if let Some(message) = failure.message() {
                tell(message);
            }
            failure.end()
        }),
        Err(answer) => args::answer(&answer).into(),
    };
    ExitCode::from(signals::end(end))
}

fn dispatch(cli: Cli) -> Result<End, Failure> {
    let code = match cli.subcommand {
        Subcommand::Run(args) => return runtime()?.block_on(run::run(&args)),
        Subcommand::Inspect(args) => runtime()?.block_on(inspect::inspect(&args)),
        Subcommand::Acl(args) => acl::acl(&args),
        Subcommand::Bless(args) => runtime()?.block_on(bless::bless(&args)),
        Subcommand::Supervise(args) => runtime()?.block_on(supervisor::supervise(&args)),
        Subcommand::Launch(args) => Err(supervisor::become_command(&args)),
    };
    code.map(End::Code)
}

/// One thread: signals, the terminal and the death signal of children belong to it.
fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::system("cannot start", error))
}

/// Ends the process where it panics. Unwinding would drop the guard, which gives the lock back
/// while the command runs; the end of the process has the supervisor end the command first.
fn end_on_panic() {
    std::panic::set_hook(Box::new(|panic| {
        tell(format_args!("this is a defect in palisade: {panic}"));
        std::process::exit(exit::INTERNAL.into());
    }));
}

/// Prints what was asked for. Whoever reads may have enough before the end, as `head` has.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::system("cannot print the answer", error))
        }
        _ => Ok(()),
    }
}

/// Says something on stderr. Nobody may be listening there any more: that stops nothing.
fn tell(what: impl Display) {
    terminal::undisturbed(|| {
        let _nobody_listens = writeln!(io::stderr(), "palisade: {what}");
    });
}
