//! Where messages are read: on a runtime of those who wait, until that ends or is kept busy.

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use palisade::{Client, ClientBuilder, LockGuard};
use testkit::RedisServer;
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::support::{client, eventually, patient, promptly};

/// Where the client is used first, so that messages are read there.
async fn first_used_on_a_runtime(settings: ClientBuilder) -> (Runtime, Client) {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let used = runtime.spawn(async move {
        let client = settings.connect().await.unwrap();
        client.lock("first").acquire().await.unwrap().release().await.unwrap();
        client
    });
    (runtime, used.await.unwrap())
}

/// The connections that listen, by their ids.
fn listening(server: &RedisServer) -> Vec<String> {
    let listed = server.cli(&["CLIENT", "LIST", "TYPE", "pubsub"]);
    listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// One of the current runtime waits for what another holds, and listens.
async fn held_and_awaited(server: &RedisServer, by: &Client) -> (LockGuard, JoinHandle<LockGuard>) {
    let held = client(server).await.lock("x").acquire().await.unwrap();
    let lock = by.lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await.unwrap() });
    eventually(|| !listening(server).is_empty()).await;
    (held, waiter)
}

/// Keeps the only thread of a runtime busy until the sender is dropped.
fn keep_busy(runtime: &Runtime) -> Sender<()> {
    let (busy, until) = channel::<()>();
    runtime.spawn(async move {
        let _over = until.recv();
    });
    busy
}

#[tokio::test]
async fn waiters_are_woken_when_the_runtime_has_ended_that_read_their_messages() {
    let server = RedisServer::start();
    let (runtime, client) = first_used_on_a_runtime(patient(&server)).await;
    let (held, waiter) = held_and_awaited(&server, &client).await;
    let before = listening(&server);
    runtime.shutdown_background();
    eventually(|| listening(&server).iter().any(|id| !before.contains(id))).await;
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn waiters_are_woken_when_the_runtime_is_busy_that_read_their_messages() {
    let server = RedisServer::start();
    let settings = patient(&server).connect_timeout(Duration::from_millis(500));
    let (runtime, client) = first_used_on_a_runtime(settings).await;
    let (held, waiter) = held_and_awaited(&server, &client).await;
    let before = listening(&server);
    let busy = keep_busy(&runtime);
    // The PING of every two seconds is not answered, and no connection is made there.
    eventually(|| listening(&server).iter().any(|id| !before.contains(id))).await;
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    drop(busy);
    eventually(|| listening(&server).iter().all(|id| !before.contains(id))).await;
    runtime.shutdown_background();
}
