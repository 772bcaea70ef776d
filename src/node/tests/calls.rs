//! A server that answers, and the streams it is reached by.

use futures::FutureExt;
use testkit::RedisServer;

use super::{KEY, connect};
use crate::{
    clock::{BootClock, Clock},
    node::{
        deployment::Node,
        test_server::{TestServer, node},
    },
    reach::{
        Endpoint, Stream,
        test_settings::{ECHO, Echo, later, settings},
    },
};

#[tokio::test]
async fn a_call_is_answered_with_the_time_on_both_sides() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let before = BootClock.now();
    let answer = connection.call(&Echo(7), later()).await.unwrap();
    assert_eq!(answer.reply, 7);
    assert!(before <= answer.sent && answer.sent <= answer.received);
    let guess = connection.server_time_at(answer.received);
    assert!((0..1_000_000).contains(&(guess - answer.server_time)), "never early: {guess}");
    assert!(server.run("CLIENT LIST").contains("name=palisade-test "));
    assert_eq!(node.run_id(), connection.run_id());
    assert_eq!(node.connected(KEY).unwrap().epoch(), connection.epoch());
}

#[tokio::test]
async fn a_unix_socket_and_a_database_are_spoken_to() {
    let server = RedisServer::builder().unix_socket().start();
    let node = node(&format!("{}?db=3", server.unix_url()));
    connect(&node).await.call(&Echo(1), later()).await.unwrap();
    let keyspace = server.run("INFO keyspace");
    assert!(keyspace.contains("db3"), "{keyspace}");
}

#[tokio::test]
async fn a_connector_brings_its_own_stream() {
    let server = RedisServer::start();
    let port = server.port();
    let endpoint = Endpoint::connector("mine", move || {
        let connect = tokio::net::TcpStream::connect(("127.0.0.1", port));
        connect.map(|stream| Ok(Box::new(stream?) as Box<dyn Stream>)).boxed()
    });
    let node = Node::new(endpoint, settings());
    assert_eq!(node.id().to_string(), "mine");
    assert_eq!(connect(&node).await.call(&Echo(5), later()).await.unwrap().reply, 5);
}

#[tokio::test]
async fn a_flushed_script_is_sent_again_and_runs_once() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    connection.call(&Echo(1), later()).await.unwrap();
    server.run("SCRIPT FLUSH");
    assert_eq!(connection.call(&Echo(2), later()).await.unwrap().reply, 2);
    assert_eq!(server.run("GET calls"), "2");
}

#[tokio::test]
async fn scripts_that_a_server_lacks_are_loaded_on_connect() {
    let server = RedisServer::start();
    connect(&server.node()).await;
    assert_eq!(server.run(&format!("SCRIPT EXISTS {}", ECHO.text().sha)), "1");
    // Asked for and loaded; the third was the test.
    assert_eq!(server.calls_of("script"), 3);
    connect(&server.node()).await;
    assert_eq!(server.calls_of("script"), 4, "the server knows them by now");
    server.run("SCRIPT FLUSH");
    connect(&server.node()).await;
    assert_eq!(server.calls_of("script"), 7);
}
