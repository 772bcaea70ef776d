//! Where messages are read: on a runtime of the waiters, until that ends or is kept busy.

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use palisade::{Client, ClientBuilder, LockGuard, settings::Failover};
use testkit::{RedisServer, SlotCluster};
use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::support::{self, eventually, patient, patiently, promptly};

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

/// `by` waits on the current runtime for what `of` holds, and listens.
async fn held_and_awaited(
    server: &RedisServer,
    of: &Client,
    by: &Client,
) -> (LockGuard, JoinHandle<LockGuard>) {
    let held = of.lock("x").acquire().await.unwrap();
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
    let (held, waiter) = held_and_awaited(&server, &support::client(&server).await, &client).await;
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
    let holder = support::client(&server).await;
    woken_beside_a_busy_runtime(&server, &holder, &client, runtime).await;
}

/// Its servers share a host.
#[tokio::test]
async fn waiters_are_woken_when_the_runtime_is_busy_that_read_the_messages_of_a_cluster() {
    let cluster = SlotCluster::start(1);
    let settings = || {
        let settings = patiently(Client::builder().cluster(cluster.hosts()));
        settings.failover(Failover::Trust).connect_timeout(Duration::from_millis(500))
    };
    let (runtime, client) = first_used_on_a_runtime(settings()).await;
    let holder = settings().connect().await.unwrap();
    woken_beside_a_busy_runtime(&cluster[0], &holder, &client, runtime).await;
}

/// Messages are read on `runtime`, until that is kept busy.
async fn woken_beside_a_busy_runtime(
    server: &RedisServer,
    holder: &Client,
    client: &Client,
    runtime: Runtime,
) {
    let (held, waiter) = held_and_awaited(server, holder, client).await;
    let before = listening(server);
    let busy = keep_busy(&runtime);
    // The PING of every two seconds is not answered, and no connection is made there.
    eventually(|| listening(server).iter().any(|id| !before.contains(id))).await;
    held.release().await.unwrap();
    promptly(server, waiter).await.unwrap().release().await.unwrap();
    drop(busy);
    eventually(|| listening(server).iter().all(|id| !before.contains(id))).await;
    runtime.shutdown_background();
}
