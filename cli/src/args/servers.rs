//! Which servers are meant, and by which rules their votes count.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueEnum};

use super::FileArgs;
use crate::{duration, help};

#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    // No parser and no default here: clap would print the value, which may hold a password.
    #[arg(short, long = "server", value_name = "URL", help = help::options::SERVER)]
    pub(crate) servers: Vec<String>,

    #[command(flatten)]
    pub(crate) files: FileArgs,

    #[arg(long, value_name = "FILE", help = help::options::PASSWORD_FILE)]
    pub(crate) password_file: Option<PathBuf>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = help::options::MAX_LEASE)]
    pub(crate) max_lease: Option<Duration>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = help::options::FLEET_MAX_LEASE)]
    pub(crate) fleet_max_lease: Option<Duration>,

    #[arg(long, value_name = "PREFIX", help = help::options::NAMESPACE)]
    pub(crate) namespace: Option<String>,

    /// Count a lock as held only while so many replicas of its master have it: more than can be lost
    /// or cut off together with the master [env: PALISADE_REPLICAS]
    #[arg(long, value_name = "N")]
    pub(crate) replicas: Option<u32>,

    /// Have a promoted master wait for so much longer, where masters go by min-replicas-to-write: their
    /// min-replicas-max-lag and a second; the same everywhere [env: PALISADE_FAILOVER_LAG]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) failover_lag: Option<Duration>,

    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true", help = help::options::TRACKING)]
    pub(crate) tracking: Option<bool>,

    #[arg(long, value_enum, value_name = "WHAT", help = help::options::SHARDED_PUBSUB)]
    pub(crate) sharded_pubsub: Option<ReleasesTold>,

    #[arg(long, value_enum, value_name = "WHAT", help = help::options::QUARANTINE)]
    pub(crate) quarantine: Option<WhichWait>,

    #[arg(long, value_enum, value_name = "WHAT", help = help::options::FAILOVER)]
    pub(crate) failover: Option<AfterFailover>,

    #[arg(long, value_enum, value_name = "WHAT", help = help::options::UNIDENTIFIED)]
    pub(crate) unidentified: Option<VotesOfUnknown>,

    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help = help::options::CLOCK_SKEW)]
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

/// How releases are announced in a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReleasesTold {
    /// As the servers can
    Auto,
    /// On the server of the lock's slot
    On,
    /// By way of every server
    Off,
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
