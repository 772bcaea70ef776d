use std::time::Duration;

use futures::{FutureExt, future::join_all};

use super::{
    Connection, Endpoint, Node, Stream,
    test_server::{Echo, TestServer, in_ms, later, node, settings, until, within},
};
use crate::{
    clock::{BootClock, Clock},
    error::{NodeError, Phase},
};

async fn connect(node: &Node) -> Connection {
    within(node.connection(later())).await.unwrap()
}

async fn fails(node: &Node) -> NodeError {
    within(until(async || node.connection(later()).await.err())).await
}

async fn recovers(node: &Node) -> Connection {
    within(until(async || node.connection(later()).await.ok())).await
}

#[tokio::test]
async fn a_call_is_answered_with_the_time_on_both_sides() {
    let server = TestServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let before = BootClock.now();
    let answer = connection.call(&Echo(7), later()).await.unwrap();
    assert_eq!(answer.reply, 7);
    assert!(before <= answer.sent && answer.sent <= answer.received);
    let guess = connection.server_time_at(answer.received);
    assert!((0..1_000_000).contains(&(guess - answer.server_time)), "never early: {guess}");
    assert!(server.run::<String>("CLIENT LIST").contains("name=palisade-test "));
    assert_eq!(node.run_id(), connection.run_id());
    assert_eq!(node.connected().unwrap().epoch(), connection.epoch());
}

#[tokio::test]
async fn a_unix_socket_and_a_database_are_spoken_to() {
    let server = TestServer::start();
    let node = node(&format!("unix://{}?db=3", server.socket().display()));
    connect(&node).await.call(&Echo(1), later()).await.unwrap();
    let keyspace: String = server.run("INFO keyspace");
    assert!(keyspace.contains("db3"), "{keyspace}");
}

#[tokio::test]
async fn a_connector_brings_its_own_stream() {
    let server = TestServer::start();
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
async fn a_killed_server_fails_at_once_and_is_found_again() {
    let mut server = TestServer::start();
    let node = server.node();
    let first = connect(&node).await;
    server.kill();
    let error = fails(&node).await;
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
    let at_once = node.connection(later()).now_or_never();
    assert!(matches!(at_once, Some(Err(NodeError::Unreachable { .. }))), "{at_once:?}");
    assert!(node.connected().is_none() && !first.is_live());
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
    let mut server = TestServer::start();
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
    let server = TestServer::start();
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
    assert_eq!(server.run::<i64>("GET calls"), 19, "what timed out was executed all the same");
}

#[tokio::test]
async fn a_frozen_server_fails_at_once_after_three_time_outs_and_recovers() {
    let server = TestServer::start();
    let node = server.node();
    let first = connect(&node).await;
    server.freeze();
    for number in 1..=3 {
        assert!(first.is_live());
        first.call(&Echo(number), in_ms(30)).await.unwrap_err();
    }
    assert!(!first.is_live());
    let error = within(node.connection(in_ms(100))).await.unwrap_err();
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

#[tokio::test]
async fn a_busy_runtime_is_not_taken_for_a_frozen_server() {
    let server = TestServer::start();
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
async fn a_flushed_script_is_sent_again_and_runs_once() {
    let server = TestServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    connection.call(&Echo(1), later()).await.unwrap();
    let () = server.run("SCRIPT FLUSH");
    assert_eq!(connection.call(&Echo(2), later()).await.unwrap().reply, 2);
    assert_eq!(server.run::<i64>("GET calls"), 2);
}

#[tokio::test]
async fn scripts_are_loaded_on_connect() {
    let server = TestServer::start();
    connect(&server.node()).await;
    let exists: Vec<i64> = server.run(&format!("SCRIPT EXISTS {}", super::test_server::ECHO.sha()));
    assert_eq!(exists, [1]);
}

#[tokio::test]
async fn a_wrong_password_is_said_so_and_not_repeated() {
    let server = TestServer::start();
    for login in [":hunter2", "bob:hunter2"] {
        let node = node(&format!("redis://{login}@127.0.0.1:{}", server.port()));
        let error = within(node.connection(later())).await.unwrap_err();
        assert!(matches!(error, NodeError::Authentication { .. }), "{error:?}");
        assert!(!format!("{error:?} {error} {node:?}").contains("hunter2"));
    }
    let () = server.run("ACL SETUSER alice on >wonder ~* &* +@all");
    let () = server.run("ACL SETUSER default resetpass");
    let error = within(server.node().connection(later())).await;
    assert!(matches!(error, Err(NodeError::Authentication { .. })), "{error:?}");
    let node = node(&format!("redis://alice:wonder@127.0.0.1:{}", server.port()));
    connect(&node).await.call(&Echo(1), later()).await.unwrap();
}

#[tokio::test]
async fn too_many_clients_are_no_matter_of_passwords() {
    let server = TestServer::start();
    let () = server.run("ACL SETUSER alice on >wonder ~* &* +@all");
    let () = server.run("CONFIG SET maxclients 1");
    let first = server.node();
    connect(&first).await;
    for login in ["", "alice:wonder@"] {
        let node = node(&format!("redis://{login}127.0.0.1:{}", server.port()));
        // The server speaks and hangs up at once: not every attempt hears it.
        let says_so = async || {
            let error = node.connection(later()).await.unwrap_err();
            assert!(!error.is_permanent(), "{error:?}");
            error.to_string().contains("max number of clients").then_some(())
        };
        within(until(says_so)).await;
    }
}

#[tokio::test]
async fn a_replica_is_no_node() {
    let server = TestServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let () = server.run("REPLICAOF 127.0.0.1 1");
    let error = connection.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::Replica), "{error:?}");
    assert!(!connection.is_live());
    assert!(matches!(fails(&node).await, NodeError::Replica));
    let unmet = server.node();
    assert!(matches!(within(unmet.connection(later())).await, Err(NodeError::Replica)));
    let () = server.run("REPLICAOF NO ONE");
    recovers(&node).await.call(&Echo(1), later()).await.unwrap();
}

#[tokio::test]
async fn a_replica_without_its_master_and_old_data_is_no_node() {
    let server = TestServer::start_with(&["--replica-serve-stale-data", "no"]);
    let () = server.run("REPLICAOF 127.0.0.1 1");
    let error = within(server.node().connection(later())).await.unwrap_err();
    assert!(matches!(error, NodeError::MasterDown), "{error:?}");
}

#[tokio::test]
async fn a_server_that_loads_its_data_is_down_until_it_has() {
    let mut server = TestServer::start_with(&[
        "--appendonly",
        "yes",
        "--key-load-delay",
        "300",
        "--loading-process-events-interval-bytes",
        "1024",
    ]);
    let () = server.run("DEBUG POPULATE 5000");
    let () = server.run("DEBUG RELOAD");
    let () = server.run("BGREWRITEAOF");
    let rewritten = || -> bool {
        let info: String = server.run("INFO persistence");
        info.contains("aof_rewrite_in_progress:0") && info.contains("aof_rewrite_scheduled:0")
    };
    within(until(async || rewritten().then_some(()))).await;
    server.kill();
    server.restart_without_waiting();
    let node = server.node();
    let loading = async || match node.connection(later()).await {
        Err(NodeError::Loading) => Some(()),
        _ => None,
    };
    within(until(loading)).await;
    recovers(&node).await;
}

#[tokio::test]
async fn a_user_who_may_not_see_info_has_no_run_id() {
    let server = TestServer::start();
    let () = server.run("ACL SETUSER alice on >wonder ~* &* +@all -info -client -script -ping");
    let node = node(&format!("redis://alice:wonder@127.0.0.1:{}", server.port()));
    let connection = connect(&node).await;
    assert_eq!((connection.run_id(), node.run_id()), (None, None));
    assert_eq!(connection.call(&Echo(3), later()).await.unwrap().reply, 3);
}

#[tokio::test]
async fn missing_permissions_are_named_outside_and_inside_of_scripts() {
    let server = TestServer::start();
    for (rule, word) in [("-evalsha", "evalsha"), ("-incr", "script")] {
        let () = server.run(&format!("ACL SETUSER alice reset on >wonder ~* &* +@all {rule}"));
        let node = node(&format!("redis://alice:wonder@127.0.0.1:{}", server.port()));
        let error = connect(&node).await.call(&Echo(1), later()).await.unwrap_err();
        let NodeError::Permission { message } = &error else { panic!("{error:?}") };
        assert!(message.contains(word), "{message}");
    }
}

#[tokio::test]
async fn a_server_without_scripts_is_told_from_one_that_refuses_them() {
    let server = TestServer::start_with(&["--rename-command", "EVALSHA", ""]);
    let error = connect(&server.node()).await.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::ScriptsRefused { .. }), "{error:?}");
}

