//! Answers that are lost, and requests that are executed late.

use std::time::Duration;

use palisade::{ExpirableSemaphore, OnOutage};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{LEASES, leases, left};
use crate::support::{Look, eventually, ms, patient, soon};

/// The semaphore `x` with five permits, behind a proxy. The server knows its scripts: what it does not know
/// it does not execute.
async fn behind(proxy: &FaultProxy, server: &RedisServer, timeout: Duration) -> ExpirableSemaphore {
    let settings = patient(server).url(&proxy.url()).node_timeout(timeout);
    let semaphore = settings.connect().await.unwrap().expirable_semaphore("x");
    assert!(semaphore.try_set_permits(5).await.unwrap());
    semaphore.acquire().await.unwrap().release().await.unwrap();
    semaphore
}

#[tokio::test]
async fn acquire_whose_answer_was_lost_with_its_socket_takes_its_permits_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, Duration::from_secs(30)).await;
    // All that there are: a look at what is left first would be refused.
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| left(&server) == "0").await;
        proxy.cut();
        proxy.heal();
    };
    let (guard, ()) = soon(async { tokio::join!(semaphore.acquire_many(5), cut) }).await;
    assert_eq!((left(&server).as_str(), leases(&server)), ("0", 5));
    guard.unwrap().release().await.unwrap();
    assert_eq!((left(&server).as_str(), server.exists(LEASES)), ("5", false));
}

#[tokio::test]
async fn release_whose_answer_was_lost_gives_back_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, Duration::from_secs(30)).await;
    let guard = semaphore.acquire_many(2).await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| left(&server) == "5").await;
        proxy.cut();
        proxy.heal();
    };
    let (released, ()) = soon(async { tokio::join!(guard.release(), cut) }).await;
    released.unwrap();
    assert_eq!((left(&server).as_str(), server.exists(LEASES)), ("5", false));
}

#[tokio::test]
async fn acquire_that_timed_out_is_taken_back_however_late_it_comes() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, ms(200)).await;
    server.freeze();
    let error = semaphore.acquire_many(2).await.err().unwrap();
    assert!(error.ballot().is_some(), "{error:?}");
    server.thaw();
    let all = soon(semaphore.clone().on_outage(OnOutage::Wait).acquire_many(5)).await.unwrap();
    drop(all);
    eventually(|| left(&server) == "5" && !server.exists(LEASES)).await;
}
