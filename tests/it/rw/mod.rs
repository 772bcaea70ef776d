//! Locks with many readers or one writer.

mod bad_input;
mod composite;
mod died;
mod downgrade;
mod exclusion;
mod loss;
mod owners;
mod redisson;
mod scripts;
mod waiting;
mod wire;

use palisade::Client;
use testkit::RedisServer;

use crate::support::{LONG_LEASE, patient};

/// A client whose time limits and leases no busy machine exceeds.
pub(crate) async fn client(server: &RedisServer) -> Client {
    patient(server).redisson_watchdog(LONG_LEASE).connect().await.unwrap()
}

/// Where releases are announced, for a name without braces.
fn channel(name: &str) -> String {
    format!("redisson_rwlock:{{{name}}}")
}

/// Where a reader's timer is, for a name without braces.
fn timer(name: &str, holder: &str) -> String {
    format!("{{{name}}}:{holder}:rwlock_timeout:1")
}

/// Where a writer says that it waits for readers, for a name without braces.
fn wish(name: &str) -> String {
    format!("{{{name}}}:palisade_writer")
}

/// How many connections are subscribed to the lock's channel.
fn subscribers(server: &RedisServer, name: &str) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", &channel(name)]).array()[1].int()
}
