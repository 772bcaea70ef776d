//! What a token is worth, seen from outside.

use std::time::Duration;

use palisade::{
    Masters, Quarantine,
    embedded::Server,
    error::{InspectError, NodeError},
    inspect::TokenLook,
};
use testkit::RedisServer;

use super::{counter, member_counter};
use crate::{
    outside::ask,
    support::{client, soon},
};

/// Held or free, where no greater token is known.
fn newest(look: TokenLook) -> Option<bool> {
    if let TokenLook::Newest { held, .. } = look { Some(held) } else { None }
}

#[tokio::test]
async fn token_is_stale_from_the_next_grant_on_and_for_good() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.fenced_lock("x");
    let guard = soon(lock.acquire()).await.unwrap();
    let first = guard.fencing_token();
    assert_eq!(newest(lock.look(first).await.unwrap()), Some(true));
    guard.release().await.unwrap();
    assert_eq!(newest(lock.look(first).await.unwrap()), Some(false));
    // A plain lock has no token.
    let plain = soon(client.lock("x").acquire()).await.unwrap();
    assert_eq!(newest(lock.look(first).await.unwrap()), Some(true));
    plain.release().await.unwrap();

    let guard = soon(lock.acquire()).await.unwrap();
    assert_eq!(lock.look(first).await.unwrap(), TokenLook::Stale);
    assert_eq!(newest(lock.look(guard.fencing_token()).await.unwrap()), Some(true));
    guard.release().await.unwrap();
    assert_eq!(lock.look(first).await.unwrap(), TokenLook::Stale);
}

#[tokio::test]
async fn look_changes_nothing_and_fails_at_what_is_no_counter_or_no_lock() {
    let server = RedisServer::start();
    let lock = client(&server).await.fenced_lock("x");
    let token = lock.with(async |guard| guard.fencing_token()).await.unwrap();
    server.cli(&["DEL", &counter("x")]);
    assert_eq!(newest(lock.look(token).await.unwrap()), Some(false));
    assert!(server.keys().is_empty());
    for (key, cause) in
        [(counter("x"), NodeError::ForeignCounter), ("x".into(), NodeError::ForeignKey)]
    {
        server.cli(&["SET", &key, "a value"]);
        let InspectError::Node { source, .. } = lock.look(token).await.unwrap_err() else {
            panic!("of another sort");
        };
        assert_eq!(source.to_string(), cause.to_string());
        assert_eq!(server.keys(), [&*key]);
        server.flush();
    }
}

/// It is the same hold, so its token stays the newest.
#[tokio::test(start_paused = true)]
async fn hold_that_is_written_again_where_it_was_forgotten_is_not_stale() {
    let server = Server::start_here();
    let client = server.client_builder().quarantine(Quarantine::Always).build().unwrap();
    tokio::time::sleep(LONG).await;
    let lock = client.fenced_lock("x");
    let guard = lock.acquire().await.unwrap();
    // Older than what a new token would be lifted to.
    tokio::time::sleep(Duration::from_secs(60)).await;
    server.kill_and_forget();
    server.restart();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(guard.is_held());
    assert_eq!(newest(lock.look(guard.fencing_token()).await.unwrap()), Some(true));
    let told: u64 = ask(&server, &["GET", &counter("x")]).await;
    assert_eq!(told, guard.fencing_token().get());
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn member_that_is_won_back_writes_the_token_of_the_hold() {
    let servers = [(); 3].map(|()| Server::start_here());
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.fenced_red_lock("x").acquire().await.unwrap();
    let token = guard.fencing_token().get();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let lost: i64 = ask(&servers[0], &["DEL", "x", &member_counter("x")]).await;
    assert_eq!(lost, 2);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(guard.votes(), 3);
    for server in &servers {
        assert_eq!(ask::<u64>(server, &["GET", &member_counter("x")]).await, token);
    }
    guard.release().await.unwrap();
}

/// A server that has run for so long may grant.
const LONG: Duration = Duration::from_secs(120);
