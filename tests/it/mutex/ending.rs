//! How holds and clients end: dropped guards, ended runtimes, orphans, shutdown.

use futures::poll;
use palisade::{
    AcquireError, LostCause, ReleaseError, Released,
    error::{InspectError, NodeError},
};
use testkit::{Fault, FaultProxy, RedisServer, Way};
use tokio::runtime::{Builder, Runtime};

use crate::support::{
    HANG, Look, acquired, client, eventually, eventually_blocking, fixed, hasty, ms, patient, soon,
};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

// proves: drop-never-blocks
#[test]
fn guard_dropped_outside_a_runtime_frees_the_lock() {
    let server = RedisServer::start();
    let users = runtime();
    let guard = users.block_on(async { acquired(&hasty(&server).await.lock("x")).await });
    // The runtime is there but does not run: the releaser has its own once a vote has taken too
    // long.
    drop(guard);
    eventually_blocking(|| server.size() == 0);
}

#[test]
fn guard_dropped_after_its_runtime_frees_the_lock() {
    let server = RedisServer::start();
    let users = runtime();
    let guard = users.block_on(async { client(&server).await.lock("x").acquire().await.unwrap() });
    drop(users);
    assert!(guard.is_held(), "the watchdog lives on a thread of its own");
    drop(guard);
    eventually_blocking(|| server.size() == 0);
}

// proves: drop-never-blocks
#[test]
fn guard_dropped_while_its_runtime_is_blocked_frees_the_lock() {
    let server = RedisServer::start();
    runtime().block_on(async {
        let client = hasty(&server).await;
        drop(acquired(&client.lock("x")).await);
        // Nothing is awaited from here on.
        eventually_blocking(|| server.size() == 0);
    });
}

#[test]
fn guard_dropped_by_the_end_of_its_runtime_frees_the_lock() {
    let server = RedisServer::start();
    let users = runtime();
    users.block_on(async {
        let guard = client(&server).await.lock("x").acquire().await.unwrap();
        tokio::spawn(async move {
            let _guard = guard;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
    });
    assert_eq!(server.size(), 1);
    drop(users);
    eventually_blocking(|| server.size() == 0);
}

#[test]
fn client_whose_runtime_has_ended_works_on_the_next_one() {
    let server = RedisServer::start();
    let client = runtime().block_on(client(&server));
    for _ in 0..3 {
        runtime().block_on(async {
            let guard = soon(client.lock("x").acquire()).await.unwrap();
            // A waiter is woken too.
            let lock = client.lock("x");
            let waiter = tokio::spawn(async move { lock.acquire().await });
            eventually(|| server.subscribers("x") == 1).await;
            assert_eq!(soon(guard.release()).await.unwrap(), Released::Freed);
            soon(waiter).await.unwrap().unwrap().release().await.unwrap();
        });
    }
    assert_eq!(server.size(), 0);
}

#[test]
fn hold_moves_between_runtimes() {
    let server = RedisServer::start();
    let (one, other) = (runtime(), runtime());
    let guard = one.block_on(async { client(&server).await.lock("x").acquire().await.unwrap() });
    drop(one);
    let released = other.block_on(async { soon(guard.release()).await.unwrap() });
    assert_eq!(released, Released::Freed);
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn orphaned_key_stays_until_its_ttl_ends() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x").with_lease(fixed(6_000));
    acquired(&lock).await.orphan();
    assert!(client.lock("x").try_acquire().await.unwrap().is_none());
    assert!(server.pttl("x") > 0);
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn orphan_takes_effect_when_the_last_guard_goes() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let guard = lock.acquire().await.unwrap();
    guard.reenter().unwrap().orphan();
    assert!(guard.is_held());
    assert_eq!(guard.release().await.unwrap(), Released::LeftToExpire);
    assert!(server.pttl("x") > 0);
}

#[tokio::test]
async fn shutdown_releases_everything_and_tells_the_live_guards() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let held = client.lock("held").acquire().await.unwrap();
    let token = held.cancellation_token();
    for i in 0..50 {
        drop(client.lock(format!("dropped:{i}")).acquire().await.unwrap());
    }
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(server.keys(), [""; 0]);
    assert_eq!(soon(held.lost()).await, LostCause::Shutdown);
    assert!(token.is_cancelled() && !held.is_held() && held.remaining().is_zero());
    let error = held.release().await.unwrap_err();
    assert!(matches!(error, ReleaseError::Lost(lost) if lost.cause == LostCause::Shutdown));
    eventually(|| server.connected_clients() == 0).await;
}

#[tokio::test]
async fn client_that_was_shut_down_says_so() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let lock = client.lock("x");
    soon(client.shutdown(HANG)).await.unwrap();
    soon(client.shutdown(HANG)).await.unwrap();
    let errors = [
        soon(lock.acquire()).await.unwrap_err(),
        soon(lock.try_acquire()).await.unwrap_err(),
        soon(lock.try_acquire_for(ms(10))).await.unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(error, AcquireError::Shutdown), "{error:?}");
    }
    let error = soon(lock.holder()).await.unwrap_err();
    let closed = matches!(error, InspectError::Node { source: NodeError::Closed, .. });
    assert!(closed, "{error:?}");
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn waiter_is_told_of_the_shutdown() {
    let server = RedisServer::start();
    let (holders, waiters) = (client(&server).await, client(&server).await);
    let guard = holders.lock("x").acquire().await.unwrap();
    let waits = [0, 1].map(|_| {
        let lock = waiters.lock("x");
        tokio::spawn(async move { lock.acquire().await })
    });
    eventually(|| server.subscribers("x") == 1).await;
    soon(waiters.shutdown(HANG)).await.unwrap();
    for wait in waits {
        let error = soon(wait).await.unwrap().unwrap_err();
        assert!(matches!(error, AcquireError::Shutdown), "{error:?}");
    }
    assert!(guard.is_held(), "it is another client's");
}

