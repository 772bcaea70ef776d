//! Recorders that block or panic. On the task that asks they cost its own time, and no lock.

use std::{
    sync::{Arc, mpsc::channel},
    thread,
    time::Duration,
};

use palisade::{Client, LockGuard, clock::BootClock};
use testkit::RedisServer;

use super::recorder::{GATE, measured};
use crate::support::{patient, soon, watchdog};

const LEASE_MS: u64 = 3_000;

/// With a watchdog that no other test has.
async fn held(server: &RedisServer, group: &str) -> (Client, LockGuard) {
    let settings = measured(patient(server), group).clock(Arc::new(BootClock));
    let client = settings.connect().await.unwrap();
    let guard = soon(client.lock("x").with_lease(watchdog(LEASE_MS)).acquire()).await.unwrap();
    (client, guard)
}

async fn outlives_its_lease(guard: &LockGuard) {
    tokio::time::sleep(2 * Duration::from_millis(LEASE_MS)).await;
    guard.ensure_valid().unwrap();
}

#[tokio::test]
async fn recorder_that_panics_delays_no_renewal() {
    let server = RedisServer::start();
    let (_client, guard) = held(&server, "panics").await;
    outlives_its_lease(&guard).await;
    guard.release().await.unwrap();
}

#[tokio::test]
async fn recorder_that_blocks_delays_no_renewal() {
    let server = RedisServer::start();
    let (_client, guard) = held(&server, "blocks").await;
    let (open, opened) = channel::<()>();
    let (close, closed) = channel();
    let gate = thread::spawn(move || {
        let _closed = GATE.lock();
        close.send(()).unwrap();
        opened.recv().unwrap_err();
    });
    closed.recv().unwrap();
    outlives_its_lease(&guard).await;
    drop(open);
    gate.join().unwrap();
    guard.release().await.unwrap();
}
