//! How many permits there are.

use palisade::embedded::Server;
use testkit::RedisServer;

use super::{CHANNEL, HOLDERS, left, semaphore};
use crate::support::{Look, client, eventually, soon};

#[tokio::test]
async fn permits_are_set_once_and_added_and_taken_away() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    assert_eq!(semaphore.permits().await.unwrap(), 0);
    assert!(semaphore.try_set_permits(3).await.unwrap());
    assert!(!semaphore.try_set_permits(9).await.unwrap());
    semaphore.add(2).await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), 5);
    semaphore.add(-7).await.unwrap();
    assert_eq!((semaphore.permits().await.unwrap(), left(&server).as_str()), (-2, "-2"));
    assert!(semaphore.delete().await.unwrap());
    assert!(!semaphore.delete().await.unwrap());
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn bare_release_makes_a_semaphore_and_the_careful_one_does_not() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    assert!(!semaphore.release_if_exists(2).await.unwrap());
    assert!(!server.exists("x"));
    semaphore.release(2).await.unwrap();
    assert!(semaphore.release_if_exists(3).await.unwrap());
    assert_eq!(left(&server), "5");
    semaphore.release(0).await.unwrap();
    assert_eq!(left(&server), "5");
}

#[tokio::test]
async fn drain_takes_what_is_left_and_nothing_that_is_owed() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 10).await;
    let guard = semaphore.acquire_many(3).await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 7);
    assert_eq!(semaphore.drain().await.unwrap(), 0);
    semaphore.add(-2).await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 0);
    assert_eq!(left(&server), "-2");
    guard.release().await.unwrap();
    assert_eq!(left(&server), "1");
    semaphore.delete().await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 0);
    assert!(!server.exists("x"));
}

/// A plain SET would end it, as Redisson's do.
#[tokio::test]
async fn ttl_of_a_semaphore_survives_whatever_changes_its_permits() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    server.cli(&["SET", "x", "9", "PX", "600000"]);
    semaphore.add(1).await.unwrap();
    semaphore.release(1).await.unwrap();
    let guard = semaphore.acquire_many(2).await.unwrap();
    assert_eq!(semaphore.drain().await.unwrap(), 9);
    let ttl = server.pttl("x");
    assert!((500_000..=600_000).contains(&ttl), "{ttl}");
    // Within the script time goes by from the PTTL of the one to the PEXPIRE of the other.
    assert!((0..=ttl + 10_000).contains(&server.pttl(HOLDERS)), "who holds them ends with it");
    // As Redisson adds permits.
    server.cli(&["SET", "x", "5"]);
    let other = semaphore.acquire().await.unwrap();
    assert_eq!(server.pttl(HOLDERS), -1);
    other.release().await.unwrap();
    guard.release().await.unwrap();
    assert_eq!(left(&server), "7");
}

#[tokio::test]
async fn only_permits_that_are_there_are_announced() {
    let server = RedisServer::start();
    let semaphore = client(&server).await.semaphore("x");
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    semaphore.try_set_permits(1).await.unwrap();
    semaphore.add(-2).await.unwrap();
    semaphore.add(1).await.unwrap();
    semaphore.add(4).await.unwrap();
    soon(semaphore.acquire_many(4)).await.unwrap().release().await.unwrap();
    server.cli(&["PUBLISH", CHANNEL, "end"]);
    let said = [(); 4].map(|()| listener.read().unwrap().array()[2].to_string());
    assert_eq!(said, ["1", "4", "4", "end"]);
}

#[tokio::test(start_paused = true)]
async fn semaphore_that_is_set_anew_is_nobodys() {
    let server = Server::start_here();
    let semaphore = server.client().unwrap().semaphore("x");
    assert!(semaphore.try_set_permits(2).await.unwrap());
    let guard = semaphore.acquire().await.unwrap();
    assert!(semaphore.delete().await.unwrap());
    assert!(semaphore.try_set_permits(2).await.unwrap());
    assert!(semaphore.holders().await.unwrap().is_empty());
    assert!(guard.release().await.is_err());
    assert_eq!(semaphore.permits().await.unwrap(), 2);
}
