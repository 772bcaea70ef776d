//! What those ask that operate a fleet.

use std::time::Duration;

use clap::Args;

use super::{KindOfName, LONGEST_PAUSE, ServerArgs};
use crate::{duration, help};

/// List the locks that are held
#[derive(Debug, Args)]
#[command(long_about = help::ls::ABOUT, after_long_help = help::ls::MORE)]
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
#[command(long_about = help::watch::ABOUT, after_long_help = help::watch::MORE)]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// All locks, in place of some: goes through all keys each time, at the pace of `palisade ls`
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// The pause between two looks, at least 100ms
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = pause_of_looks)]
    pub(crate) every: Duration,

    /// What it prints is JSON in any case
    #[arg(long)]
    pub(crate) json: bool,

    /// Names of locks
    #[arg(required_unless_present = "all", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// Take the lock NAME away from a holder, which ends before another is granted it
#[derive(Debug, Args)]
#[command(long_about = help::unlock::ABOUT, after_long_help = help::unlock::MORE)]
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

/// Show how the servers are, and what a crash of one of them would cost
#[derive(Debug, Args)]
#[command(long_about = help::doctor::ABOUT, after_long_help = help::doctor::MORE)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Judge them for locks that every server has to grant, instead of a majority
    #[arg(long)]
    pub(crate) all: bool,

    /// What the servers' user is to be able to use: a right that is missing is a problem then; repeat for several
    #[arg(long, value_enum, value_name = "KIND", conflicts_with = "wait_safe")]
    pub(crate) kind: Vec<KindOfName>,

    /// The name for which rights and announcements are tried [default: palisade-doctor, and commands alone]
    #[arg(long, value_name = "NAME", conflicts_with = "wait_safe")]
    pub(crate) name: Option<String>,

    /// Wait until one of several servers can be restarted, even empty, without a lock being lost; no longer than LIMIT,
    /// of which two looks take 2s at least
    #[arg(long, value_name = "LIMIT", num_args = 0..=1, require_equals = true, conflicts_with = "all", value_parser = duration::parse)]
    pub(crate) wait_safe: Option<Option<Duration>>,

    /// Wait also for locks that only a minority of the servers has
    #[arg(long, requires = "wait_safe")]
    pub(crate) strict: bool,

    /// Go through the keys without pauses
    #[arg(long, requires = "wait_safe")]
    pub(crate) fast: bool,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// More often would be a load of its own.
fn pause_of_looks(text: &str) -> Result<Duration, String> {
    let is_usable = |time: &Duration| *time >= Duration::from_millis(100) && *time <= LONGEST_PAUSE;
    Some(duration::parse(text)?)
        .filter(is_usable)
        .ok_or_else(|| "must be from 100ms to 10 years".to_owned())
}
