//! Which locks are found among all keys of real servers.

mod kinds;
mod load;
mod servers;
mod strangers;

use palisade::{
    Client,
    inspect::{ListOptions, ListedLock, LockList},
};
use testkit::RedisServer;

use crate::support::soon;

/// Holder ids as Redisson has them, too.
const UUID: &str = "0fa6aec3-9a0f-4f7e-8dd2-52d7a3f9ae3d";

/// All locks.
async fn all(client: &Client) -> LockList {
    soon(client.list(&ListOptions::new().fast())).await.unwrap()
}

async fn found(client: &Client, pattern: &str) -> LockList {
    soon(client.list(&ListOptions::new().matching(pattern).fast())).await.unwrap()
}

fn names(list: &LockList) -> Vec<&str> {
    list.locks.iter().map(|lock| lock.name.as_str()).collect()
}

/// The only one.
#[track_caller]
fn only(list: &LockList) -> &ListedLock {
    let [lock] = &list.locks[..] else { panic!("{list:?}") };
    lock
}

fn ids(lock: &ListedLock) -> Vec<&str> {
    lock.holders.iter().map(|it| it.holder.id.as_str()).collect()
}

/// A hash of somebody's making.
fn hash(server: &RedisServer, key: &str, fields: &[&str]) {
    server.cli(&[&["HSET", key], fields].concat());
}
