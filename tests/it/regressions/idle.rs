//! Sockets that were closed while nothing was said on them, whether or not that was told, and
//! sockets that broke under a request.

use std::time::Duration;

use palisade::{Client, embedded::Server, error::InspectError};
use testkit::{Fault, FaultProxy, RedisServer, Way};
use tokio::time::{Instant, sleep};

use super::Line;
use crate::support::{Look, eventually, eventually_blocking, patient, soon};

/// A server that closes what is idle, an operator and a load balancer look alike from here. The
/// runtime hears nothing of it before the acquire: it is busy elsewhere.
#[tokio::test]
async fn acquire_on_a_socket_that_was_closed_while_idle_is_granted() {
    let server = RedisServer::start();
    // A connection on which keys are followed would be made again.
    let client = patient(&server).tracking(false).connect().await.unwrap();
    let lock = client.lock("x");
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    server.command(&["CONFIG", "SET", "timeout", "1"]);
    for _ in 0..2 {
        hear_nothing_of_an_idle_close(&server);
        let guard = soon(lock.try_acquire()).await.unwrap().unwrap();
        assert_eq!(server.count("x"), 1);
        hear_nothing_of_an_idle_close(&server);
        soon(guard.release()).await.unwrap();
        assert!(!server.exists("x"));
    }
    server.command(&["CONFIG", "SET", "timeout", "0"]);
}

/// Blocks this thread, and with it the runtime, until the server knows no connection but its
/// operator's.
fn hear_nothing_of_an_idle_close(server: &RedisServer) {
    let clients = || server.command(&["CLIENT", "LIST", "TYPE", "normal"]).to_string();
    eventually_blocking(|| clients().trim().lines().count() == 1);
}

/// A client whose way to the server leads through a proxy.
async fn behind(proxy: &FaultProxy, server: &RedisServer) -> Client {
    patient(server).url(&proxy.url()).connect().await.unwrap()
}

// proves: no-blind-resend
/// The server has done what it was asked when the socket breaks, and did not answer.
#[tokio::test]
async fn acquire_whose_socket_broke_is_asked_once_more() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = behind(&proxy, &server).await;
    let (plain, fenced) = (client.lock("x"), client.fenced_lock("x"));
    let break_under_it = async || {
        eventually(|| server.exists("x")).await;
        proxy.cut();
        proxy.heal();
    };
    proxy.set(Fault::Stall(Way::Replies));
    let (guard, ()) = futures::join!(soon(plain.try_acquire()), break_under_it());
    let guard = guard.unwrap().unwrap();
    assert!(guard.is_held() && server.hash("x").contains_key(guard.holder_id()));
    assert_eq!(server.count("x"), 1);
    soon(guard.release()).await.unwrap();
    eventually(|| !server.exists("x")).await;
    let before = soon(fenced.acquire()).await.unwrap();
    let token = before.fencing_token();
    soon(before.release()).await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let (guard, ()) = futures::join!(soon(fenced.try_acquire()), break_under_it());
    let guard = guard.unwrap().unwrap();
    assert!(guard.fencing_token() > token);
    soon(guard.release()).await.unwrap();
    eventually(|| !server.exists("x")).await;
}

/// Until then it would be said that it is unknown, and after it that the lock was lost.
#[tokio::test]
async fn release_whose_socket_broke_after_it_was_done_is_confirmed() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = behind(&proxy, &server).await;
    for another_comes in [false, true] {
        let guard = soon(client.lock("x").acquire()).await.unwrap();
        proxy.set(Fault::Stall(Way::Replies));
        let break_under_it = async {
            eventually(|| !server.exists("x")).await;
            if another_comes {
                server.command(&["HSET", "x", "another:1", "1"]);
            }
            proxy.cut();
            proxy.heal();
        };
        let (released, ()) = futures::join!(soon(guard.release()), break_under_it);
        released.unwrap();
        assert_eq!(server.exists("x"), another_comes, "what another holds is left alone");
    }
}

// proves: no-blind-resend
#[tokio::test]
async fn force_release_whose_socket_broke_is_not_repeated() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let client = behind(&proxy, &server).await;
    server.command(&["HSET", "x", "one:1", "1"]);
    let lock = client.lock("x");
    proxy.set(Fault::Stall(Way::Replies));
    let another_comes = async {
        eventually(|| !server.exists("x")).await;
        server.command(&["HSET", "x", "another:1", "1"]);
        proxy.cut();
        proxy.heal();
    };
    let (forced, ()) = futures::join!(soon(lock.force_release()), another_comes);
    let error = forced.unwrap_err();
    assert!(
        matches!(&error, InspectError::Node { source, .. } if source.is_unknown()),
        "{error:?}"
    );
    soon(lock.holder()).await.unwrap().unwrap();
}

/// What stands between forgets a connection on which nothing was said, and drops what comes on it.
#[tokio::test(start_paused = true)]
async fn half_open_socket_that_was_quiet_costs_no_acquire() {
    let (server, line) = (Server::start_here(), Line::new());
    let client = line.client(&server).connect().await.unwrap();
    let lock = client.lock("x");
    lock.try_acquire().await.unwrap().unwrap().release().await.unwrap();
    for _ in 0..2 {
        sleep(Duration::from_secs(11)).await;
        line.stall();
        let begun = Instant::now();
        let guard = lock.try_acquire().await.unwrap().unwrap();
        // Half of what one vote may take.
        assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
        guard.release().await.unwrap();
    }
}
