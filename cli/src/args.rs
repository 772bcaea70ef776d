//! The command line: what can be asked, and the help that explains it.

use std::{env, ffi::OsString, path::PathBuf, time::Duration};

use clap::{
    Args, Parser, ValueEnum,
    error::{ContextKind, ContextValue, ErrorKind},
    value_parser,
};

use crate::{duration, exit, sort::Sort, tell};

/// Runs a command while holding a lock in Redis, and never after it.
#[derive(Debug, Parser)]
#[command(name = "palisade", version, about, long_about = LONG_ABOUT, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    Run(RunArgs),
    Inspect(InspectArgs),
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
    pub(crate) servers: ServerArgs,

    /// Require every server to grant the lock, instead of a majority
    #[arg(long)]
    pub(crate) all: bool,

    /// Hold it alone, apart from those who share it with --shared: a read/write lock's writer
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

    /// How many permits there are, the same for all who use NAME
    #[arg(long, value_name = "M", requires = "permits", value_parser = value_parser!(u32).range(1..=MOST_PERMITS))]
    pub(crate) of: Option<u32>,

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

    /// Time between SIGTERM and SIGKILL when the command has to be ended, at most half the lease
    /// [default: a quarter of the lease, at most 10s]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) grace: Option<Duration>,

    /// What to do about a command that gets rights of others as it starts (set-uid, set-gid, file
    /// capabilities), so that palisade may be unable to end it when the lock is lost
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = Unkillable::Refuse)]
    pub(crate) unkillable: Unkillable,

    /// Say nothing about waiting: only what goes wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Write to this file, as a JSON object, what became of the lock and of the command
    #[arg(long, value_name = "FILE")]
    pub(crate) status_file: Option<PathBuf>,

    /// Leave PALISADE_SERVERS in the command's environment
    #[arg(long)]
    pub(crate) keep_env: bool,

    /// The name of the lock
    pub(crate) name: String,

    /// The command and its arguments; it is started without a shell
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

impl RunArgs {
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

/// Show who holds the lock NAME, server by server
#[derive(Debug, Args)]
#[command(long_about = INSPECT_ABOUT, after_long_help = INSPECT_MORE)]
pub(crate) struct InspectArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    /// Exit with 0 if it is held, 1 if it is free, 2 if too few servers tell
    #[arg(long)]
    pub(crate) check: bool,

    /// The name of the lock
    pub(crate) name: String,
}

/// Say that the servers are a new fleet that has forgotten nothing
#[derive(Debug, Args)]
#[command(long_about = BLESS_ABOUT, after_long_help = BLESS_MORE)]
pub(crate) struct BlessArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// These servers never held a lock: nobody is asked. Needed where there is no terminal to ask at
    #[arg(long)]
    pub(crate) new: bool,

    /// Bless servers that are not all new, or were blessed before
    #[arg(long)]
    pub(crate) force: bool,
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

    /// Without what `palisade bless` alone needs. To a server a blessing is a mark as every client writes
    /// them, so this is no fence against those who mean harm
    #[arg(long)]
    pub(crate) no_bless: bool,

    /// The names are patterns, as in rules of an ACL: jobs:* stands for all that begin so
    #[arg(long)]
    pub(crate) pattern: bool,

    /// Also what clients need that wait for replicas
    #[arg(long)]
    pub(crate) replicated: bool,

    /// Also what clients need of the servers of a cluster
    #[arg(long)]
    pub(crate) in_cluster: bool,

    #[arg(long, value_name = "PREFIX", help = NAMESPACE)]
    pub(crate) namespace: Option<String>,

    /// Names of locks; with --pattern, patterns such as orders:*
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// What a name is used as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum KindOfName {
    /// A plain lock
    Lock,
    /// One with fencing tokens: `palisade run` on several servers
    Fenced,
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

    #[command(flatten)]
    pub(crate) tls: TlsArgs,
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
    if let Some(word) = misplaced_command(answer) {
        tell(format_args!(
            "put -- between the name of the lock and the command: palisade run … NAME -- {word} …"
        ));
    }
    if answer.use_stderr() { exit::USAGE } else { 0 }
}

/// The first word of a command that was written without `--` before it.
fn misplaced_command(answer: &clap::Error) -> Option<&str> {
    let mut words = env::args_os().skip(1);
    let without_dashes =
        words.next().is_some_and(|word| word == "run") && words.all(|word| word != "--");
    match answer.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word))
            if answer.kind() == ErrorKind::UnknownArgument
                && without_dashes
                && !word.starts_with('-') =>
        {
            Some(word)
        }
        _ => None,
    }
}

