//! Which acquire gets the lock, and which does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use futures::future::join_all;
use palisade::{Client, Released, clock::BootClock};
use testkit::RedisServer;

use crate::support::{LONG_LEASE, Look, client, eventually, ms, patient, soon};

#[tokio::test]
async fn held_lock_is_refused_to_another_client_until_it_is_released() {
    let server = RedisServer::start();
    let (one, other) = (client(&server).await, client(&server).await);
    let guard = soon(one.lock("x").acquire()).await.unwrap();
    assert!(other.lock("x").try_acquire().await.unwrap().is_none());
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert!(other.lock("x").try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn held_lock_is_refused_to_the_very_handle_that_acquired_it() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    let _guard = lock.acquire().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(lock.clone().try_acquire().await.unwrap().is_none());
}

#[tokio::test]
async fn try_acquire_for_gives_up_when_its_time_is_over() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let _guard = client.lock("x").acquire().await.unwrap();
    let began = Instant::now();
    let refused = soon(client.lock("x").try_acquire_for(ms(150))).await.unwrap();
    assert!(refused.is_none());
    assert!(began.elapsed() >= ms(150));
    eventually(|| client.subscriptions() == 0 && server.subscribers("x") == 0).await;
}

#[tokio::test]
async fn try_acquire_for_no_time_or_for_ever_still_attempts() {
    let server = RedisServer::start();
    let client = client(&server).await;
    for limit in [Duration::ZERO, Duration::MAX] {
        let guard = soon(client.lock("x").try_acquire_for(limit)).await.unwrap();
        guard.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn other_names_and_other_databases_are_other_locks() {
    let server = RedisServer::start();
    let zero = client(&server).await;
    let one = patient(&server).database(1).connect().await.unwrap();
    let _x = zero.lock("x").acquire().await.unwrap();
    assert!(zero.lock("y").try_acquire().await.unwrap().is_some());
    assert!(one.lock("x").try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn names_reach_the_server_byte_by_byte() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let longest = "x".repeat(4096);
    for name in ["a b", "\r\n", "nul\0byte", "☃", "{tag}:x", "*", "%s", longest.as_str()] {
        let guard = client.lock(name).acquire().await.unwrap();
        assert_eq!(guard.name(), name);
        assert_eq!(server.keys(), [name]);
        assert!(client.lock(name).try_acquire().await.unwrap().is_none(), "{name:?}");
        guard.release().await.unwrap();
        assert!(server.keys().is_empty(), "{name:?}");
    }
}

#[tokio::test]
async fn lock_works_over_a_unix_socket_and_with_a_password() {
    let server = RedisServer::builder().unix_socket().password("open sesame").start();
    let path = server.unix_url().replace("unix://", "");
    let url = format!("unix://{path}?pass=open%20sesame");
    let by_path = patient(&server).url(&url).connect().await.unwrap();
    let url = server.url_with("default", "open%20sesame");
    let by_port = patient(&server).url(&url).connect().await.unwrap();
    let guard = by_path.lock("x").acquire().await.unwrap();
    assert!(by_port.lock("x").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn script_that_the_server_forgot_is_sent_again() {
    let server = RedisServer::start();
    let client = client(&server).await;
    server.cli(&["SCRIPT", "FLUSH"]);
    let guard = client.lock("x").acquire().await.unwrap();
    server.cli(&["SCRIPT", "FLUSH"]);
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert_eq!(server.size(), 0);
}

/// Sections that would overlap see each other: in this process by a counter, and each at the
/// server, where only one of them can be the holder.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sections_of_many_tasks_and_clients_never_overlap() {
    const CLIENTS: usize = 4;
    const TASKS: usize = 4;
    const ROUNDS: u32 = 12;
    let server = RedisServer::start();
    let inside = Arc::new(AtomicU32::new(0));
    let done = Arc::new(AtomicU32::new(0));
    let mut tasks = Vec::new();
    for _ in 0..CLIENTS {
        let client = patient(&server).connect().await.unwrap();
        for _ in 0..TASKS {
            let (lock, inside, done) = (client.lock("x"), inside.clone(), done.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..ROUNDS {
                    let guard = lock.acquire().await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two are inside");
                    let holder = lock.holder().await.unwrap().unwrap();
                    assert_eq!(holder.id, guard.holder_id());
                    done.fetch_add(1, Ordering::SeqCst);
                    assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "two were inside");
                    guard.release().await.unwrap();
                }
            }));
        }
    }
    for task in soon(join_all(tasks)).await {
        task.unwrap();
    }
    assert_eq!(usize::try_from(done.load(Ordering::SeqCst)), Ok(CLIENTS * TASKS * 12));
    assert_eq!(server.size(), 0);
}

#[tokio::test]
async fn dropped_guard_frees_the_lock() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    drop(lock.acquire().await.unwrap());
    let next = soon(lock.acquire()).await.unwrap();
    next.release().await.unwrap();
    eventually(|| server.size() == 0).await;
}

#[tokio::test]
async fn introspection_tells_who_holds_the_lock_for_how_long() {
    let server = RedisServer::start();
    let lock = client(&server).await.lock("x");
    assert!(!lock.is_locked().await.unwrap());
    assert_eq!(lock.holder().await.unwrap(), None);
    assert_eq!(lock.remaining_ttl().await.unwrap(), None);
    let guard = lock.acquire().await.unwrap();
    let holder = lock.holder().await.unwrap().unwrap();
    assert_eq!((holder.id.as_str(), holder.count), (guard.holder_id(), 1));
    let ttl = lock.remaining_ttl().await.unwrap().unwrap();
    assert!(ttl <= LONG_LEASE && ttl > ms(1), "{ttl:?}");
    server.cli(&["PERSIST", "x"]);
    assert!(lock.is_locked().await.unwrap());
    assert_eq!(lock.holder().await.unwrap().unwrap().ttl, None, "for ever");
    guard.release().await.unwrap();
    assert!(!lock.is_locked().await.unwrap());
}

/// A waiter that looks for the holder is not to find itself.
#[tokio::test]
async fn holders_of_this_process_are_told_from_others() {
    let server = RedisServer::start();
    let (one, sibling) = (client(&server).await, client(&server).await);
    let clock = Arc::new(BootClock);
    let other = Client::builder().url(&server.url()).clock(clock).connect().await.unwrap();
    let _guard = one.lock("x").acquire().await.unwrap();
    let holder = other.lock("x").holder().await.unwrap().unwrap();
    assert!(one.is_own(&holder) && sibling.is_own(&holder));
    assert!(!other.is_own(&holder), "another clock stands for another process");
}
