//! The command line: what can be asked, and the help that explains it.

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use clap::{ArgAction, Args, Parser, ValueEnum, value_parser};

use crate::{
    duration, exit,
    help::{
        ACL_ABOUT, ACL_MORE, BLESS_ABOUT, BLESS_MORE, CLOCK_SKEW, DOCTOR_ABOUT, DOCTOR_MORE,
        FAILOVER, FLEET_MAX_LEASE, HOLD_ABOUT, HOLD_MORE, INSPECT_ABOUT, INSPECT_MORE,
        LEADER_ABOUT, LEADER_MORE, LONG_ABOUT, LS_ABOUT, LS_MORE, MAX_LEASE, NAMESPACE,
        PERMITS_ABOUT, QUARANTINE, RUN_ABOUT, RUN_MORE, RUN_SHORT, SERVER, UNIDENTIFIED,
        UNLOCK_ABOUT, UNLOCK_MORE, WATCH_ABOUT, WATCH_MORE,
    },
    sort::Sort,
    tell,
};

/// Runs a command while holding a lock in Redis, and never after it.
#[derive(Debug, Parser)]
#[command(name = "palisade", version, about, long_about = LONG_ABOUT, max_term_width = 100)]
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
    Permits(PermitsArgs),
    Bless(BlessArgs),
    Acl(AclArgs),
    #[command(name = "__supervise", hide = true)]
    Supervise(SuperviseArgs),
    #[command(name = "__launch", hide = true)]
    Launch(LaunchArgs),
}

/// Run a command while holding the lock NAME
#[derive(Debug, Args)]
#[command(long_about = RUN_ABOUT, after_help = RUN_SHORT, after_long_help = RUN_MORE)]
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
#[command(long_about = HOLD_ABOUT, after_long_help = HOLD_MORE)]
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
#[command(long_about = INSPECT_ABOUT, after_long_help = INSPECT_MORE)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the last run that is recorded, in place of the holders
    #[arg(long, conflicts_with_all = ["json", "check"])]
    pub(crate) last: bool,

    /// Exit with 0 if it is held, 1 if it is free, 2 if too few servers tell
    #[arg(long)]
    pub(crate) check: bool,

    /// The name of the lock
    pub(crate) name: String,
}

/// List the locks that are held
#[derive(Debug, Args)]
#[command(long_about = LS_ABOUT, after_long_help = LS_MORE)]
pub(crate) struct LsArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Without pauses: servers are kept busy for as long as it takes
    #[arg(long)]
    pub(crate) fast: bool,

    /// Only those that are held for longer than that, or for a time that is not known. Exit with 0 if there are none, 1
    /// if there are some, 2 if that is not known
    #[arg(long, value_name = "DURATION", conflicts_with = "processes", value_parser = duration::parse)]
    pub(crate) older_than: Option<Duration>,

    /// List the processes that tell what they are, in place of locks
    #[arg(long, conflicts_with = "pattern")]
    pub(crate) processes: bool,

    /// Only locks whose names match: *, ? and [a-z] as in SCAN. What has none of these is one name, and is looked at
    /// at once
    pub(crate) pattern: Option<String>,
}

/// Tell what becomes of locks, a line of JSON for each change, until it is ended
#[derive(Debug, Args)]
#[command(long_about = WATCH_ABOUT, after_long_help = WATCH_MORE)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// All locks, in place of some: goes through all keys each time, at the pace of `palisade ls`
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// The pause between two looks, at least 100ms
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = pause_of_looks)]
    pub(crate) every: Duration,

    /// Names of locks
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Take the lock NAME away from a holder, which ends before another is granted it
#[derive(Debug, Args)]
#[command(long_about = UNLOCK_ABOUT, after_long_help = UNLOCK_MORE)]
pub(crate) struct UnlockArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// From this holder and no other: its id, as `palisade inspect` shows it
    #[arg(long, value_name = "ID")]
    pub(crate) holder: String,

    /// Let others in at once, though the holder may run on until it looks
    #[arg(long)]
    pub(crate) now: bool,

    /// Two may run then. Needed for --now where there is no terminal to ask at
    #[arg(long, requires = "now")]
    pub(crate) yes: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// The name of the lock
    pub(crate) name: String,
}

/// Show which candidate leads the election NAME
#[derive(Debug, Args)]
#[command(long_about = LEADER_ABOUT, after_long_help = LEADER_MORE)]
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
#[command(long_about = PERMITS_ABOUT)]
pub(crate) struct PermitsArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// The name of the permits
    pub(crate) name: String,

    /// How many there are to be, those that are held included
    pub(crate) number: u32,
}

/// Say that the servers are a new fleet that has forgotten nothing
#[derive(Debug, Args)]
#[command(long_about = BLESS_ABOUT, after_long_help = BLESS_MORE)]
pub(crate) struct BlessArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// These servers never held a lock: none is asked. Needed where there is no terminal to ask at
    #[arg(long)]
    pub(crate) new: bool,

    /// Bless servers that are not all new, or were blessed before
    #[arg(long)]
    pub(crate) force: bool,
}

