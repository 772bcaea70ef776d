//! Connections that cannot be made any more when a lock is to be renewed: those that live serve on.

use testkit::RedisServer;

use super::sharing::{held, outlive, user};
use crate::{
    fleet::{client, eventually},
    support::acquired,
};

#[tokio::test]
async fn lock_outlives_a_password_that_is_changed_once_it_is_held() {
    let server = RedisServer::start();
    let client = user(&server, "app").await;
    let connections = server.connected_clients();
    let guard = held(&client, "x").await;
    eventually("one more", || server.connected_clients() > connections).await;
    server.cli(&["ACL", "SETUSER", "app", "resetpass", ">another"]);
    outlive(&[guard]).await;
}

#[tokio::test]
async fn lock_outlives_that_no_connection_is_to_be_had() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    // There is no room for one more.
    server.cli(&["CONFIG", "SET", "maxclients", &server.connected_clients().to_string()]);
    let guard = held(&client, "x").await;
    outlive(&[guard]).await;
}

#[tokio::test]
async fn watchdog_is_connected_when_a_lock_is_held_and_not_when_it_is_first_renewed() {
    let server = RedisServer::start();
    let client = client(&server.url()).connect().await.unwrap();
    let connections = server.connected_clients();
    // Renewed after minutes.
    let guard = acquired(&client.lock("x")).await;
    eventually("one more", || server.connected_clients() > connections).await;
    guard.release().await.unwrap();
}
