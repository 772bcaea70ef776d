//! Runtimes come and go, and so do nodes.

use std::time::Duration;

use futures::FutureExt;
use testkit::RedisServer;
use tokio::sync::{mpsc, oneshot};

use super::{KEY, connect, gate::Gate};
use crate::{
    error::NodeError,
    node::{deployment::Node, test_server::TestServer},
    reach::{
        Endpoint, NodeSettings,
        test_settings::{Echo, in_ms, later, settings, until, within},
    },
    socket::Connection,
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

/// Half of its time is less than the tests let a server be silent.
fn hasty() -> NodeSettings {
    NodeSettings { node_timeout: Duration::from_millis(100), ..settings() }
}

/// A runtime that may stand still, on a thread of its own, and a connection there.
struct Elsewhere {
    connection: Connection,
    standstills: mpsc::UnboundedSender<Standstill>,
}

struct Standstill {
    begins: oneshot::Sender<()>,
    ends: std::sync::mpsc::Receiver<()>,
}

impl Elsewhere {
    async fn connected(node: &Node) -> Self {
        let (standstills, mut next) = mpsc::unbounded_channel();
        let (connected, connection) = oneshot::channel();
        let node = node.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let stand_still = async move {
                connected.send(connect(&node).await).unwrap();
                while let Some(Standstill { begins, ends }) = next.recv().await {
                    begins.send(()).unwrap();
                    ends.recv().unwrap_err();
                }
            };
            runtime.unwrap().block_on(stand_still);
        });
        Self { connection: within(connection).await.unwrap(), standstills }
    }

    /// Has the runtime stand still until what is returned is dropped.
    async fn stop(&self) -> std::sync::mpsc::Sender<()> {
        let ((begins, begun), (end, ends)) = (oneshot::channel(), std::sync::mpsc::channel());
        assert!(self.standstills.send(Standstill { begins, ends }).is_ok());
        within(begun).await.unwrap();
        end
    }

    async fn times_out(&self, numbers: std::ops::Range<i64>) {
        for number in numbers {
            let error = self.connection.call(&Echo(number), in_ms(30)).await.unwrap_err();
            assert!(matches!(error, NodeError::TimedOut { .. }), "{error:?}");
        }
    }

    async fn goes_on(&self) {
        let answer = within(self.connection.call(&Echo(9), later())).await;
        assert_eq!(answer.unwrap().reply, 9);
        // It has looked by then.
        self.connection.call(&Echo(9), later()).await.unwrap();
        assert!(self.connection.is_live());
    }
}

#[tokio::test]
async fn a_runtime_that_stands_still_is_not_taken_for_a_frozen_server() {
    let server = RedisServer::start();
    let node = Node::new(Endpoint::parse(&server.url()).unwrap(), hasty());
    let elsewhere = Elsewhere::connected(&node).await;
    let standstill = elsewhere.stop().await;
    elsewhere.times_out(1..5).await;
    drop(standstill);
    elsewhere.goes_on().await;
}

#[tokio::test]
async fn answers_that_a_busy_runtime_has_not_read_are_not_silence() {
    let server = RedisServer::start();
    let (node, gate) = Gate::before_with(&server, hasty());
    let elsewhere = Elsewhere::connected(&node).await;
    // The server is to know the script.
    elsewhere.connection.call(&Echo(0), later()).await.unwrap();
    server.freeze();
    gate.open();
    let mut sent = Box::pin(elsewhere.connection.call(&Echo(1), later()));
    assert!((&mut sent).now_or_never().is_none());
    gate.written().await;
    let standstill = elsewhere.stop().await;
    elsewhere.times_out(2..5).await;
    server.thaw();
    within(until(async || (server.run("GET calls") == "2").then_some(()))).await;
    // A server may write the answers of one turn in another order; by its next turn all have left.
    server.run("PING");
    drop(standstill);
    assert_eq!(within(sent).await.unwrap().reply, 1);
    elsewhere.goes_on().await;
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
