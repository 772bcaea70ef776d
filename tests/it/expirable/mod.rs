//! Semaphores whose permits have leases.

mod bad_input;
mod cancellation;
mod holding;
mod outage;
mod redisson;
mod scripts;
mod waiting;

use palisade::ExpirableSemaphore;
use testkit::RedisServer;

use crate::support::{client, soon};

/// Where Redisson announces permits of the semaphore `x`.
const CHANNEL: &str = "redisson_sc:{x}";

/// The leases of permits of the semaphore `x`.
const LEASES: &str = "{x}:timeout";

/// Where a waiter for several permits of the semaphore `x` says so.
const WISH: &str = "{x}:palisade_wish";

/// How many connections listen to the semaphore `x`.
fn listeners(server: &RedisServer) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int()
}

/// The semaphore `x` of a client of its own, with so many permits if they are not set.
async fn semaphore(server: &RedisServer, permits: u32) -> ExpirableSemaphore {
    let semaphore = client(server).await.expirable_semaphore("x");
    soon(semaphore.try_set_permits(permits)).await.unwrap();
    semaphore
}

fn left(server: &RedisServer) -> String {
    server.cli(&["GET", "x"])
}

/// How many permits have a lease.
fn leases(server: &RedisServer) -> i64 {
    server.command(&["ZCARD", LEASES]).int()
}