#[tokio::test]
async fn acquire_under_way_during_a_shutdown_wins_nothing() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let settings = patient(&server).url(&proxy.url());
    let client = settings.connect().await.unwrap();
    proxy.set(Fault::Stall(Way::Replies));
    let lock = client.lock("x");
    let acquire = tokio::spawn(async move { lock.acquire().await });
    eventually(|| server.size() == 1).await;
    // Granted, and the answer is on its way.
    let mut shutdown = Box::pin(client.shutdown(HANG));
    assert!(poll!(&mut shutdown).is_pending());
    proxy.heal();
    soon(shutdown).await.unwrap();
    assert_eq!(server.size(), 0);
    let error = soon(acquire).await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::Shutdown), "{error:?}");
}

#[tokio::test]
async fn shutdown_ends_what_a_future_began_that_nobody_polls() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let lock = client.lock("x");
    let mut parked = Box::pin(lock.acquire());
    assert!(poll!(&mut parked).is_pending());
    eventually(|| server.size() == 1).await;
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!(server.size(), 0);
    let error = soon(parked).await.unwrap_err();
    assert!(matches!(error, AcquireError::Shutdown), "{error:?}");
}

#[tokio::test]
async fn shutdown_gives_up_the_place_of_a_future_that_nobody_polls() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let held = soon(client.fair_lock("x").acquire()).await.unwrap();
    let waiting = patient(&server).connect().await.unwrap();
    let lock = waiting.fair_lock("x");
    let mut parked = Box::pin(lock.acquire());
    while soon(client.fair_lock("x").waiting()).await.unwrap().is_empty() {
        assert!(poll!(&mut parked).is_pending());
    }
    soon(waiting.shutdown(HANG)).await.unwrap();
    assert!(soon(client.fair_lock("x").waiting()).await.unwrap().is_empty());
    assert!(matches!(soon(parked).await, Err(AcquireError::Shutdown)));
    soon(held.release()).await.unwrap();
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn shutdown_counts_what_was_not_confirmed_in_time() {
    let server = RedisServer::start();
    let client = hasty(&server).await;
    let held = acquired(&client.lock("x")).await;
    server.freeze();
    let error = soon(client.shutdown(ms(300))).await.unwrap_err();
    assert_eq!(error.unfinished, 1);
    assert_eq!(soon(held.lost()).await, LostCause::Shutdown);
    server.thaw();
}
