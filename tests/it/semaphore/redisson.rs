//! A peer that speaks as Redisson's `RSemaphore` does, written by hand.

use testkit::{RedisServer, Reply};

use super::{CHANNEL, HOLDERS, left, listeners, semaphore};
use crate::{
    scripts::eval,
    support::{Look, eventually, promptly, soon},
};

const ACQUIRE: &str = "
local value = redis.call('get', KEYS[1])
if value ~= false and tonumber(value) >= tonumber(ARGV[1]) then
  redis.call('decrby', KEYS[1], ARGV[1])
  return 1
end
return 0";

const RELEASE: &str = "
local value = redis.call('incrby', KEYS[1], ARGV[1])
redis.call('publish', KEYS[2], value)";

fn take(server: &RedisServer, permits: &str) -> bool {
    eval(server, ACQUIRE, &["x"], &[permits]) == Reply::Int(1)
}

fn give_back(server: &RedisServer, permits: &str) {
    eval(server, RELEASE, &["x", CHANNEL], &[permits]);
}

#[tokio::test]
async fn permits_of_both_sides_are_one_number() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 3).await;
    assert!(take(&server, "2"));
    assert!(semaphore.try_acquire_many(2).await.unwrap().is_none());
    let guard = semaphore.try_acquire().await.unwrap().unwrap();
    assert!(!take(&server, "1"));
    assert_eq!(semaphore.holders().await.unwrap().len(), 1, "Redisson says nothing of its own");
    guard.release().await.unwrap();
    assert!(take(&server, "1"));
    give_back(&server, "3");
    assert_eq!((left(&server).as_str(), server.exists(HOLDERS)), ("3", false));
}

#[tokio::test]
async fn release_by_redisson_wakes_the_waiter() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 3).await;
    for _ in 0..5 {
        eventually(|| listeners(&server) == 0).await;
        assert!(take(&server, "3"));
        let waiter = tokio::spawn({
            let semaphore = semaphore.clone();
            async move { semaphore.acquire_many(2).await }
        });
        eventually(|| listeners(&server) == 1).await;
        give_back(&server, "3");
        let guard = promptly(&server, waiter).await.unwrap().unwrap();
        guard.release().await.unwrap();
    }
}

/// With as many as there are now: it wakes so many of its threads.
#[tokio::test]
async fn redisson_is_told_how_many_permits_there_are() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 3).await;
    let (two, one) = (semaphore.acquire_many(2).await.unwrap(), semaphore.acquire().await.unwrap());
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    two.release().await.unwrap();
    drop(one);
    eventually(|| left(&server) == "3").await;
    let said = [(); 2].map(|()| listener.read().unwrap().array()[2].to_string());
    assert_eq!(said, ["2", "3"]);
}

#[tokio::test]
async fn permits_pass_across() {
    let server = RedisServer::start();
    let semaphore = semaphore(&server, 3).await;
    // Taken here, and given back there.
    soon(semaphore.acquire_many(2)).await.unwrap().forget().await.unwrap();
    give_back(&server, "2");
    // And the other way round.
    assert!(take(&server, "2"));
    semaphore.release(2).await.unwrap();
    assert_eq!(left(&server), "3");
}
