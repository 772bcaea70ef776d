//! The command line tool of palisade: runs a command while holding a lock in Redis, and never
//! after it.
//!
//! `run` tells the story; `supervisor` keeps its promise when palisade itself is killed or stopped; `inspect` shows the
//! holders of a lock, and `ls` all locks that are held; `watch` tells what becomes of them; `unlock` takes one away;
//! `hold` holds one for something else; `doctor` shows how the servers are, and `exporter` tells all of that to
//! Prometheus; `leader` follows an election; `bless` vouches for a new fleet; `config` tells what is set, and where.
//! There is no API here but the arguments themselves: the tool is its arguments, its exit codes and its output.

#![cfg(target_os = "linux")]

mod acl;
mod args;
mod bless;
mod boottime;
mod completions;
mod config;
mod doctor;
mod duration;
mod env;
mod events;
mod examine;
mod exit;
mod exporter;
mod help;
mod hold;
mod holder;
mod holding;
mod inspect;
mod last;
mod leader;
mod ls;
mod permits;
mod processes;
mod refusal;
mod run;
mod servers;
mod signals;
mod sort;
mod supervisor;
mod table;
mod terminal;
mod tls;
mod unlock;
mod watch;
mod word;

use std::{
    error::Error,
    fmt::Display,
    io::{self, Write},
    iter,
    process::ExitCode,
    sync::atomic::{AtomicBool, Ordering},
};

use clap::{Command, CommandFactory, Parser};
use palisade::error::Shown;
use serde::Serialize;
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

/// The arguments of the tool that its users see, for pages and scripts that are made of them.
#[must_use]
pub fn command() -> Command {
    let all = Cli::command();
    let seen = all.get_subcommands().filter(|one| !one.is_hide_set()).cloned();
    // Of those that are hidden, scripts for shells would tell.
    let bare = Command::new("palisade").subcommands(seen).disable_help_subcommand(true);
    let bare = bare.version(env!("CARGO_PKG_VERSION"));
    bare.about(all.get_about().cloned().unwrap_or_default())
        .long_about(all.get_long_about().cloned().unwrap_or_default())
        .subcommand_required(true)
}

fn dispatch(cli: Cli) -> Result<End, Failure> {
    let code = match cli.subcommand {
        Subcommand::Run(args) => return runtime()?.block_on(run::run(&args)),
        Subcommand::Hold(args) => return holding::hold(&args),
        Subcommand::Inspect(args) if args.last => runtime()?.block_on(last::last(&args)),
        Subcommand::Inspect(args) => runtime()?.block_on(inspect::inspect(&args)),
        Subcommand::Ls(args) => runtime()?.block_on(ls::ls(&args)),
        Subcommand::Leader(args) => runtime()?.block_on(leader::leader(&args)),
        Subcommand::Doctor(args) => runtime()?.block_on(doctor::doctor(&args)),
        Subcommand::Exporter(args) => runtime()?.block_on(exporter::exporter(&args)),
        Subcommand::Watch(args) => runtime()?.block_on(watch::watch(&args)),
        Subcommand::Unlock(args) => runtime()?.block_on(unlock::unlock(&args)),
        Subcommand::Permits(args) => runtime()?.block_on(permits::permits(&args)),
        Subcommand::Acl(args) => acl::acl(&args),
        Subcommand::Config(args) => config::config(&args),
        Subcommand::Completions(args) => completions::completions(&args),
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

/// Prints what was asked for. The reader may have enough before the end, as `head` has.
fn print(text: &str) -> Result<(), Failure> {
    print_to_reader(text).map(drop)
}

/// The same, for programs.
fn print_json(what: &impl Serialize) -> Result<(), Failure> {
    print(&to_json(what)?)
}

fn to_json(what: &impl Serialize) -> Result<String, Failure> {
    let json = serde_json::to_string_pretty(what);
    json.map(|json| json + "\n").map_err(|error| Failure::new(exit::INTERNAL, error))
}

/// The same. Whether anything still reads it.
fn print_to_reader(text: &str) -> Result<bool, Failure> {
    let mut stdout = io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::system("cannot print the answer", error)),
    }
}

/// Whatever names and servers put into it. Typed text is not cut.
fn in_one_line(what: &dyn Display) -> String {
    Shown::new(&what.to_string()).at_most(MOST_SAID).to_string()
}

/// In bytes.
const MOST_SAID: usize = 1 << 14;

/// Says something on stderr, in one write: several processes may share it. The other end may not listen any more:
/// that stops nothing.
fn tell(what: impl Display) {
    let line = format!("palisade: {}\n", in_one_line(&what));
    terminal::undisturbed(|| {
        let _nobody_listens = io::stderr().write_all(line.as_bytes());
    });
}

/// Says what is no trouble, unless that was to be left out.
fn note(what: impl Display) {
    if !QUIET.load(Ordering::Relaxed) {
        NOTED.store(true, Ordering::Relaxed);
        tell(what);
    }
}

/// Whether any such thing was said: then what came of it is to be said as well.
fn has_noted() -> bool {
    NOTED.load(Ordering::Relaxed)
}

static NOTED: AtomicBool = AtomicBool::new(false);

/// Whether only trouble is told.
static QUIET: AtomicBool = AtomicBool::new(false);

/// An error with its causes.
fn said(error: &dyn Error) -> String {
    let causes = iter::successors(error.source(), |cause| (*cause).source());
    causes.fold(error.to_string(), |said, cause| {
        let cause = cause.to_string();
        // Some tell their cause themselves.
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}
