//! What is told to Prometheus, where, and how often it is counted.

use std::{net::SocketAddr, time::Duration};

use clap::Args;

use super::{LONGEST_PAUSE, ServerArgs};
use crate::{duration, help};

/// Tell Prometheus what is held and how the servers are
#[derive(Debug, Args)]
#[command(long_about = help::exporter::ABOUT, after_long_help = help::exporter::MORE)]
pub(crate) struct ExporterArgs {
    #[command(flatten)]
    pub(crate) servers: ServerArgs,

    /// Where to answer: an address of this machine and a port, such as 0.0.0.0:17254 or [::1]:17254; with port 0 a free
    /// one, which stderr says
    #[arg(long, value_name = "ADDRESS:PORT", default_value = DEFAULT_LISTEN, value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// How often locks are counted, at least 1s; a count that takes longer is followed by the next one
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = pause_of_counts)]
    pub(crate) every: Duration,

    /// Count for locks that every server has to grant, instead of a majority
    #[arg(long)]
    pub(crate) all: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let what = "no address and port; write 127.0.0.1:17254, 0.0.0.0:17254 or [::1]:17254";
    text.parse().map_err(|_malformed| what.to_owned())
}

fn pause_of_counts(text: &str) -> Result<Duration, String> {
    let is_usable = |time: &Duration| *time >= Duration::from_secs(1) && *time <= LONGEST_PAUSE;
    Some(duration::parse(text)?)
        .filter(is_usable)
        .ok_or_else(|| "must be from 1s to 10 years".to_owned())
}

/// On this machine alone: what is told is for operators. In the ports of Prometheus' list, 9100 to 9999, none is left.
const DEFAULT_LISTEN: &str = "127.0.0.1:17254";