/// A semaphore hands out no more to one.
const MOST_PERMITS: i64 = 1024;

const SERVER: &str = "\
A Redis server, redis://[user:password@]host[:port][/db], rediss:// for TLS, unix:///path, \
redis+sentinel://host,host/service, or redis+cluster://host,host; repeat for several independent \
masters. Arguments are seen in `ps`: passwords belong into the environment \
[env, without -s: PALISADE_SERVERS, comma separated]";

const MAX_LEASE: &str = "\
The longest lease that this command may ask for. Above 60s, all who use these servers must be told: \
one of several servers that was restarted may have forgotten locks, and its vote does not count for 1% \
and 7s more than the longest lease [env: PALISADE_MAX_LEASE] [default: 60s, or --fleet-max-lease if \
that is less]";

const FLEET_MAX_LEASE: &str = "\
Your word that nobody who uses these servers asks for a longer lease, Java's services included: this \
alone makes the wait after a restart shorter than 68s; the same for all, at least 4s \
[env: PALISADE_FLEET_MAX_LEASE] [default: --max-lease, or 60s if that is more]";

const NAMESPACE: &str = "\
What stands before the name of the lock in its key, so that it meets no keys of others; the same \
for all who share it. A fleet is blessed for one namespace [env: PALISADE_NAMESPACE] [default: none]";

const LONG_ABOUT: &str = "\
Runs a command while holding a lock in Redis, and never after it.

Like flock(1), for commands on several machines. The lock lives on one Redis server, or on several \
independent ones of which a majority (or all, with --all) must grant it. It is renewed for as long \
as the command runs. If it can no longer be renewed, the command is ended before the lock can be \
granted to anybody else.";

const RUN_ABOUT: &str = "\
Run a command while holding the lock NAME

With one server the lock is held there. With several, which must be independent masters and not \
replicas of each other, a majority of them must grant it, so that a minority may be down: two of \
five, one of three. With --all every one must grant it.

After a second of waiting, stderr says who holds the lock.";

const RUN_SHORT: &str = "\
Examples and exit codes: palisade run --help";

const RUN_MORE: &str = "\
Examples:
  One backup at a time, whichever machine cron starts it on; skip it if one is running:
    palisade run -s redis://db1 -n -E 0 nightly-backup -- /usr/local/bin/backup

  A majority of three masters; wait at most two minutes; the password stays out of `ps`:
    export PALISADE_SERVERS=redis://:secret@a,redis://:secret@b,redis://:secret@c
    palisade run -w 2m deploy -- ./deploy.sh production

  A shell's command line needs a shell:
    palisade run -s redis://db1 report -- sh -c 'make report | mail -s report ops'

  A service of which one machine runs one, and another takes over:
    palisade run -s redis://a -s redis://b -s redis://c --lease 10s leader -- ./scheduler

  Many may read while nobody writes, and one writes while nobody reads:
    palisade run -s redis://db1 --shared catalogue -- ./export.sh
    palisade run -s redis://db1 --exclusive catalogue -- ./import.sh

  At most four encoders at once, on whichever machines:
    palisade run -s redis://db1 --permits 1 --of 4 encoders -- ./encode.sh

--exclusive, --shared and --fair:
  All who want the lock NAME exclude each other, whatever they say, except that those with --shared
  do not exclude each other. Who waits with --exclusive gets in before those with --shared that come
  later. Who waits with neither for those with one of them, or the other way round, looks once a
  second whether they are gone: for a name that some share, let all say one of the two. Leases are
  of 30s at most. Those with --fair get in one after the other; who asks with neither passes them.
  With --fair and --all they wait for one server at a time: the order is kept by each of them.
  A name for --permits is for --permits alone.

The command:
  Its environment has PALISADE_LOCK (the name), PALISADE_HOLDER (the id by which the servers know
  this hold) and PALISADE_HOLDERS (the ids of outer runs too, by which a nested run of the same
  lock is noticed). PALISADE_SERVERS is removed, since it may hold passwords; see --keep-env.
  With several servers it also has PALISADE_TOKEN, a number that is greater for every later holder
  of the lock: a store that keeps the greatest it has seen and refuses smaller ones is safe from
  a command that was stopped and writes late. There is none with
  --exclusive, --shared, --fair or --permits.
  It runs in a process group of its own. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 sent
  to palisade are passed on to that group, unless the whole unit was sent one; SIGTSTP stops the group and then palisade. On a terminal
  the command is in the foreground.

