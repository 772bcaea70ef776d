//! The whole of D, in paused time.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::poll;
use palisade::{AcquireError, Masters, OnOutage, Quarantine, embedded::Server};
use tokio::time::Instant;

use super::{D, counts_in};

/// A server tells its uptime in whole seconds, and a waiter looks about every second.
const SLACK: Duration = Duration::from_secs(3);

fn fleet() -> (Vec<Server>, Masters) {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    (servers, masters)
}

#[tokio::test(start_paused = true)]
async fn embedded_server_votes_from_its_birth_but_not_after_a_restart() {
    let (servers, masters) = fleet();
    masters.red_lock("x").try_acquire().await.unwrap().unwrap().release().await.unwrap();
    servers.iter().for_each(Server::restart);
    let started = Instant::now();
    // Until the loss of the connections is noticed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert!(counts_in(&error) > D - SLACK, "{error}");
    let guard = masters.red_lock("x").acquire().await.unwrap();
    assert!(started.elapsed() >= D && started.elapsed() < D + SLACK, "{:?}", started.elapsed());
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn limit_decides_whether_it_is_worth_waiting() {
    let (servers, masters) = fleet();
    servers.iter().for_each(Server::restart);
    let started = Instant::now();
    let lock = masters.red_lock("x").on_outage(OnOutage::Wait);
    counts_in(&lock.try_acquire_for(D - SLACK).await.unwrap_err());
    assert!(started.elapsed() < SLACK, "at once");
    let guard = lock.try_acquire_for(D + SLACK).await.unwrap().expect("it is free");
    assert!(started.elapsed() >= D, "{:?}", started.elapsed());
    guard.release().await.unwrap();
}

/// A waiter that stands behind another of the same process is not told that the lock is held.
#[tokio::test(start_paused = true)]
async fn limit_that_ends_too_soon_is_told_so_in_line_too() {
    let (servers, masters) = fleet();
    servers.iter().for_each(Server::restart);
    let single = servers[0].client_builder().quarantine(Quarantine::Always).build().unwrap();
    let (composite, single) = (masters.red_lock("x"), single.lock("y"));
    // Until all know of the restart.
    tokio::time::sleep(Duration::from_millis(100)).await;
    counts_in(&composite.try_acquire().await.unwrap_err());
    counts_in(&single.try_acquire().await.unwrap_err());
    let mut heads = pin!(async { tokio::join!(composite.acquire(), single.acquire()) });
    assert!(poll!(&mut heads).is_pending());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(poll!(&mut heads).is_pending());

    let started = Instant::now();
    let limit = D - 2 * SLACK;
    counts_in(&composite.try_acquire_for(limit).await.unwrap_err());
    counts_in(&single.try_acquire_for(limit).await.unwrap_err());
    assert!(started.elapsed() < SLACK, "at once: {:?}", started.elapsed());
    // With time enough it is a matter of waiting for the other.
    let (heads, behind) = tokio::join!(heads, composite.try_acquire_for(D + SLACK));
    assert!(heads.0.is_ok() && heads.1.is_ok() && behind.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn what_counts_is_when_the_last_vote_that_is_needed_does() {
    let (servers, masters) = fleet();
    for server in &servers {
        server.restart();
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
    let red = masters.red_lock("x").try_acquire().await.unwrap_err();
    let multi = masters.multi_lock("x").try_acquire().await.unwrap_err();
    assert!(red.to_string().contains("3 of 3 masters started 10 to 30 s ago"), "{red}");
    let between = counts_in(&multi) - counts_in(&red);
    assert!(between > Duration::from_secs(8) && between < Duration::from_secs(12), "{red} {multi}");
}

/// One in quarantine is not an outage by itself, and does not hide one.
#[tokio::test(start_paused = true)]
async fn outage_stays_an_outage() {
    let (servers, masters) = fleet();
    servers[0].restart();
    servers[1].kill();
    counts_in(&masters.red_lock("x").try_acquire().await.unwrap_err());
    servers[2].kill();
    // Until its loss is noticed.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = masters.red_lock("x").try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Unavailable { .. }), "{error:?}");
}

/// A replica has been running for long when it is promoted, and may lack what was granted last.
#[tokio::test(start_paused = true)]
async fn replica_that_takes_a_masters_place_does_not_vote_for_d() {
    let servers: Vec<Server> = (0..4).map(|_| Server::start_here()).collect();
    let behind = Arc::new(AtomicUsize::new(0));
    let address = {
        let (behind, servers) = (behind.clone(), servers.clone());
        move || {
            let server = servers[behind.load(Ordering::SeqCst)].clone();
            async move { server.connect().await }
        }
    };
    let moved = servers[0].client_builder().connector("address", address).build().unwrap();
    let fixed = [servers[1].client().unwrap(), servers[2].client().unwrap()];
    let masters = Masters::new([moved].into_iter().chain(fixed)).unwrap();
    let lock = masters.multi_lock("x");
    lock.try_acquire().await.unwrap().expect("all vote").release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;

    behind.store(3, Ordering::SeqCst);
    servers[0].kill();
    let promoted = Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let error = lock.try_acquire().await.unwrap_err();
    assert!(counts_in(&error) > D - SLACK, "{error}");
    let guard = lock.acquire().await.unwrap();
    assert!(promoted.elapsed() >= D && promoted.elapsed() < D + SLACK, "{:?}", promoted.elapsed());
    guard.release().await.unwrap();
}
