//! The command line: what can be asked, and the help that explains it.

mod completions;
mod exporter;
mod files;
mod operating;
mod servers;

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, ValueEnum, value_parser};

use crate::{duration, exit, help, sort::Sort, tell};

pub(crate) use completions::{CompletingShell, CompletionsArgs};
pub(crate) use exporter::ExporterArgs;
pub(crate) use files::{ConfigArgs, ConfigQuestion, FileArgs};
pub(crate) use operating::{DoctorArgs, LsArgs, UnlockArgs, WatchArgs};
pub(crate) use servers::{
    AfterFailover, ReleasesTold, ServerArgs, TlsArgs, VotesOfUnknown, WhichWait,
};

/// Runs a command while holding a lock in Redis, and never after it.
#[derive(Debug, Parser)]
#[command(name = "palisade", version, about, long_about = help::LONG_ABOUT, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    Run(Box<RunArgs>),
    Hold(Box<HoldArgs>),
    Inspect(InspectArgs),
    Ls(LsArgs),
    Watch(WatchArgs),
    Unlock(UnlockArgs),
    Leader(LeaderArgs),
    Doctor(DoctorArgs),
    Exporter(ExporterArgs),
    Permits(PermitsArgs),
    Bless(BlessArgs),
    Acl(AclArgs),
    Config(ConfigArgs),
    Completions(CompletionsArgs),
    #[command(name = "__supervise", hide = true)]
    Supervise(SuperviseArgs),
    #[command(name = "__launch", hide = true)]
    Launch(LaunchArgs),
}

/// Run a command while holding the lock NAME
#[derive(Debug, Args)]
#[command(long_about = help::run::ABOUT, after_help = help::run::SHORT, after_long_help = help::run::MORE)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) lock: LockArgs,

    /// Run it only if no run for this period is recorded: an id from the schedule, such as 2026-11-26T03, the same
    /// on all hosts
    #[arg(long, value_name = "ID", group = "cadence", conflicts_with_all = ["shared", "permits"], value_parser = period)]
    pub(crate) once_for: Option<String>,

    /// Run it only if the last recorded run began at least so long ago, by the server's clock
    #[arg(long, value_name = "DURATION", group = "cadence", conflicts_with_all = ["shared", "permits"], value_parser = pause)]
    pub(crate) at_most_every: Option<Duration>,

    /// Say on stderr when the command has held the lock for so long; and again at twice that, four times that, …
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) warn_held: Option<Duration>,

    /// What `sh -c` runs when that is said, such as a mail: outside of the command's group, with PALISADE_NAME,
    /// PALISADE_HOLDER, PALISADE_HELD_MS, PALISADE_HOST and, if there is one, PALISADE_TOKEN; killed after 30s, or
    /// 5s behind the command
    #[arg(long, value_name = "LINE", requires = "warn_held")]
    pub(crate) on_warn: Option<String>,

    /// End the command when it has held the lock for so long, as when the lock is lost: SIGTERM a grace before, and
    /// exit with 79
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) max_hold: Option<Duration>,

    /// What to do about a command that gets rights of others as it starts (set-uid, set-gid, file
    /// capabilities), so that palisade may be unable to end it when the lock is lost
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Unkillable::Refuse)]
    pub(crate) unkillable: Unkillable,

    /// Write to this file, as a JSON object, what became of the lock and of the command
    #[arg(long, value_name = "FILE")]
    pub(crate) status_file: Option<PathBuf>,

    /// Leave PALISADE_SERVERS in the command's environment
    #[arg(long)]
    pub(crate) keep_env: bool,

    /// Have `/bin/sh -c` run this line, in place of a command
    #[arg(short = 'c', value_name = "LINE", conflicts_with = "command")]
    pub(crate) line: Option<OsString>,

    /// The command and its arguments; it is started without a shell. It begins behind NAME, with -- or with the first
    /// word that is no option
    #[arg(trailing_var_arg = true, required_unless_present = "line", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
    /// What is to be run.
    pub(crate) fn words(&self) -> Vec<OsString> {
        match &self.line {
            Some(line) => vec!["/bin/sh".into(), "-c".into(), line.clone()],
            // Behind a NAME that stands behind a -- itself, the second one is taken for a word.
            None => match self.command.split_first() {
                Some((first, rest)) if first == "--" && !rest.is_empty() => rest.to_vec(),
                _ => self.command.clone(),
            },
        }
    }
}

/// Hold the lock NAME for something else, and say when it is held
#[derive(Debug, Args)]
#[command(long_about = help::hold::ABOUT, after_long_help = help::hold::MORE)]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    pub(crate) lock: LockArgs,

    /// Say that it is held on this descriptor, in place of stdout
    #[arg(long, value_name = "FD")]
    pub(crate) ready_fd: Option<u32>,

    /// Say it as one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Hold it until stdin is at its end
    #[arg(long)]
    pub(crate) until_eof: bool,

    /// Hold it until this process has ended
    #[arg(long, value_name = "PID")]
    pub(crate) with_pid: Option<i32>,

    /// End that process before the lock ends that cannot be renewed: SIGTERM a grace before, then SIGKILL
    #[arg(long, requires = "with_pid")]
    pub(crate) kill: bool,
}