When the lock cannot be renewed:
  The group is sent SIGTERM one grace and 100ms before the lock runs out, and SIGKILL 100ms before.
  If a server says that the lock is gone, SIGKILL follows at once. The same happens when palisade
  is stopped; if it is killed, SIGTERM follows at once and SIGKILL after the grace. SIGKILL reaches
  everything the command has started, in whatever group or session, but nothing that runs as
  another user: write `sudo palisade run …`, not `palisade run … -- sudo …`, which is refused. What
  the command starts is not looked at before: if a process cannot be killed, palisade says which,
  leaves the lock to its lease, and exits with 74.

Servers that were restarted:
  One of several servers that started less than --fleet-max-lease, 1% of it and 7s ago (by default
  about 68s) may have forgotten locks that are held: it gets no vote until then. If that leaves too few,
  palisade says so and waits; with -n, or if -w ends before, it exits with 73. Servers of a new
  fleet have nothing to forget: see `palisade bless`.

When the command ends:
  Processes it has left in its group would run without the lock: after a second, in which a daemon
  may call setsid, they are sent SIGTERM, and SIGKILL after the grace, before the lock is released.
  Daemons in a session of their own are left alone. A command that dies of ^C, or of ^\\, ends the
  script that palisade is called in, as it would have done by itself; one that handles it does not.

Exit codes:
  that of the command, or 128+n if signal n ended it; else
   64  wrong use, or the lock is already held by a palisade this one was started from
   69  too few servers answered: at once with -n or without -w, else after -w. Once enough have
       answered, an outage is waited for as the lock is
   70  a defect in palisade
   71  the operating system refused something, such as another descriptor
   73  not yet: too few servers have a vote, since the others started lately; with -n, or if -w
       ends before they have
   74  the lock was lost, or could not be renewed, while the command ran; or processes of the
       command cannot be killed
   75  another holds the lock, with -n or until -w ended (-E changes this code)
   77  the servers refuse this user something that the lock needs: see `palisade acl`
   78  the servers are not as they are named: password, certificate, database, scripts switched
       off, or a key of another type under NAME
  126  the command cannot be executed
  127  the command was not found";

const ACL_ABOUT: &str = "\
Print the least rights of a user, for ACL SETUSER

They are those that the commands and scripts for these names need, no more: to hold locks, to look at \
them, and to bless servers. Nothing is sent to any server.";

const ACL_MORE: &str = "\
Examples:
  A user for the jobs of a team, on each server; then its password:
    palisade acl --user jobs --pattern 'jobs:*' | redis-cli -h db1
    redis-cli -h db1 ACL SETUSER jobs on '>…'

  For a program with a read/write lock and a semaphore:
    palisade acl --kind rw --kind semaphore catalogue";

const INSPECT_ABOUT: &str = "\
Show who holds the lock NAME, server by server

Host and process are shown for holders that are palisade processes, if the server allows \
CLIENT LIST.";

const INSPECT_MORE: &str = "\
Exit codes:
    0  a majority of the servers answered
   64  wrong use
   69  they did not
With --check:
    0  it is held on a majority of the servers, or on enough that no other could be granted it there
    1  it is free on a majority
    2  neither is known: too few servers answered
   64  wrong use";

const BLESS_ABOUT: &str = "\
Say that the servers are a new fleet that has forgotten nothing

A server that has just started may have forgotten locks that are still held, so its vote does not \
count for a while: --fleet-max-lease, 1% of it and 7s, by default about 68s. On a fleet that was set up \
just now nothing was ever held. This says so, and the votes count at once, until a server is restarted.

It is your word: never make it part of what starts the servers, and never say it of servers that \
were restarted while somebody may have held a lock. It is asked for on a terminal; elsewhere --new says it.";

const BLESS_MORE: &str = "\
Refused, and nothing is changed, unless all the servers are there, have started just now, and carry \
no mark of an earlier blessing or vote. --force does without the last two.

Exit codes:
    0  the servers were blessed
    1  refused: they are not a new fleet
   64  wrong use, or there is no terminal to ask at, and neither --new nor --force
   69  not all of them could be reached or written to
   77  they refuse this user something that it needs
   78  password, certificate or database do not fit

Example:
  palisade bless -s redis://a -s redis://b -s redis://c";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
