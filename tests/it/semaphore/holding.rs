//! The holders of permits, and how permits come back.

use std::sync::atomic::{AtomicU32, Ordering};

use futures::future::join_all;
use palisade::{LostCause, Owner, ReleaseError, embedded::Server};
use testkit::{Actor, RedisServer};

use super::{HOLDERS, left, semaphore};
use crate::support::{HANG, Look, eventually, ms, patient, soon};

fn is_gone(error: &ReleaseError) -> bool {
    matches!(error, ReleaseError::Lost(lost) if lost.cause == LostCause::Gone)
}

#[tokio::test]
async fn no_more_are_held_than_there_are() {
    let server = RedisServer::start();
    let (one, other) = (semaphore(&server, 3).await, semaphore(&server, 3).await);
    let two = soon(one.acquire_many(2)).await.unwrap();
    assert!(other.try_acquire_many(2).await.unwrap().is_none());
    let third = other.try_acquire().await.unwrap().unwrap();
    assert!(one.try_acquire().await.unwrap().is_none());
    assert_eq!((two.permits(), left(&server).as_str()), (2, "0"));
    two.release().await.unwrap();
    third.release().await.unwrap();
    assert_eq!(left(&server), "3");
    eventually(|| server.keys() == ["x"]).await;
}

/// Four tasks of two clients, on three permits.
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
    eventually(|| left(&server) == "3" && !server.exists(HOLDERS)).await;
}

#[tokio::test]
async fn holders_are_shown_and_told_apart() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let semaphore = client.semaphore("x");
    semaphore.try_set_permits(9).await.unwrap();
    let (two, one) = (semaphore.acquire_many(2).await.unwrap(), semaphore.acquire().await.unwrap());
    let holders = semaphore.holders().await.unwrap();
    let of = |id| holders.iter().find(|holder| holder.id == id).unwrap();
    assert_eq!(holders.len(), 2);
    assert_eq!((of(two.holder_id().unwrap()).count, of(one.holder_id().unwrap()).count), (2, 1));
    assert!(holders.iter().all(|holder| holder.ttl.is_none() && client.is_own(holder)));
    drop((two, one));
    eventually(|| left(&server) == "9").await;
    assert!(semaphore.holders().await.unwrap().is_empty());
}

#[tokio::test]
async fn permits_of_a_killed_process_are_shown_and_reclaimed_once() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    let mut dies = Actor::spawn(env!("CARGO_BIN_EXE_actor"), &[&server.url()]);
    let holder = dies.ask("permits x 3", HANG);
    dies.kill();
    let waiter = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.acquire_many(2).await }
    });
    eventually(|| super::listeners(&server) == 1).await;
    let holders = semaphore.holders().await.unwrap();
    assert_eq!((holders.len(), &holders[0].id, holders[0].count), (1, &holder, 3));
    assert!(!semaphore.reclaim("nobody").await.unwrap());
    assert!(semaphore.reclaim(&holder).await.unwrap());
    assert!(!semaphore.reclaim(&holder).await.unwrap());
    soon(waiter).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(left(&server), "4");
}

#[tokio::test]
async fn guard_gives_back_nothing_of_a_semaphore_that_does_not_know_it() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    let reclaimed = semaphore.acquire_many(2).await.unwrap();
    assert!(semaphore.reclaim(reclaimed.holder_id().unwrap()).await.unwrap());
    assert!(is_gone(&reclaimed.release().await.unwrap_err()));
    assert_eq!(left(&server), "4");
    let deleted = semaphore.acquire().await.unwrap();
    assert!(semaphore.delete().await.unwrap());
    assert!(is_gone(&deleted.release().await.unwrap_err()));
    eventually(|| server.size() == 0).await;
    // As Redisson deletes: what is known of holders stays behind.
    assert!(semaphore.try_set_permits(4).await.unwrap());
    let deleted = semaphore.acquire().await.unwrap();
    server.cli(&["DEL", "x"]);
    drop(deleted);
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn permits_that_are_forgotten_are_given_back_by_somebody_else() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 4).await;
    soon(semaphore.acquire_many(3)).await.unwrap().forget().await.unwrap();
    assert_eq!((left(&server).as_str(), server.exists(HOLDERS)), ("1", false));
    semaphore.release(3).await.unwrap();
    assert_eq!(left(&server), "4");
    let guard = semaphore.acquire().await.unwrap();
    assert!(semaphore.reclaim(guard.holder_id().unwrap()).await.unwrap());
    assert!(is_gone(&guard.forget().await.unwrap_err()));
}

#[tokio::test]
async fn zero_permits_are_granted_without_asking_anybody() {
    let server = RedisServer::start();
    server.kill();
    let semaphore = patient(&server).build().unwrap().semaphore("x");
    for guard in [
        semaphore.acquire_many(0).await.unwrap(),
        semaphore.try_acquire_many(0).await.unwrap().unwrap(),
        semaphore.try_acquire_many_for(0, ms(1)).await.unwrap().unwrap(),
    ] {
        assert_eq!((guard.permits(), guard.holder_id()), (0, None));
        guard.release().await.unwrap();
    }
    semaphore.acquire_many(0).await.unwrap().forget().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_acquire_takes_permits_by_one_owner_too() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    semaphore.try_set_permits(2).await.unwrap();
    let work = async {
        let guards = (semaphore.acquire().await.unwrap(), semaphore.acquire().await.unwrap());
        assert!(semaphore.try_acquire().await.unwrap().is_none());
        drop(guards);
    };
    Owner::new().scope(work).await;
}

/// Two days: nothing of it ends, and nothing is renewed.
#[tokio::test(start_paused = true)]
async fn hold_has_no_end_and_costs_nothing() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    semaphore.try_set_permits(1).await.unwrap();
    let guard = semaphore.acquire().await.unwrap();
    let before = server.commands_processed();
    tokio::time::sleep(std::time::Duration::from_secs(2 * 86_400)).await;
    let scripts = server.commands_processed() - before;
    assert_eq!(semaphore.permits().await.unwrap(), 0);
    guard.release().await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), 1);
    assert!(scripts < 10, "{scripts} commands while nothing happened");
}

#[tokio::test]
async fn shutdown_gives_all_permits_back() {
    let server = RedisServer::start();
    let client = patient(&server).connect().await.unwrap();
    let semaphore = client.semaphore("x");
    semaphore.try_set_permits(4).await.unwrap();
    let _guards = (semaphore.acquire_many(2).await.unwrap(), semaphore.acquire().await.unwrap());
    soon(client.shutdown(HANG)).await.unwrap();
    assert_eq!((left(&server).as_str(), server.exists(HOLDERS)), ("4", false));
    assert!(semaphore.acquire().await.is_err());
}
