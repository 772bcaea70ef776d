//! Processes that die, and holds that end otherwise than by a release.

use palisade::{AcquireError, LostCause, OnOutage};
use testkit::{Actor, RedisServer};

use super::{listens, nothing_is_left, queue, waiter};
use crate::support::{HANG, client, eventually, promptly, soon, watchdog};

/// A process that waits for the lock `x`.
async fn actor(server: &RedisServer) -> Actor {
    let before = queue(server).len();
    let mut actor = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    actor.send("fair x 3000").unwrap();
    eventually(|| queue(server).len() > before).await;
    let own = queue(server).last().unwrap().clone();
    eventually(|| listens(server, &own)).await;
    actor
}

#[tokio::test]
async fn dead_holder_keeps_the_next_one_out_until_its_lease_ends() {
    let server = RedisServer::start();
    let mut holder = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[server.url()]);
    assert_eq!(holder.ask("fair x 3000", HANG), "acquired");
    let (_, waiter) = waiter(&server).await;
    holder.kill();
    assert!(!waiter.is_finished());
    soon(waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn dead_waiters_first_and_second_in_the_queue_are_passed_over_after_seconds() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let mut dead = [actor(&server).await, actor(&server).await];
    let (id, waiter) = waiter(&server).await;
    dead.iter_mut().for_each(Actor::kill);
    eventually(|| !queue(&server)[..2].iter().any(|dead| listens(&server, dead))).await;
    let began = std::time::Instant::now();
    held.release().await.unwrap();
    let guard = soon(waiter).await.unwrap();
    assert_eq!(guard.holder_id(), id);
    // Three for both. Redisson would have waited for their places to end: ten minutes.
    assert!(began.elapsed().as_secs() >= 3, "{:?}", began.elapsed());
    guard.release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn dead_waiter_behind_a_live_one_disturbs_nobody() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (_, first) = waiter(&server).await;
    let mut dead = actor(&server).await;
    dead.kill();
    held.release().await.unwrap();
    let guard = promptly(&server, first).await.unwrap();
    guard.release().await.unwrap();
    // Only the dead one waits.
    let lock = client(&server).await.fair_lock("x");
    soon(lock.acquire()).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn forced_lock_is_the_next_ones_and_its_holder_learns_of_it() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    assert!(!lock.force_release().await.unwrap());
    let renewed = lock.clone().with_lease(watchdog(3_000)).on_outage(OnOutage::Wait);
    let held = soon(renewed.acquire()).await.unwrap();
    let (id, waiter) = waiter(&server).await;
    assert!(lock.force_release().await.unwrap());
    let guard = promptly(&server, waiter).await.unwrap();
    assert_eq!(guard.holder_id(), id);
    let cause = soon(held.lost()).await;
    // Whether the waiter is quicker than a look is left to chance.
    assert!(matches!(cause, LostCause::Gone | LostCause::Taken), "{cause}");
    drop(held);
    assert!(guard.is_held());
    guard.release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn waiter_whose_client_is_shut_down_leaves_the_queue() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let waiters = client(&server).await;
    let lock = waiters.fair_lock("x");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually(|| queue(&server).len() == 1).await;
    soon(waiters.shutdown(HANG)).await.unwrap();
    assert!(queue(&server).is_empty());
    let error = soon(waiter).await.unwrap().unwrap_err();
    assert!(matches!(error, AcquireError::Shutdown), "{error:?}");
    held.release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn lease_is_renewed() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x").with_lease(watchdog(3_000));
    let guard = soon(lock.on_outage(OnOutage::Wait).acquire()).await.unwrap();
    for _ in 0..3 {
        let end = || server.end_of("x");
        let before = end();
        eventually(|| end() > before).await;
    }
    guard.release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn flushed_server_ends_the_hold_and_those_who_wait_queue_again() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x").with_lease(watchdog(3_000));
    let held = soon(lock.on_outage(OnOutage::Wait).acquire()).await.unwrap();
    let (_, waiter) = waiter(&server).await;
    server.flush();
    assert!(matches!(soon(held.lost()).await, LostCause::Gone | LostCause::Taken));
    drop(held);
    soon(waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}
