//! Locks that are granted in the order in which they were asked for.

mod bad_input;
mod composite;
mod damage;
mod loss;
mod order;
mod redisson;
mod scripts;
mod waiting;
mod wire;

use palisade::LockGuard;
use testkit::{RedisServer, Reply};
use tokio::task::JoinHandle;

use crate::support::{Look, client, eventually};

/// The waiters, the next one first.
const QUEUE: &str = "redisson_lock_queue:{x}";
/// Until when.
const DEADLINES: &str = "redisson_lock_timeout:{x}";
/// Of a first in the queue that does not come.
const NOTE: &str = "{x}:palisade_head";
/// Of the waiters, before the colon and their holder ids.
const CHANNEL: &str = "redisson_lock__channel:{x}";

fn queue(server: &RedisServer) -> Vec<String> {
    let queue = server.command(&["LRANGE", QUEUE, "0", "-1"]);
    queue.array().iter().map(Reply::to_string).collect()
}

/// The deadline of a place, in ms since 1970.
fn deadline(server: &RedisServer, waiter: &str) -> Option<i64> {
    match server.command(&["ZSCORE", DEADLINES, waiter]) {
        Reply::Bulk(text) => Some(String::from_utf8(text).unwrap().parse().unwrap()),
        _ => None,
    }
}

/// Whether there is a listener where this one is told.
fn listens(server: &RedisServer, waiter: &str) -> bool {
    let channel = format!("{CHANNEL}:{waiter}");
    server.command(&["PUBSUB", "NUMSUB", &channel]).array()[1].int() > 0
}

/// A waiter for the lock `x` in a process of its own: behind all that stand there already.
async fn waiter(server: &RedisServer) -> (String, JoinHandle<LockGuard>) {
    let before = queue(server);
    let lock = client(server).await.fair_lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await.unwrap() });
    eventually(|| queue(server).len() > before.len()).await;
    let own = queue(server).last().unwrap().clone();
    eventually(|| listens(server, &own)).await;
    (own, waiter)
}

/// Completes once nothing of the lock stands.
async fn nothing_is_left(server: &RedisServer) {
    eventually(|| server.size() == 0).await;
}
