//! Servers whose owners took commands away, as some providers do: `docs/src/choose/providers.md` has the table.

use futures::future::join;
use palisade::{
    Masters,
    error::{ConnectError, NodeError},
};
use testkit::RedisServer;

use crate::support::{Look as _, causes, client, eventually, patient, soon, watchdog};

/// Holds a lock until it was renewed, hands it to a waiter of another client, and leaves nothing.
async fn serves(without: &[&str]) {
    let builder = without.iter().fold(RedisServer::builder(), |builder, it| builder.without(it));
    let server = builder.start();
    let (holder, waiter) = (client(&server).await, client(&server).await);
    let guard = soon(holder.lock("x").with_lease(watchdog(6_000)).acquire()).await.unwrap();
    let mut last = i64::MAX;
    eventually(|| {
        let ttl = server.command(&["PTTL", "x"]).int();
        ttl > std::mem::replace(&mut last, ttl)
    })
    .await;
    let waiter = waiter.lock("x");
    assert!(soon(waiter.try_acquire()).await.unwrap().is_none());
    let (released, guard) = soon(join(guard.release(), waiter.acquire())).await;
    released.unwrap();
    let guard = guard.unwrap();
    soon(guard.release()).await.unwrap();
    assert!(!server.exists("x"));
}

#[tokio::test]
async fn lock_is_served_without_config_client_script_role_and_wait() {
    serves(&["CONFIG", "CLIENT", "SCRIPT", "ROLE", "WAIT"]).await;
}

#[tokio::test]
async fn lock_is_served_without_resp3() {
    serves(&["HELLO"]).await;
}

#[tokio::test]
async fn lock_is_served_without_subscriptions() {
    serves(&["SUBSCRIBE"]).await;
}

#[tokio::test]
async fn lock_is_served_without_messages() {
    serves(&["PUBLISH"]).await;
}

#[tokio::test]
async fn lock_of_one_master_is_served_without_info() {
    serves(&["INFO"]).await;
}

#[tokio::test]
async fn masters_without_info_grant_nothing_together() {
    let servers = [(); 3].map(|()| RedisServer::builder().without("INFO").start());
    let masters = Masters::connect(servers.iter().map(RedisServer::url)).await.unwrap();
    for error in [
        soon(masters.red_lock("x").acquire()).await.unwrap_err(),
        soon(masters.multi_lock("x").acquire()).await.unwrap_err(),
    ] {
        // No right of a user mends that.
        let is_mute = |cause: &&NodeError| matches!(cause, NodeError::Unsupported { .. });
        assert!(causes(&error).iter().all(is_mute), "{error:?}");
    }
    assert!(servers.iter().all(|server| server.size() == 0));
}

#[tokio::test]
async fn server_without_a_clock_is_refused_by_the_name_of_the_command() {
    let server = RedisServer::builder().without("TIME").start();
    let error = soon(patient(&server).connect()).await.unwrap_err();
    let ConnectError::Node { source, .. } = &error else { panic!("{error:?}") };
    assert!(
        source.to_string().contains("unknown command") && source.to_string().contains("TIME"),
        "{error:?}"
    );
}
