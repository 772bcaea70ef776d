//! The holders of permits, for how long they hold, and how permits come back.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use futures::future::join_all;
use palisade::{LockGuard, LostCause, Owner, ReleaseError, embedded::Server};
use testkit::RedisServer;

use super::{LEASES, leases, left, semaphore};
use crate::support::{Look, eventually, fixed, ms, patient, soon, watchdog};

#[tokio::test]
async fn no_more_are_held_than_there_are() {
    let server = RedisServer::start();
    let (one, other) = (semaphore(&server, 3).await, semaphore(&server, 3).await);
    let two = soon(one.acquire_many(2)).await.unwrap();
    assert!(other.try_acquire_many(2).await.unwrap().is_none());
    let third = other.try_acquire().await.unwrap().unwrap();
    assert!(one.try_acquire().await.unwrap().is_none());
    assert_eq!((one.permits().await.unwrap(), one.total().await.unwrap()), (0, Some(3)));
    two.release().await.unwrap();
    third.release().await.unwrap();
    assert_eq!(left(&server), "3");
    eventually(|| server.keys() == ["x"]).await;
}

/// Eight tasks of two clients, on three permits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_so_many_are_inside_whoever_asks() {
    let server = RedisServer::start();
    let (inside, most, held) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let clients = [semaphore(&server, 3).await, semaphore(&server, 3).await];
    let tasks = (0..8_u32).map(|task| {
        let semaphore = clients[task as usize % 2].clone();
        let (inside, most, held) = (&inside, &most, &held);
        async move {
            for round in 0..60 {
                let permits = 1 + (task + round) % 3;
                let guard = semaphore.acquire_many(permits).await.unwrap();
                let now = inside.fetch_add(permits, Ordering::SeqCst) + permits;
                most.fetch_max(now, Ordering::SeqCst);
                held.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                inside.fetch_sub(permits, Ordering::SeqCst);
                if round % 2 == 0 { guard.release().await.unwrap() } else { drop(guard) }
            }
        }
    });
    soon(join_all(tasks)).await;
    assert_eq!((held.into_inner(), most.into_inner()), (480, 3));
    eventually(|| left(&server) == "3" && !server.exists(LEASES)).await;
}

#[tokio::test]
async fn total_tells_another_number_of_slots_whoever_holds_some() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    let guard = semaphore.acquire_many(3).await.unwrap();
    assert!(!semaphore.try_set_permits(5).await.unwrap());
    assert_eq!(semaphore.total().await.unwrap(), Some(4));
    semaphore.add(-2).await.unwrap();
    assert_eq!(
        (semaphore.permits().await.unwrap(), semaphore.total().await.unwrap()),
        (-1, Some(2))
    );
    guard.release().await.unwrap();
    assert!(semaphore.delete().await.unwrap());
    assert_eq!((semaphore.permits().await.unwrap(), semaphore.total().await.unwrap()), (0, None));
}

#[tokio::test]
async fn permits_are_known_by_their_ids() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    let (two, one) = (semaphore.acquire_many(2).await.unwrap(), semaphore.acquire().await.unwrap());
    let mut ids: Vec<_> = two.permit_ids().chain(one.permit_ids()).collect();
    assert_eq!(one.permit_ids().next().unwrap(), one.holder_id());
    let holders = semaphore.holders().await.unwrap();
    assert!(holders.iter().all(|holder| holder.count == 1 && holder.ttl > Some(ms(1_000))));
    let mut shown: Vec<_> = holders.into_iter().map(|holder| holder.id).collect();
    ids.sort_unstable();
    shown.sort_unstable();
    assert_eq!((ids, shown.len()), (shown.clone(), 3));
}

#[tokio::test(start_paused = true)]
async fn permits_are_renewed_until_the_guard_goes() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().expirable_semaphore("x").with_lease(watchdog(3_000));
    semaphore.try_set_permits(1).await.unwrap();
    let guard = semaphore.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(guard.is_held() && guard.remaining() > ms(1_500));
    assert!(semaphore.try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), 1);
}

