//! A server that is gone for a while, or silent.

use std::time::Duration;

use futures::{FutureExt, future::join_all};
use testkit::RedisServer;

use super::{KEY, connect, fails, gate::Gate, recovers};
use crate::{
    error::{NodeError, Phase},
    node::{
        deployment::Node,
        test_server::{TestServer, node},
    },
    reach::{
        Endpoint, NodeSettings,
        test_settings::{Echo, in_ms, later, settings, until, within},
    },
};

#[tokio::test]
async fn a_killed_server_fails_at_once_and_is_found_again() {
    let server = RedisServer::start();
    let node = server.node();
    let first = connect(&node).await;
    server.kill();
    let error = fails(&node).await;
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
    let at_once = node.connection(KEY, later()).now_or_never();
    assert!(matches!(at_once, Some(Err(NodeError::Unreachable { .. }))), "{at_once:?}");
    assert!(node.connected(KEY).is_none() && !first.is_live());
    server.restart();
    let second = recovers(&node).await;
    assert_ne!(second.epoch(), first.epoch());
    assert_ne!(second.run_id(), first.run_id());
    assert_eq!(node.run_id(), second.run_id());
    second.call(&Echo(1), later()).await.unwrap();
    let error = first.call(&Echo(1), later()).await.unwrap_err();
    assert!(!error.is_unknown(), "nothing was sent: {error:?}");
}

#[tokio::test]
async fn a_restart_while_idle_costs_the_next_caller_no_error() {
    let server = RedisServer::start();
    let node = server.node();
    let first = connect(&node).await;
    server.kill();
    server.restart();
    within(until(async || (!first.is_live()).then_some(()))).await;
    let second = connect(&node).await;
    assert_ne!(second.epoch(), first.epoch());
}

#[tokio::test]
async fn a_stall_mixes_up_no_answers() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    server.freeze();
    for number in [1, 2] {
        let error = connection.call(&Echo(number), in_ms(30)).await.unwrap_err();
        assert!(matches!(error, NodeError::TimedOut { phase: Phase::Answering }), "{error:?}");
    }
    server.thaw();
    for number in 3..20 {
        assert_eq!(connection.call(&Echo(number), later()).await.unwrap().reply, number);
    }
    assert!(connection.is_live());
    assert_eq!(server.run("GET calls"), "19", "what timed out was executed all the same");
}

#[tokio::test]
async fn a_frozen_server_fails_at_once_after_three_time_outs_and_recovers() {
    let server = RedisServer::start();
    let settings = NodeSettings { node_timeout: Duration::from_secs(1), ..settings() };
    let node = Node::new(Endpoint::parse(&server.url()).unwrap(), settings);
    let first = connect(&node).await;
    server.freeze();
    // Half the node's time, so that a pause of a busy server does not count.
    for number in 1..=3 {
        assert!(first.is_live());
        first.call(&Echo(number), in_ms(200)).await.unwrap_err();
    }
    within(until(async || (!first.is_live()).then_some(()))).await;
    let error = within(node.connection(KEY, in_ms(100))).await.unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
    server.thaw();
    let second = recovers(&node).await;
    assert_ne!(second.epoch(), first.epoch());
    let calls = (0..200).map(|number| {
        let second = second.clone();
        async move { (number, second.call(&Echo(number), later()).await.unwrap().reply) }
    });
    for (asked, answered) in join_all(calls).await {
        assert_eq!(asked, answered);
    }
}

/// The peer is gone and nothing says so. What was asked meanwhile goes on with the next socket.
#[tokio::test]
async fn a_half_open_socket_is_replaced_after_one_time_out() {
    let server = RedisServer::start();
    let settings = NodeSettings { node_timeout: Duration::from_millis(100), ..settings() };
    let (node, gate) = Gate::before_with(&server, settings);
    let first = connect(&node).await;
    gate.deafen();
    let error = node.call(KEY, &Echo(1), in_ms(30)).await.unwrap_err();
    assert!(matches!(error, NodeError::TimedOut { phase: Phase::Answering }), "{error:?}");
    within(until(async || (!first.is_live()).then_some(()))).await;
    let (second, answer) = within(node.call(KEY, &Echo(2), later())).await.unwrap();
    assert_eq!(answer.reply, 2);
    assert_ne!(second.epoch(), first.epoch());
}

/// On a socket that was quiet for long, the first call finds out within half the node's time.
#[tokio::test]
async fn a_half_open_socket_that_was_quiet_is_replaced_while_its_call_waits() {
    let server = RedisServer::start();
    let [quiet_after, node_timeout] = [50, 1_000].map(Duration::from_millis);
    let settings = NodeSettings { quiet_after, node_timeout, ..settings() };
    let (node, gate) = Gate::before_with(&server, settings);
    let first = connect(&node).await;
    first.call(&Echo(1), later()).await.unwrap();
    gate.deafen();
    tokio::time::sleep(quiet_after).await;
    let error = within(first.call(&Echo(2), later())).await.unwrap_err();
    assert!(matches!(error, NodeError::Disconnected { .. }), "{error:?}");
    let (second, answer) = within(node.call(KEY, &Echo(3), later())).await.unwrap();
    assert_eq!(answer.reply, 3);

    // A quiet socket whose peer is there goes on.
    tokio::time::sleep(quiet_after).await;
    second.call(&Echo(4), later()).await.unwrap();
    tokio::time::sleep(node_timeout).await;
    assert!(second.is_live());
}

#[tokio::test]
async fn a_busy_runtime_is_not_taken_for_a_frozen_server() {
    let server = RedisServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let call = connection.call(&Echo(7), in_ms(50));
    let block = async {
        // The request leaves, then nothing is polled until long after the deadline.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        std::thread::sleep(Duration::from_millis(200));
    };
    let (answer, ()) = futures::join!(call, block);
    assert_eq!(answer.unwrap().reply, 7);
}

#[tokio::test]
async fn a_black_hole_costs_a_caller_no_more_than_the_deadline() {
    let hole = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let node = node(&format!("redis://{}", hole.local_addr().unwrap()));
    let error = within(node.connection(KEY, in_ms(50))).await.unwrap_err();
    assert!(matches!(error, NodeError::TimedOut { phase: Phase::Connecting }), "{error:?}");
    let error = within(node.connection(KEY, later())).await.unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
}