/// Which lock is wanted, where, and for how long it is waited for.
#[derive(Debug, Args)]
pub(crate) struct LockArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Require every server to grant the lock, instead of a majority
    #[arg(long)]
    pub(crate) all: bool,

    /// Hold it alone, apart from those that share it with --shared: a read/write lock's writer
    #[arg(short = 'x', long, group = "sort")]
    pub(crate) exclusive: bool,

    /// Hold it together with others that also use --shared: a read/write lock's reader
    #[arg(long, group = "sort")]
    pub(crate) shared: bool,

    /// Hold it in the order in which it was asked for, among those with --fair; on one server, or with --all
    #[arg(long, group = "sort")]
    pub(crate) fair: bool,

    /// Hold N of the M permits of a semaphore in place of a lock: as many jobs at once; on one server
    #[arg(long, group = "sort", value_name = "N", requires = "of", value_parser = value_parser!(u32).range(1..=MOST_PERMITS))]
    pub(crate) permits: Option<u32>,

    /// How many permits there are, the same for all users of NAME
    #[arg(long, value_name = "M", requires = "permits", value_parser = value_parser!(u32).range(1..=MOST_PERMITS))]
    pub(crate) of: Option<u32>,

    /// Announce this to all that follow who leads, such as an address: see `palisade leader`. The lock has a
    /// fencing token then, on one server too
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["exclusive", "shared", "fair", "permits"], value_parser = announcement)]
    pub(crate) proclaim: Option<String>,

    /// Do not wait: exit with 75 if another holds the lock
    #[arg(short, long, alias = "nb", conflicts_with = "wait")]
    pub(crate) nonblock: bool,

    /// Wait at most this long for the lock, and for the servers if too few answer
    #[arg(short, long, alias = "timeout", value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) wait: Option<Duration>,

    /// How long the servers keep the lock if this machine dies, 1s to --max-lease; renewed at a
    /// third [default: 30s, or --max-lease if that is less]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) lease: Option<Duration>,

    /// The exit code if another holds the lock
    #[arg(short = 'E', long, value_name = "CODE", default_value_t = exit::HELD)]
    pub(crate) conflict_exit_code: u8,

    /// Time between SIGTERM and SIGKILL when a process has to be ended, at most half the lease
    /// [default: a quarter of the lease, at most 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) grace: Option<Duration>,

    /// Say nothing about waiting: only what goes wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// What `palisade inspect` is to show of this command while it holds the lock, such as a ticket; at most 256
    /// bytes, seen by all that may read the servers
    #[arg(long, value_name = "TEXT", value_parser = note)]
    pub(crate) note: Option<String>,

    /// The name of the lock
    pub(crate) name: String,
}

impl LockArgs {
    /// Which lock of its name is wanted.
    pub(crate) fn sort(&self) -> Sort {
        match (self.exclusive, self.shared, self.fair) {
            (true, _, _) => Sort::Exclusive,
            (_, true, _) => Sort::Shared,
            (_, _, true) => Sort::Fair,
            _ => Sort::Plain,
        }
    }
}

/// What to do about a command that may turn out impossible to kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unkillable {
    /// Exit with 64, and start nothing
    Refuse,
    /// Run it, though it may go on without the lock
    Accept,
}

/// Show the holders of the lock NAME, server by server
#[derive(Debug, Args)]
#[command(long_about = help::inspect::ABOUT, after_long_help = help::inspect::MORE)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the last run that is recorded, in place of the holders
    #[arg(long, conflicts_with = "check")]
    pub(crate) last: bool,

    /// Exit with 0 if it is held, 1 if it is free, 2 if too few servers tell
    #[arg(long)]
    pub(crate) check: bool,

    /// The name of the lock
    pub(crate) name: String,
}

/// Show which candidate leads the election NAME
#[derive(Debug, Args)]
#[command(long_about = help::leader::ABOUT, after_long_help = help::leader::MORE)]
pub(crate) struct LeaderArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object a line
    #[arg(long)]
    pub(crate) json: bool,

    /// Print a line at each change, until it is ended
    #[arg(short, long)]
    pub(crate) follow: bool,

    /// The name of the election: of the lock that its leader holds
    pub(crate) name: String,
}

/// Set how many commands may hold a permit of NAME at once
#[derive(Debug, Args)]
#[command(long_about = help::permits::ABOUT, after_long_help = help::permits::MORE)]
pub(crate) struct PermitsArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The name of the permits
    pub(crate) name: String,

    /// How many there are to be, those that are held included
    pub(crate) number: u32,
}

