//! A server that answers, but not what is wanted: each cause is called by its name.

use std::thread;

use testkit::RedisServer;

use super::{KEY, connect, fails, recovers};
use crate::{
    error::NodeError,
    node::test_server::{TestServer, node},
    reach::test_settings::{Echo, later, until, within},
};

#[tokio::test]
async fn a_wrong_password_is_said_so_and_not_repeated() {
    let server = RedisServer::start();
    for login in [":hunter2", "bob:hunter2"] {
        let node = node(&format!("redis://{login}@127.0.0.1:{}", server.port()));
        let error = within(node.connection(KEY, later())).await.unwrap_err();
        assert!(matches!(error, NodeError::Authentication { .. }), "{error:?}");
        assert!(!format!("{error:?} {error} {node:?}").contains("hunter2"));
    }
    server.run("ACL SETUSER alice on >wonder ~* &* +@all");
    server.run("ACL SETUSER default resetpass");
    let error = within(server.node().connection(KEY, later())).await;
    assert!(matches!(error, Err(NodeError::Authentication { .. })), "{error:?}");
    let node = server.node_of_alice();
    connect(&node).await.call(&Echo(1), later()).await.unwrap();
}

#[tokio::test]
async fn refused_login_is_not_remembered_by_who_asks_again() {
    let server = RedisServer::start();
    let node = server.node_of_alice();
    for _ in 0..2 {
        let error = within(node.connection(KEY, later())).await.unwrap_err();
        assert!(matches!(error, NodeError::Authentication { .. }), "{error:?}");
    }
    server.run("ACL SETUSER alice on >wonder ~* &* +@all");
    within(node.connection(KEY, later())).await.unwrap();
}

#[tokio::test]
async fn too_many_clients_are_no_matter_of_passwords() {
    let server = RedisServer::start();
    server.run("ACL SETUSER alice on >wonder ~* &* +@all");
    // The harness is one of them.
    server.run("CONFIG SET maxclients 2");
    let first = server.node();
    connect(&first).await;
    for login in ["", "alice:wonder@"] {
        let node = node(&format!("redis://{login}127.0.0.1:{}", server.port()));
        // The server speaks and hangs up at once: not every attempt hears it.
        let says_so = async || {
            let error = node.connection(KEY, later()).await.unwrap_err();
            assert!(error.is_transient(), "{error:?}");
            error.to_string().contains("max number of clients").then_some(())
        };
        within(until(says_so)).await;
    }
}

#[tokio::test]
async fn a_replica_is_no_node() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    server.run("REPLICAOF 127.0.0.1 1");
    let error = connection.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::Replica), "{error:?}");
    assert!(!connection.is_live());
    assert!(matches!(fails(&node).await, NodeError::Replica));
    let unmet = server.node();
    assert!(matches!(within(unmet.connection(KEY, later())).await, Err(NodeError::Replica)));
    server.run("REPLICAOF NO ONE");
    recovers(&node).await.call(&Echo(1), later()).await.unwrap();
}

#[tokio::test]
async fn a_replica_without_its_master_and_old_data_is_no_node() {
    let server = RedisServer::builder().arg("--replica-serve-stale-data", "no").start();
    server.run("REPLICAOF 127.0.0.1 1");
    let error = within(server.node().connection(KEY, later())).await.unwrap_err();
    assert!(matches!(error, NodeError::MasterDown), "{error:?}");
}

#[tokio::test]
async fn a_server_that_loads_its_data_is_down_until_it_has() {
    let server = RedisServer::builder().arg("--enable-debug-command", "yes").start();
    server.run("DEBUG POPULATE 3000");
    // In µs, with a look at clients behind so many bytes.
    server.run("CONFIG SET key-load-delay 5000");
    server.run("CONFIG SET loading-process-events-interval-bytes 1024");
    let mut loader = server.connect();
    let loading = thread::spawn(move || loader.command(&["DEBUG", "RELOAD"]));
    let node = server.node();
    let is_loading = || server.run("INFO persistence").contains("loading:1");
    within(until(async || is_loading().then_some(()))).await;
    assert!(matches!(fails(&node).await, NodeError::Loading));
    server.run("CONFIG SET key-load-delay 0");
    recovers(&node).await;
    drop(loading.join());
}

#[tokio::test]
async fn a_user_who_may_not_see_info_has_no_run_id() {
    let server = RedisServer::start();
    server.run("ACL SETUSER alice on >wonder ~* &* +@all -info -client -script -ping");
    let node = server.node_of_alice();
    let connection = connect(&node).await;
    assert_eq!((connection.run_id(), node.run_id()), (None, None));
    assert_eq!(connection.call(&Echo(3), later()).await.unwrap().reply, 3);
}

#[tokio::test]
async fn missing_permissions_are_named_outside_and_inside_of_scripts() {
    let server = RedisServer::start();
    for (rule, word) in [("-evalsha", "evalsha"), ("-incr", "script")] {
        server.run(&format!("ACL SETUSER alice reset on >wonder ~* &* +@all {rule}"));
        let node = server.node_of_alice();
        let error = connect(&node).await.call(&Echo(1), later()).await.unwrap_err();
        let NodeError::Permission { message } = &error else { panic!("{error:?}") };
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn a_server_without_scripts_is_told_from_one_that_refuses_them() {
    let server = RedisServer::builder().without("EVALSHA").start();
    let error = connect(&server.node()).await.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::ScriptsRefused { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_out_of_memory_says_so() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    server.run("CONFIG SET maxmemory 1");
    let error = connection.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::OutOfMemory), "{error:?}");
    assert!(connection.is_live());
}
