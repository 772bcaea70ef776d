//! Answers that are lost, and requests that are executed late.

use std::time::Duration;

use palisade::{OnOutage, ReleaseError, Semaphore};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{HOLDERS, left};
use crate::support::{Look, eventually, ms, patient, soon};

/// The semaphore `x` with five permits, behind a proxy. The server knows its scripts: what it does not know
/// it does not execute.
async fn behind(proxy: &FaultProxy, server: &RedisServer, timeout: Duration) -> Semaphore {
    let settings = patient(server).url(&proxy.url()).node_timeout(timeout);
    let semaphore = settings.connect().await.unwrap().semaphore("x");
    assert!(semaphore.try_set_permits(5).await.unwrap());
    semaphore.acquire().await.unwrap().release().await.unwrap();
    semaphore
}

#[tokio::test]
async fn acquire_whose_answer_was_lost_with_its_socket_takes_its_permits_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, Duration::from_secs(30)).await;
    // All that are left: a look at that first would be refused.
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| left(&server) == "0").await;
        proxy.cut();
        proxy.heal();
    };
    let (guard, ()) = soon(async { tokio::join!(semaphore.acquire_many(5), cut) }).await;
    assert_eq!((left(&server).as_str(), server.hash(HOLDERS).len()), ("0", 1));
    guard.unwrap().release().await.unwrap();
    assert_eq!((left(&server).as_str(), server.exists(HOLDERS)), ("5", false));
}

#[tokio::test]
async fn release_whose_answer_was_lost_gives_back_once() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, Duration::from_secs(30)).await;
    for forget in [false, true] {
        let guard = semaphore.acquire_many(2).await.unwrap();
        proxy.set(Fault::Stall(Way::Replies));
        let cut = async {
            let is_sent = || forget || !server.exists(HOLDERS);
            eventually(is_sent).await;
            proxy.cut();
            proxy.heal();
        };
        let release = async { if forget { guard.forget().await } else { guard.release().await } };
        let (released, ()) = soon(async { tokio::join!(release, cut) }).await;
        released.unwrap();
        assert_eq!(left(&server), if forget { "3" } else { "5" });
        assert!(!server.exists(HOLDERS));
    }
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
    // The permits may be taken for a moment; then they are back.
    let all = soon(semaphore.clone().on_outage(OnOutage::Wait).acquire_many(5)).await.unwrap();
    drop(all);
    eventually(|| left(&server) == "5" && !server.exists(HOLDERS)).await;
}

#[tokio::test]
async fn guard_that_is_dropped_during_an_outage_gives_back_after_it() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, ms(200)).await;
    let (dropped, released) =
        (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
    proxy.set(Fault::Blackhole(Way::Requests));
    drop(dropped);
    let error = released.release().await.unwrap_err();
    assert!(matches!(error, ReleaseError::Unconfirmed { .. }), "{error:?}");
    assert_eq!(left(&server), "3");
    proxy.heal();
    proxy.cut();
    eventually(|| left(&server) == "5" && !server.exists(HOLDERS)).await;
}

#[tokio::test]
async fn drain_whose_answer_was_lost_tells_how_many_it_took() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, Duration::from_secs(30)).await;
    assert_eq!(semaphore.drain().await.unwrap(), 5);
    semaphore.add(4).await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let cut = async {
        eventually(|| left(&server) == "0").await;
        proxy.cut();
        proxy.heal();
    };
    let (drained, ()) = soon(async { tokio::join!(semaphore.drain(), cut) }).await;
    assert_eq!(drained.unwrap(), 4);
}

/// A server that comes back empty knows of no permits.
#[tokio::test]
async fn release_after_the_server_lost_its_data_gives_nothing_back() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let semaphore = behind(&proxy, &server, ms(500)).await;
    let guard = semaphore.acquire_many(2).await.unwrap();
    server.kill();
    server.restart();
    assert!(
        soon(async {
            while semaphore.try_set_permits(5).await.is_err() {}
            guard.release().await
        })
        .await
        .is_err()
    );
    assert_eq!(left(&server), "5");
}
