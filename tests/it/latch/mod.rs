//! Count-down latches.

mod again;
mod bad_input;
mod cancellation;
mod counting;
mod generation;
mod outage;
mod redisson;
mod scripts;
mod waiting;

use testkit::RedisServer;

use crate::support::eventually;

/// Where Redisson announces what becomes of the latch `x`.
const CHANNEL: &str = "redisson_countdownlatch__channel__{x}";

/// When it was last brought to zero.
const GENERATION: &str = "{x}:palisade_zero";

/// How many connections listen to the latch `x`.
fn listeners(server: &RedisServer) -> i64 {
    server.command(&["PUBSUB", "NUMSUB", CHANNEL]).array()[1].int()
}

/// What is kept of changes of the latch `x`.
fn kept(server: &RedisServer) -> Vec<String> {
    let keys = server.keys().into_iter();
    keys.filter(|key| key.starts_with("palisade_once:{x}:")).collect()
}

/// Completes once nothing but `keys` stands, and when it was last at zero.
async fn only(server: &RedisServer, keys: &[&str]) {
    eventually(|| {
        let mut left = server.keys();
        left.retain(|key| !key.ends_with(":palisade_zero"));
        left == keys
    })
    .await;
}
