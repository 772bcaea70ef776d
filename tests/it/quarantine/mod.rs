//! Masters that may have forgotten what they granted, and the word of an operator that they have
//! not.

mod blessing;
mod flushed;
mod fresh;
mod lengths;
mod markers;
mod marks;
mod overtaken;
mod paused;
mod restart;
mod rights;
mod scripts;
mod strict;
mod unwitnessed;

use std::time::Duration;

use palisade::{AcquireError, ClientBuilder, Masters, Quarantine};
use testkit::{Cluster, RedisServer};

use crate::fleet::{self, masters};

/// Where the marker stands.
const MARKER: &str = "palisade:marker";
/// D by default.
const D: Duration = Duration::from_millis(66_600);

/// The longest lease by default, which D follows from.
const MAX_LEASE: Duration = Duration::from_secs(60);

/// As other tests have them, but for the leases.
fn client(url: &str) -> ClientBuilder {
    fleet::client(url).max_lease(MAX_LEASE)
}

fn stranger(server: &RedisServer) -> ClientBuilder {
    fleet::stranger(server).max_lease(MAX_LEASE)
}

/// The default rule, which the other tests switch off.
fn wary(client: ClientBuilder) -> ClientBuilder {
    client.quarantine(Quarantine::Composites)
}

async fn wary_masters(servers: &Cluster) -> Masters {
    masters(servers.urls().iter().map(|url| wary(client(url)))).await
}

/// The same, as another process has them.
async fn wary_strangers(servers: &Cluster) -> Masters {
    masters(servers.iter().map(|server| wary(stranger(server)))).await
}

fn marker_on(server: &RedisServer) -> String {
    server.cli(&["GET", MARKER])
}

#[track_caller]
fn counts_in(error: &AcquireError) -> Duration {
    match error {
        AcquireError::Quarantined { counts_in, .. } => *counts_in,
        other => panic!("{other:?}"),
    }
}
