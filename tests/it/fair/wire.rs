//! What stands on the server and what is said: Redisson's keys, fields and messages.

use testkit::RedisServer;

use super::{CHANNEL, DEADLINES, QUEUE, deadline, queue, waiter};
use crate::{
    scripts::now,
    support::{Look, client, eventually, promptly},
};

#[tokio::test]
async fn lock_is_a_hash_and_those_who_wait_a_list_with_deadlines() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    assert_eq!(server.hash("x"), [(held.holder_id().to_owned(), "1".to_owned())].into());
    assert_eq!(server.size(), 1);
    let (one, _waiter) = waiter(&server).await;
    let (other, _other) = waiter(&server).await;
    assert_eq!(queue(&server), [one.clone(), other.clone()]);
    assert_eq!(server.keys(), [QUEUE, DEADLINES, "x"]);
    let (first, second) = (deadline(&server, &one).unwrap(), deadline(&server, &other).unwrap());
    let now = now(&server) / 1_000;
    assert!(first <= now + 10_000, "{first} is not soon after {now}");
    let about = now + server.pttl("x") + 600_000;
    // Both are read in whole milliseconds.
    assert!((about - 60_000..=about + 2).contains(&second), "{second} is not about {about}");
    assert!(server.pttl(QUEUE) > 86_400_000 && server.pttl(DEADLINES) > server.pttl(QUEUE));
}

#[tokio::test]
async fn release_is_announced_to_the_next_one_alone() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    let mut subscriber = server.connect();
    subscriber.command(&["PSUBSCRIBE", "redisson_lock__channel:*"]).unwrap();
    let (one, waiter_one) = waiter(&server).await;
    let (_, waiter_two) = waiter(&server).await;
    held.release().await.unwrap();
    let guard = promptly(&server, waiter_one).await.unwrap();
    let message = subscriber.read().unwrap();
    let words: Vec<_> = message.array()[2..].iter().map(ToString::to_string).collect();
    assert_eq!(words, [format!("{CHANNEL}:{one}"), "0".to_owned()]);
    guard.release().await.unwrap();
    promptly(&server, waiter_two).await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn names_of_any_bytes_are_locks_of_their_own() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for name in ["snow ☃", "nul\0byte", "a{b}", "line\nbreak", "x:1", "*", "{tag}:x"] {
        let lock = client.fair_lock(name);
        let held = lock.acquire().await.unwrap();
        let other = client.fair_lock(name);
        let waiter = tokio::spawn(async move { other.acquire().await.unwrap() });
        while lock.waiting().await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(lock.try_acquire().await.unwrap().is_none(), "{name:?}");
        held.release().await.unwrap();
        promptly(&server, waiter).await.unwrap().release().await.unwrap();
        eventually(|| server.size() == 0).await;
    }
}
