//! What both semaphores share: how many permits there are, and work that has one. In paused time.

use std::time::Duration;

use futures::future::join_all;
use palisade::{
    AcquireError, ExpirableSemaphore, Semaphore,
    embedded::Server,
    error::{ChangeError, NodeError},
    semaphore::{ExpirableGuard, SemaphoreGuard},
};
use testkit::RedisServer;
use tokio::time::sleep;

use crate::support::{client, ms, soon};

fn both(server: &Server) -> (Semaphore, ExpirableSemaphore) {
    let client = server.client().unwrap();
    (client.semaphore("plain"), client.expirable_semaphore("leased"))
}

#[tokio::test(start_paused = true)]
async fn number_of_permits_is_what_was_set_whatever_is_held() {
    let server = Server::start_here();
    let (plain, leased) = both(&server);
    assert_eq!(plain.set_permits(3).await.unwrap(), 3);
    assert_eq!(leased.set_permits(3).await.unwrap(), 3);
    let (held, leases) =
        (plain.acquire_many(2).await.unwrap(), leased.acquire_many(2).await.unwrap());
    for (permits, left) in [(5, 3), (5, 3), (2, 0), (1, -1)] {
        assert_eq!(plain.set_permits(permits).await.unwrap(), left);
        assert_eq!(leased.set_permits(permits).await.unwrap(), left);
    }
    assert!(plain.try_acquire().await.unwrap().is_none());
    assert!(leased.try_acquire().await.unwrap().is_none());
    held.release().await.unwrap();
    leases.release().await.unwrap();
    assert_eq!((plain.permits().await.unwrap(), leased.permits().await.unwrap()), (1, 1));
}

/// `total()` and `add()` by each of them made 17.
#[tokio::test(start_paused = true)]
async fn replicas_that_set_the_same_number_at_once_set_that_number() {
    let server = Server::start_here();
    let replicas: Vec<_> = (0..4).map(|_| both(&server)).collect();
    let _held = {
        replicas[0].0.set_permits(1).await.unwrap();
        replicas[0].1.set_permits(1).await.unwrap();
        (replicas[0].0.acquire().await.unwrap(), replicas[0].1.acquire().await.unwrap())
    };
    let plain = join_all(replicas.iter().map(|(plain, _)| plain.set_permits(8))).await;
    let leased = join_all(replicas.iter().map(|(_, leased)| leased.set_permits(8))).await;
    for left in plain.into_iter().chain(leased) {
        assert_eq!(left.unwrap(), 7);
    }
    assert_eq!(replicas[0].1.total().await.unwrap(), Some(8));
}

#[tokio::test(start_paused = true)]
async fn waiter_is_woken_by_permits_that_are_set() {
    let server = Server::start_here();
    let (plain, leased) = both(&server);
    plain.set_permits(0).await.unwrap();
    leased.set_permits(0).await.unwrap();
    let (one, other) = (plain.clone(), leased.clone());
    let waiters = tokio::spawn(async move {
        drop(one.acquire().await.unwrap());
        drop(other.acquire().await.unwrap());
    });
    sleep(ms(500)).await;
    assert!(!waiters.is_finished());
    plain.set_permits(1).await.unwrap();
    leased.set_permits(1).await.unwrap();
    tokio::time::timeout(Duration::from_secs(2), waiters).await.unwrap().unwrap();
}

fn is_not_set(said: Result<impl Sized, AcquireError>) -> bool {
    matches!(said, Err(AcquireError::NotSet { .. }))
}

#[tokio::test(start_paused = true)]
async fn semaphore_that_was_never_set_is_an_error_to_who_tries_and_waited_for_by_others() {
    let server = Server::start_here();
    let (plain, leased) = both(&server);
    assert!(is_not_set(plain.try_acquire().await) && is_not_set(leased.try_acquire().await));
    let limit = ms(200);
    assert!(is_not_set(plain.try_acquire_for(limit).await));
    assert!(is_not_set(leased.try_acquire_for(limit).await));
    let (one, other) = (plain.clone(), leased.clone());
    let waiters = tokio::spawn(async move {
        (
            one.acquire().await.unwrap().permits(),
            other.acquire().await.unwrap().permit_ids().count(),
        )
    });
    sleep(Duration::from_secs(3)).await;
    assert!(!waiters.is_finished());
    assert!(plain.try_set_permits(1).await.unwrap() && leased.try_set_permits(1).await.unwrap());
    assert_eq!(waiters.await.unwrap(), (1, 1));
    plain.set_permits(0).await.unwrap();
    assert!(plain.try_acquire().await.unwrap().is_none(), "none is left of those that are set");
}

#[tokio::test(start_paused = true)]
async fn work_has_a_permit_and_gives_it_back() {
    let server = Server::start_here();
    let (plain, leased) = both(&server);
    plain.set_permits(1).await.unwrap();
    leased.set_permits(1).await.unwrap();
    let done = plain.with(async |guard: &SemaphoreGuard| (guard.permits(), plain.permits().await));
    assert!(matches!(done.await, Ok((1, Ok(0)))));
    let done = leased.with(async |_: &ExpirableGuard| leased.permits().await);
    assert!(matches!(done.await, Ok(Ok(0))));
    assert_eq!((plain.permits().await.unwrap(), leased.permits().await.unwrap()), (1, 1));
    let never = async |_: &SemaphoreGuard| panic!("it is not held");
    let held = plain.acquire().await.unwrap();
    assert!(plain.try_with(never).await.unwrap().is_none());
    assert!(plain.with_for(ms(100), never).await.unwrap().is_none());
    held.release().await.unwrap();
    assert_eq!(plain.with_for(ms(100), async |_: &SemaphoreGuard| 7).await.unwrap(), Some(7));
    assert_eq!(leased.try_with(async |_: &ExpirableGuard| 7).await.unwrap(), Some(7));
}

/// On a real server, whose scripts are the same; and what is no semaphore is not touched.
#[tokio::test]
async fn server_sets_permits_and_leaves_foreign_keys_alone() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let (plain, leased) = (client.semaphore("plain"), client.expirable_semaphore("leased"));
    assert_eq!(soon(plain.set_permits(3)).await.unwrap(), 3);
    assert_eq!(soon(leased.set_permits(3)).await.unwrap(), 3);
    let held = soon(plain.acquire_many(2)).await.unwrap();
    let leases = soon(leased.acquire_many(2)).await.unwrap();
    assert_eq!(soon(plain.set_permits(1)).await.unwrap(), -1);
    assert_eq!(soon(leased.set_permits(1)).await.unwrap(), -1);
    held.release().await.unwrap();
    leases.release().await.unwrap();
    assert_eq!(soon(plain.set_permits(7)).await.unwrap(), 7);
    assert_eq!(soon(leased.total()).await.unwrap(), Some(1));
    server.cli(&["SET", "text", "no number"]);
    server.cli(&["SET", "{held}:palisade_holders", "no hash"]);
    server.cli(&["SET", "held", "1"]);
    for name in ["text", "held"] {
        let error = soon(client.semaphore(name).set_permits(1)).await.unwrap_err();
        let is_foreign =
            matches!(error, ChangeError::NotMade { source: NodeError::ForeignKey, .. });
        assert!(is_foreign, "{name}: {error:?}");
    }
    assert_eq!(server.cli(&["GET", "held"]), "1");
}