#[tokio::test]
async fn a_server_out_of_memory_says_so() {
    let server = TestServer::start();
    let node = server.node();
    let connection = connect(&node).await;
    let () = server.run("CONFIG SET maxmemory 1");
    let error = connection.call(&Echo(1), later()).await.unwrap_err();
    assert!(matches!(error, NodeError::OutOfMemory), "{error:?}");
    assert!(connection.is_live());
}

#[tokio::test]
async fn a_black_hole_costs_a_caller_no_more_than_the_deadline() {
    let hole = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let node = node(&format!("redis://{}", hole.local_addr().unwrap()));
    let error = within(node.connection(in_ms(50))).await.unwrap_err();
    assert!(matches!(error, NodeError::TimedOut { phase: Phase::Connecting }), "{error:?}");
    let error = within(node.connection(later())).await.unwrap_err();
    assert!(matches!(error, NodeError::Unreachable { .. }), "{error:?}");
}

#[test]
fn a_node_outlives_the_runtime_it_was_first_used_on() {
    let server = TestServer::start();
    let node = server.node();
    assert!(matches!(node.connection(later()).now_or_never(), Some(Err(NodeError::NoRuntime))));
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
        assert_eq!(node.links().len(), 1);
        drop(runtime);
        assert_eq!(node.links().len(), 0);
    }
}

#[test]
fn runtimes_may_come_and_go_at_the_same_time() {
    let server = TestServer::start();
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
    assert_eq!(node.links().len(), 0);
}

#[tokio::test]
async fn a_connection_can_be_used_from_another_runtime() {
    let server = TestServer::start();
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
    let server = TestServer::start();
    let clients = || -> usize {
        let list: String = server.run("CLIENT LIST TYPE normal");
        list.matches("name=palisade-test").count()
    };
    let (closed, dropped) = (server.node(), server.node());
    let connections = [connect(&closed).await, connect(&dropped).await];
    assert_eq!(clients(), 2);
    closed.close();
    assert!(matches!(closed.connection(later()).await, Err(NodeError::Closed)));
    drop(dropped);
    within(until(async || (clients() == 0).then_some(()))).await;
    assert!(connections.iter().all(|connection| !connection.is_live()));
}
