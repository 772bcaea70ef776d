//! Count-down latches.

mod bad_input;
mod cancellation;
mod counting;
mod outage;
mod redisson;
mod scripts;
mod waiting;

use testkit::RedisServer;

use crate::support::{Look, eventually};

/// Where Redisson announces what becomes of the latch `x`.
const CHANNEL: &str = "redisson_countdownlatch__channel__{x}";

/// How many connections listen to the latch `x`.
fn listeners(server: &RedisServer) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int()
}

/// What is kept of changes of the latch `x`.
fn kept(server: &RedisServer) -> Vec<String> {
    let keys = server.keys().into_iter();
    keys.filter(|key| key.starts_with("palisade_once:{x}:")).collect()
}

/// Completes once nothing but `keys` stands.
async fn only(server: &RedisServer, keys: &[&str]) {
    eventually(|| server.size() == keys.len() as i64 && server.keys() == keys).await;
}