/// Show how the servers are, and what a crash of one of them would cost
#[derive(Debug, Args)]
#[command(long_about = DOCTOR_ABOUT, after_long_help = DOCTOR_MORE)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Judge them for locks that every server has to grant, instead of a majority
    #[arg(long)]
    pub(crate) all: bool,

    /// Wait until one of several servers can be restarted, even empty, without a lock being lost; no longer than LIMIT,
    /// of which two looks take 2s at least
    #[arg(long, value_name = "LIMIT", num_args = 0..=1, require_equals = true, conflicts_with_all = ["all", "json"], value_parser = duration::parse)]
    pub(crate) wait_safe: Option<Option<Duration>>,

    /// Wait also for locks that only a minority of the servers has
    #[arg(long, requires = "wait_safe")]
    pub(crate) strict: bool,

    /// Go through the keys without pauses
    #[arg(long, requires = "wait_safe")]
    pub(crate) fast: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print the least rights of a user, for ACL SETUSER
#[derive(Debug, Args)]
#[command(long_about = ACL_ABOUT, after_long_help = ACL_MORE)]
pub(crate) struct AclArgs {
    /// What the names are used as; repeat for several [default: what `palisade run` uses without options]
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kind: Vec<KindOfName>,

    /// The name of the user
    #[arg(long, value_name = "USER", default_value = "palisade")]
    pub(crate) user: String,

    /// The rights of this role in place of those of a program: names are patterns then [default pattern: *]
    #[arg(long, value_enum, value_name = "ROLE", conflicts_with_all = ["kind", "untold", "replicated", "tracking"])]
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

    /// Also what clients need that are told at once of a lock that was taken away
    #[arg(long)]
    pub(crate) tracking: bool,

    #[arg(long, value_name = "PREFIX", help = NAMESPACE)]
    pub(crate) namespace: Option<String>,

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

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    // No parser and no default here: clap would print the value, which may hold a password.
    #[arg(short, long = "server", value_name = "URL", help = SERVER)]
    pub(crate) servers: Vec<String>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = MAX_LEASE)]
    pub(crate) max_lease: Option<Duration>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = FLEET_MAX_LEASE)]
    pub(crate) fleet_max_lease: Option<Duration>,

    #[arg(long, value_name = "PREFIX", help = NAMESPACE)]
    pub(crate) namespace: Option<String>,

    /// Count a lock as held only while so many replicas of its master have it: more than can be lost
    /// or cut off together with the master [env: PALISADE_REPLICAS]
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<u32>,

    /// Have a promoted master wait for so much longer, where masters go by min-replicas-to-write: their
    /// min-replicas-max-lag and a second; the same everywhere [env: PALISADE_FAILOVER_LAG]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) failover_lag: Option<Duration>,

    /// Have servers tell at once that the lock was taken away, on a connection more to each: else that is
    /// found when it is renewed. Their user needs what `palisade acl --tracking` prints
    #[arg(long)]
    pub(crate) tracking: bool,

    #[arg(long, value_enum, value_name = "WHAT", help = QUARANTINE)]
    pub(crate) quarantine: Option<WhichWait>,

    #[arg(long, value_enum, value_name = "WHAT", help = FAILOVER)]
    pub(crate) failover: Option<AfterFailover>,

    #[arg(long, value_enum, value_name = "WHAT", help = UNIDENTIFIED)]
    pub(crate) unidentified: Option<VotesOfUnknown>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = CLOCK_SKEW)]
    pub(crate) clock_skew: Option<Duration>,

    /// Tell on stderr what happens to the connections, and what servers are warned about; -vv: all of it
    #[arg(short, long, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
}

/// For which locks a server waits that may have forgotten some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhichWait {
    /// Those over several servers
    Several,
    /// Those on one server too
    Always,
    /// The same, and once where its data has no mark, however old it is
    Strict,
    /// None: your word that servers forget nothing, such as with `appendfsync always`
    Durable,
}

/// What becomes of the votes of a replica that takes its master's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AfterFailover {
    /// They count after a while
    Wait,
    /// They count at once: two may hold a lock then
    Trust,
}

/// What becomes of the votes of a server that does not tell when it was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum VotesOfUnknown {
    /// They do not count
    Refuse,
    /// They count
    Trust,
}

#[derive(Debug, Args)]
pub(crate) struct TlsArgs {
    /// Trust servers of rediss:// URLs by these certificates, PEM, in place of the system's [env:
    /// PALISADE_TLS_CA]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_ca: Option<PathBuf>,

    /// Show this certificate to servers that ask for one, PEM [env: PALISADE_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The key of that certificate, PEM [env: PALISADE_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,

    /// The name that certificates of servers must bear, if it is not their host's [env:
    /// PALISADE_TLS_SERVER_NAME]
    #[arg(long, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,
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

/// More often would be a load of its own.
fn pause_of_looks(text: &str) -> Result<Duration, String> {
    let is_usable = |time: &Duration| *time >= Duration::from_millis(100) && *time <= LONGEST_PAUSE;
    Some(duration::parse(text)?)
        .filter(is_usable)
        .ok_or_else(|| "must be from 100ms to 10 years".to_owned())
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
