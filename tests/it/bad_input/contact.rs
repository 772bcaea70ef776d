//! Found on contact: what stands on the server, and servers that cannot vote.

use std::thread;

use palisade::{
    Released,
    error::{InspectError, NodeError},
};
use testkit::RedisServer;

use super::{Any, assert_readable, node_error};
use crate::support::{Look, acquired, causes, client, eventually, patient, soon, watchdog};

#[tokio::test]
async fn key_of_another_type_is_not_touched() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let keys: [&[&str]; 5] = [
        &["SET", "x", "value", "PX", "60000"],
        &["RPUSH", "x", "value"],
        &["SADD", "x", "value"],
        &["ZADD", "x", "1", "value"],
        &["XADD", "x", "*", "field", "value"],
    ];
    for create in keys {
        server.cli(create);
        let before = (server.command(&["DUMP", "x"]), server.end_of("x"));
        for lock in Any::all(&client, "x") {
            let (cause, text) = lock.refused_by_server().await;
            assert!(matches!(cause, NodeError::ForeignKey), "{cause:?}");
            assert!(text.contains("the key exists and is not a lock"), "{text}");
        }
        let lock = client.lock("x");
        let looks = [
            soon(lock.holder()).await.err(),
            soon(lock.is_locked()).await.err(),
            soon(lock.force_release()).await.err(),
        ];
        for error in looks {
            let error = error.unwrap();
            let foreign =
                matches!(&error, InspectError::Node { source: NodeError::ForeignKey, .. });
            assert!(foreign, "{error:?}");
        }
        let after = (server.command(&["DUMP", "x"]), server.end_of("x"));
        assert_eq!(after, before, "{create:?}");
        server.flush();
    }
}

#[tokio::test]
async fn error_that_a_server_answered_with_is_said_and_not_called_silence() {
    let full = RedisServer::start();
    full.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    let foreign = RedisServer::start();
    foreign.cli(&["SET", "x", "value"]);
    let locked = RedisServer::builder().password("right").start();
    let alone = RedisServer::start();
    alone.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    for (server, says) in [
        (&full, "x: cannot be granted: NODE: the server is out of memory"),
        (&foreign, "x: cannot be granted: NODE: the key exists and is not a lock"),
        (&locked, "x: cannot be granted: NODE: the server refused the credentials: "),
        (&alone, "x: cannot be granted: NODE: the server refused: NOREPLICAS "),
    ] {
        let client = patient(server).build().unwrap();
        for lock in Any::all(&client, "x") {
            let text = lock.refused().await.to_string();
            let says = says.replace("NODE", client.node_id().as_str());
            assert!(text.starts_with(&says), "{text}");
        }
    }
}

/// What replaced our key is not ours either.
#[tokio::test]
async fn key_that_became_another_type_is_a_lost_lock() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = acquired(&client.lock("x").with_lease(watchdog(1_500))).await;
    server.cli(&["SET", "x", "value"]);
    soon(guard.lost()).await;
    drop(guard);
    soon(client.shutdown(crate::support::HANG)).await.unwrap();
    assert_eq!(server.cli(&["GET", "x"]), "value");
}

