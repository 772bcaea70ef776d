//! Runtimes come and go, and so do nodes.

use futures::FutureExt;
use testkit::RedisServer;

use super::{KEY, connect};
use crate::{
    error::NodeError,
    node::{
        Connection,
        test_server::{Echo, TestServer, later, until, within},
    },
};

#[test]
fn a_node_outlives_the_runtime_it_was_first_used_on() {
    let server = RedisServer::start();
    let node = server.node();
    assert!(matches!(
        node.connection(KEY, later()).now_or_never(),
        Some(Err(NodeError::NoRuntime))
    ));
    let mut earlier: Option<Connection> = None;
    for round in 0..3 {
        let runtime = match round {
            0 => tokio::runtime::Builder::new_current_thread().enable_all().build(),
            _ => tokio::runtime::Builder::new_multi_thread().enable_all().build(),
        }
        .unwrap();
        let connection = runtime.block_on(async {
            let connection = connect(&node).await;
            assert_eq!(connection.call(&Echo(round), later()).await.unwrap().reply, round);
            connection
        });
        if let Some(earlier) = earlier.replace(connection) {
            assert!(!earlier.is_live());
            let error = runtime.block_on(earlier.call(&Echo(1), later())).unwrap_err();
            assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
        }
        assert_eq!(node.links(), 1);
        drop(runtime);
        assert_eq!(node.links(), 0);
    }
}

#[test]
fn runtimes_may_come_and_go_at_the_same_time() {
    let server = RedisServer::start();
    let node = server.node();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let node = &node;
            scope.spawn(move || {
                for round in 0..25 {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                    let number = thread * 100 + round;
                    let call = async { connect(node).await.call(&Echo(number), later()).await };
                    assert_eq!(runtime.block_on(call).unwrap().reply, number);
                }
            });
        }
    });
    assert_eq!(node.links(), 0);
}

#[tokio::test]
async fn a_connection_can_be_used_from_another_runtime() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let elsewhere = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { connection.call(&Echo(4), later()).await.unwrap().reply })
    });
    assert_eq!(elsewhere.await.unwrap(), 4);
}

#[tokio::test]
async fn closing_or_dropping_a_node_closes_its_sockets() {
    let server = RedisServer::start();
    let clients =
        || -> usize { server.run("CLIENT LIST TYPE normal").matches("name=palisade-test").count() };
    let (closed, dropped) = (server.node(), server.node());
    let connections = [connect(&closed).await, connect(&dropped).await];
    assert_eq!(clients(), 2);
    closed.close();
    assert!(matches!(closed.connection(KEY, later()).await, Err(NodeError::Closed)));
    drop(dropped);
    within(until(async || (clients() == 0).then_some(()))).await;
    assert!(connections.iter().all(|connection| !connection.is_live()));
}