/// Say that the servers are a new fleet that has forgotten nothing
#[derive(Debug, Args)]
#[command(long_about = help::bless::ABOUT, after_long_help = help::bless::MORE)]
pub(crate) struct BlessArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// These servers never held a lock: none is asked. Needed where there is no terminal to ask at
    #[arg(long)]
    pub(crate) new: bool,

    /// Bless servers that are not all new, or were blessed before
    #[arg(long)]
    pub(crate) force: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the least rights of a user, for ACL SETUSER
#[derive(Debug, Args)]
#[command(long_about = help::acl::ABOUT, after_long_help = help::acl::MORE)]
pub(crate) struct AclArgs {
    /// What the names are used as; repeat for several [default: what `palisade run` uses without options]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Vec<KindOfName>,

    /// The name of the user
    #[arg(long, value_name = "USER", default_value = "palisade")]
    pub(crate) user: String,

    /// The rights of this role in place of those of a program: names are patterns then [default pattern: *]
    #[arg(long, value_enum, value_name = "ROLE", conflicts_with_all = ["kind", "untold", "replicated", "no_tracking"])]
    pub(crate) role: Option<RoleOfUser>,

    /// Without what `palisade bless` alone needs. To a server a blessing is a mark as every client writes
    /// them, so this is no fence against ill will
    #[arg(long)]
    pub(crate) no_bless: bool,

    /// Without what processes need to tell for how long they hold what, and `palisade inspect` to show it
    #[arg(long)]
    pub(crate) untold: bool,

    /// The names are patterns, as in rules of an ACL: jobs:* stands for all that begin so
    #[arg(long)]
    pub(crate) pattern: bool,

    /// Also what clients need that wait for replicas
    #[arg(long)]
    pub(crate) replicated: bool,

    /// Also what clients need of the servers of a cluster
    #[arg(long)]
    pub(crate) in_cluster: bool,

    /// Without what clients need to be told at once of a lock that was taken away
    #[arg(long)]
    pub(crate) no_tracking: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[arg(long, value_name = "PREFIX", help = help::options::NAMESPACE)]
    pub(crate) namespace: Option<String>,

    #[command(flatten)]
    pub(crate) files: FileArgs,

    /// Names of locks; with --pattern, patterns such as orders:*
    #[arg(required_unless_present = "role", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// What a user is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RoleOfUser {
    /// Looks after a fleet, by `palisade ls` and `unlock`
    Operator,
    /// Asks how servers are, by `palisade doctor`, and lists locks: reads alone
    Doctor,
    /// Counts locks and asks how servers are, by `palisade exporter`: reads alone
    Exporter,
}

/// What a name is used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindOfName {
    /// A plain lock
    Lock,
    /// One with fencing tokens: `palisade run` on several servers
    Fenced,
    /// --proclaim, and `palisade leader`
    Election,
    /// --fair
    Fair,
    /// --exclusive and --shared
    Rw,
    /// --permits
    Permits,
    /// A semaphore without leases
    Semaphore,
    /// A count-down latch
    Latch,
}

/// The process between palisade and the command.
#[derive(Debug, Args)]
pub(crate) struct SuperviseArgs {
    /// Nanoseconds between SIGTERM and SIGKILL.
    #[arg(long)]
    pub(crate) grace: u64,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The process that becomes the command.
#[derive(Debug, Args)]
pub(crate) struct LaunchArgs {
    /// The process to die with.
    #[arg(long)]
    pub(crate) parent: i32,
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// Prints what clap answers instead of running: help, the version, or what is wrong. Help that was
/// asked for is a success; everything else is wrong use.
pub(crate) fn answer(answer: &clap::Error) -> u8 {
    let is_control = |word: OsString| word.to_string_lossy().contains(char::is_control);
    if !answer.use_stderr() || !env::args_os().any(is_control) {
        let _nobody_reads = answer.print();
    } else {
        // It repeats what was typed.
        answer.to_string().lines().for_each(tell);
    }
    if answer.use_stderr() { exit::USAGE } else { 0 }
}

/// What a leader announces.
fn announcement(text: &str) -> Result<String, String> {
    let is_usable = text.len() <= 1024;
    if is_usable { Ok(text.to_owned()) } else { Err("must have at most 1024 bytes".to_owned()) }
}

/// What is told of a command.
fn note(text: &str) -> Result<String, String> {
    let is_usable = text.len() <= 256;
    if is_usable { Ok(text.to_owned()) } else { Err("must have at most 256 bytes".to_owned()) }
}

/// The id of a period.
fn period(text: &str) -> Result<String, String> {
    let is_usable = (1..=256).contains(&text.len());
    if is_usable { Ok(text.to_owned()) } else { Err("must have from 1 to 256 bytes".to_owned()) }
}

/// The time between the starts of two runs.
fn pause(text: &str) -> Result<Duration, String> {
    let is_usable = |time: &Duration| *time >= Duration::from_millis(1) && *time <= LONGEST_PAUSE;
    Some(duration::parse(text)?)
        .filter(is_usable)
        .ok_or_else(|| "must be from 1ms to 10 years".to_owned())
}

const LONGEST_PAUSE: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// A semaphore hands out no more to one.
const MOST_PERMITS: i64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
