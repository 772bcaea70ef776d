//! Semaphores without leases.

mod bad_input;
mod cancellation;
mod counting;
mod holding;
mod outage;
mod redisson;
mod scripts;
mod waiting;

use palisade::Semaphore;
use testkit::RedisServer;

use crate::support::{client, soon};

/// Where Redisson announces permits of the semaphore `x`.
const CHANNEL: &str = "redisson_sc:{x}";

/// The holders of permits of the semaphore `x`.
const HOLDERS: &str = "{x}:palisade_holders";

/// Where a waiter for several permits of the semaphore `x` says so.
const WISH: &str = "{x}:palisade_wish";

/// How many connections listen to the semaphore `x`.
fn listeners(server: &RedisServer) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int()
}

/// The semaphore `x` of a client of its own, with so many permits if they are not set.
async fn semaphore(server: &RedisServer, permits: u32) -> Semaphore {
    let semaphore = client(server).await.semaphore("x");
    soon(semaphore.try_set_permits(permits)).await.unwrap();
    semaphore
}

fn left(server: &RedisServer) -> String {
    server.cli(&["GET", "x"])
}