#[tokio::test]
async fn server_out_of_memory_grants_nothing_and_keeps_what_is_held() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let guard = acquired(&client.lock("x").with_lease(watchdog(9_000))).await;
    server.cli(&["CONFIG", "SET", "maxmemory", "1"]);
    for lock in Any::all(&client, "y") {
        let (cause, text) = lock.refused_by_server().await;
        assert!(matches!(cause, NodeError::OutOfMemory), "{cause:?}");
        assert!(text.contains("the server is out of memory"), "{text}");
    }
    let deadline = guard.deadline();
    eventually(|| guard.deadline() > deadline).await;
    assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed);
    assert_eq!(server.size(), 0);
    server.cli(&["CONFIG", "SET", "maxmemory", "0"]);
    soon(client.lock("y").acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn replica_cannot_vote() {
    let master = RedisServer::start();
    let port = master.port().to_string();
    let replica = RedisServer::start();
    // It was a master when the client came, and is demoted.
    let lazy = client(&replica).await;
    replica.cli(&["REPLICAOF", "127.0.0.1", &port]);
    for lock in Any::all(&lazy, "x") {
        let (cause, text) = lock.refused_by_server().await;
        assert!(matches!(cause, NodeError::Replica), "{cause:?}");
        assert!(text.contains("the server is a read-only replica"), "{text}");
    }
    let error = soon(patient(&replica).connect()).await.unwrap_err();
    assert!(matches!(node_error(&error), NodeError::Replica), "{error:?}");
    // Whatever the replica is allowed to do.
    replica.cli(&["CONFIG", "SET", "replica-read-only", "no"]);
    let error = soon(patient(&replica).connect()).await.unwrap_err();
    assert!(matches!(node_error(&error), NodeError::Replica), "{error:?}");
    assert_eq!(master.size() + replica.size(), 0);
    replica.cli(&["REPLICAOF", "NO", "ONE"]);
    let lock = lazy.lock("x").on_outage(palisade::OnOutage::Wait);
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn server_that_loads_its_data_cannot_vote_yet() {
    let server = RedisServer::builder().debuggable().arg("--rdbcompression", "no").start();
    let client = client(&server).await;
    // It looks up from loading every 2 MB.
    server.cli(&["DEBUG", "POPULATE", "1000", "key", "10000"]);
    server.cli(&["CONFIG", "SET", "key-load-delay", "5000"]);
    let mut loader = server.connect();
    let loading = thread::spawn(move || loader.command(&["DEBUG", "RELOAD"]));
    let is_loading = || {
        let ping = server.command(&["PING"]);
        ping.is_error() && ping.to_string().starts_with("LOADING")
    };
    eventually(is_loading).await;
    let error = soon(client.lock("x").acquire()).await.unwrap_err();
    assert!(matches!(causes(&error)[..], [NodeError::Loading]), "{error:?}");
    assert!(error.to_string().contains("the server is loading its data"), "{error}");
    assert_readable(&error);
    let error = soon(patient(&server).connect()).await.unwrap_err();
    assert!(matches!(node_error(&error), NodeError::Loading), "{error:?}");
    // Before 7.0 refused at such a time.
    server.command(&["CONFIG", "SET", "key-load-delay", "0"]);
    // Waiting for the outage to end is enough.
    let lock = client.lock("x").on_outage(palisade::OnOutage::Wait);
    let guard = soon(lock.acquire()).await.unwrap();
    guard.release().await.unwrap();
    drop(loading.join());
    assert!(!server.exists("x"));
}

#[tokio::test]
async fn server_without_scripts_is_named_as_such() {
    let by_digest = RedisServer::builder().without("EVALSHA");
    for servers in [by_digest.clone(), by_digest.without("EVAL")] {
        let server = servers.start();
        let client = client(&server).await;
        for lock in Any::all(&client, "x") {
            let (cause, text) = lock.refused_by_server().await;
            assert!(matches!(cause, NodeError::ScriptsRefused { .. }), "{cause:?}");
            assert!(text.contains("the server does not run scripts"), "{text}");
            assert!(text.contains("EVALSHA"), "{text}");
        }
        assert_eq!(server.size(), 0);
    }
}

#[tokio::test]
async fn server_that_persists_no_more_says_why() {
    let server = RedisServer::start();
    let client = client(&server).await;
    server.cli(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    for lock in Any::all(&client, "x") {
        let (cause, text) = lock.refused_by_server().await;
        let named = matches!(&cause, NodeError::Server { code, .. } if &**code == "NOREPLICAS");
        assert!(named, "{cause:?}");
        assert!(text.contains("NOREPLICAS"), "{text}");
    }
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn server_with_too_many_clients_may_be_asked_again() {
    let server = RedisServer::start();
    server.cli(&["CONFIG", "SET", "maxclients", "1"]);
    let error = soon(patient(&server).connect()).await.unwrap_err();
    let source = node_error(&error);
    // It hangs up at once, and may do so before its words are read.
    let said = source.to_string().contains("max number of clients");
    assert!(said || matches!(source, NodeError::Unreachable { .. }), "{source:?}");
    assert!(source.is_transient() && !source.is_unknown());
}

#[tokio::test]
async fn something_that_is_no_redis_is_given_up() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::{Read, Write};
            let Ok(mut stream) = stream else { return };
            // An answer to nothing, or one that a closed socket takes along, would not be read.
            drop(stream.read(&mut [0]));
            drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
            drop(stream.read_to_end(&mut Vec::new()));
        }
    });
    let settings = palisade::Client::builder().url(&url).connect_timeout(crate::support::HANG);
    let error = soon(settings.connect()).await.unwrap_err();
    let source = node_error(&error);
    assert!(matches!(source, NodeError::Unreachable { .. }), "{error:?}");
    let says = "what answers there does not speak Redis' protocol; is it the right port?";
    assert!(source.to_string().ends_with(says), "{source}");
}

#[tokio::test]
async fn silence_at_the_other_end_is_a_time_out_while_connecting() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let settings = palisade::Client::builder().url(&url);
    let error =
        soon(settings.connect_timeout(crate::support::ms(200)).connect()).await.unwrap_err();
    let source = node_error(&error);
    let in_time = matches!(source, NodeError::TimedOut { .. } | NodeError::Unreachable { .. });
    assert!(in_time && !source.is_unknown(), "{source:?}");
}