/// Held for the lease less drift, and had by others only two skews later.
#[tokio::test(start_paused = true)]
async fn permit_that_is_not_renewed_is_lost_before_others_have_it() {
    let server = Server::start_here();
    let client = server.client_builder().clock_skew(ms(2_000)).build().unwrap();
    let semaphore = client.expirable_semaphore("x");
    semaphore.try_set_permits(1).await.unwrap();
    let began = tokio::time::Instant::now();
    let guard = semaphore.clone().with_lease(fixed(1_000)).acquire().await.unwrap();
    let waiter = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { (semaphore.acquire().await.unwrap(), tokio::time::Instant::now()) }
    });
    assert_eq!(guard.lost().await, LostCause::Expired);
    let lost = began.elapsed();
    assert!((ms(900)..=ms(1_000)).contains(&lost), "{lost:?}");
    let (next, at) = waiter.await.unwrap();
    let had = at - began;
    assert!((ms(1_000)..=ms(1_200)).contains(&had), "{had:?}");
    // It gives back what is its own, and that is nothing any more.
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    assert_eq!((semaphore.permits().await.unwrap(), next.is_held()), (0, true));
}

#[tokio::test(start_paused = true)]
async fn permit_that_somebody_released_is_lost_by_the_next_renewal() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().expirable_semaphore("x").with_lease(watchdog(3_000));
    semaphore.try_set_permits(4).await.unwrap();
    let guard = semaphore.acquire_many(2).await.unwrap();
    let second = guard.permit_ids().nth(1).unwrap();
    assert!(semaphore.release_permit(&second).await.unwrap());
    assert!(!semaphore.release_permit(&second).await.unwrap());
    let began = tokio::time::Instant::now();
    assert_eq!(guard.lost().await, LostCause::Gone);
    assert!(began.elapsed() < ms(2_100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn permit_of_which_a_part_is_gone_gives_the_rest_back() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    let guard = semaphore.acquire_many(3).await.unwrap();
    let second = guard.permit_ids().nth(1).unwrap();
    assert!(semaphore.release_permit(&second).await.unwrap());
    assert!(matches!(guard.release().await, Err(ReleaseError::Lost(_))));
    assert_eq!((left(&server).as_str(), leases(&server)), ("4", 0));
}

#[tokio::test(start_paused = true)]
async fn orphaned_permit_stands_until_its_lease_or_its_release_by_id() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().expirable_semaphore("x").with_lease(watchdog(3_000));
    semaphore.try_set_permits(2).await.unwrap();
    let (one, other) = (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
    let (first, second) = (one.holder_id().to_owned(), other.holder_id().to_owned());
    one.orphan();
    other.orphan();
    assert!(semaphore.update_lease(&first, Duration::from_secs(50)).await.unwrap());
    assert!(semaphore.release_permit(&second).await.unwrap());
    tokio::time::sleep(Duration::from_secs(45)).await;
    assert_eq!(semaphore.permits().await.unwrap(), 1);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(semaphore.permits().await.unwrap(), 2);
    assert!(!semaphore.update_lease(&first, Duration::from_secs(1)).await.unwrap());
    assert_eq!(semaphore.try_acquire_many(2).await.unwrap().unwrap().permit_ids().count(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_acquire_takes_permits_by_one_owner_too() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().expirable_semaphore("x");
    semaphore.try_set_permits(2).await.unwrap();
    let work = async {
        let guards = (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
        assert!(semaphore.try_acquire().await.unwrap().is_none());
        drop(guards);
    };
    Owner::new().scope(work).await;
}

/// One more guard is no more permits.
#[tokio::test]
async fn permit_with_two_guards_is_given_back_by_the_last() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 2).await;
    let guard: LockGuard = semaphore.acquire().await.unwrap().into();
    let second = guard.reenter().unwrap();
    assert_eq!(left(&server), "1");
    guard.release().await.unwrap();
    assert!(second.is_held());
    second.release().await.unwrap();
    assert_eq!((left(&server).as_str(), leases(&server)), ("2", 0));
}

#[tokio::test]
async fn shutdown_gives_all_permits_back() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let semaphore = client.expirable_semaphore("x");
    semaphore.try_set_permits(4).await.unwrap();
    let guard = semaphore.acquire_many(2).await.unwrap();
    soon(client.shutdown(crate::support::HANG)).await.unwrap();
    assert_eq!(guard.lost().await, LostCause::Shutdown);
    assert_eq!((left(&server).as_str(), server.exists(LEASES)), ("4", false));
}
