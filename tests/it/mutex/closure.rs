//! Work that runs under the lock: `with` and `run`.

use std::{future::pending, sync::atomic::AtomicBool, sync::atomic::Ordering};

use palisade::{AcquireError, LockGuard, LostCause, OnOutage, Owner, error::WithError};
use testkit::RedisServer;

use crate::support::{Look, acquired, client, eventually, fixed, hasty, soon, watchdog};

#[tokio::test]
async fn with_runs_under_the_lock_and_gives_it_back() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let work = async |guard: &LockGuard| {
        assert_eq!(server.count("x"), 1);
        guard.holder_id().to_owned()
    };
    let holder = soon(lock.with(work)).await.unwrap();
    assert!(!holder.is_empty());
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn with_keeps_the_value_although_the_release_fails() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x").on_outage(OnOutage::Wait);
    let work = async |_: &LockGuard| {
        server.kill();
        "done"
    };
    assert_eq!(soon(lock.with(work)).await.unwrap(), "done");
}

#[tokio::test]
async fn with_stops_its_work_when_the_lock_is_lost() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(fixed(5_000)).on_outage(OnOutage::Wait);
    let stopped = AtomicBool::new(false);
    let work = async |_: &LockGuard| {
        let _flag = SetOnDrop(&stopped);
        pending::<()>().await;
    };
    let error = soon(lock.with(work)).await.unwrap_err();
    assert!(matches!(&error, WithError::Lost(lost) if lost.cause == LostCause::Expired));
    assert!(stopped.load(Ordering::SeqCst), "the work was dropped");
}

#[tokio::test]
async fn with_does_not_run_its_work_without_the_lock() {
    let server = RedisServer::start();
    let lock = hasty(&server).await.lock("x");
    server.kill();
    let work = async |_: &LockGuard| panic!("the lock is not held");
    let error = soon(lock.with(work)).await.unwrap_err();
    assert!(matches!(error, WithError::Acquire(AcquireError::Unavailable { .. })), "{error:?}");
}

#[tokio::test]
async fn with_whose_work_panics_frees_the_lock() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let panics = tokio::spawn(async move {
        let work = async |_: &LockGuard| panic!("as a test may");
        lock.with::<()>(work).await
    });
    assert!(soon(panics).await.unwrap_err().is_panic());
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn with_inside_with_reenters_in_a_scope() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let outer = async |outer: &LockGuard| {
        let inner = async |inner: &LockGuard| inner.holder_id() == outer.holder_id();
        lock.with(inner).await.unwrap()
    };
    assert!(soon(Owner::new().scope(lock.with(outer))).await.unwrap());
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn run_gives_the_value_of_its_work() {
    let server = RedisServer::start();
    let guard = client(&server).await.lock("x").acquire().await.unwrap();
    assert_eq!(soon(guard.run(async { 7 })).await.unwrap(), 7);
    guard.release().await.unwrap();
}

#[tokio::test]
async fn run_stops_its_work_when_the_lock_is_gone() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(9_000));
    let guard = acquired(&lock).await;
    let work = async {
        server.flush();
        pending::<()>().await;
    };
    assert_eq!(soon(guard.run(work)).await.unwrap_err().cause, LostCause::Gone);
}

#[tokio::test]
async fn run_does_not_begin_after_the_loss() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x").with_lease(watchdog(900));
    let guard = acquired(&lock).await;
    server.flush();
    soon(guard.lost()).await;
    let work = async { panic!("the lock is lost") };
    assert!(soon(guard.run(work)).await.is_err());
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}
