//! A `MultiLock` that waits for one member, and what happens to the others meanwhile.

use std::time::Duration;

use palisade::{AcquireError, Client, LockGuard, MultiLock, embedded::Server};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};

use super::{Line, holder_on};

/// A minute, and not at a time at which all are asked anyway.
const LONG: Duration = Duration::from_secs(61);

/// Three servers, one of which is held by another, and a `MultiLock` that waits for that one.
struct Waiting {
    servers: Vec<Server>,
    clients: Vec<Client>,
    lock: MultiLock,
    task: JoinHandle<(AcquireError, Instant)>,
    _held: LockGuard,
}

impl Waiting {
    async fn begun(held: usize, before: Duration) -> Self {
        let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
        let client = |server| Line::new().client(server).build().unwrap();
        let _held = client(&servers[held]).lock("x").acquire().await.unwrap();
        let clients: Vec<_> = servers.iter().map(client).collect();
        let lock = MultiLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
        let waiter = lock.clone();
        let fails = async move { (waiter.acquire().await.unwrap_err(), Instant::now()) };
        let task = tokio::spawn(fails);
        sleep(before).await;
        Self { servers, clients, lock, task, _held }
    }
}

/// All but the one that is waited for, for each that may be.
fn pairs() -> impl Iterator<Item = (usize, usize)> {
    let all = (0..3).flat_map(|held| (0..3).map(move |other| (held, other)));
    all.filter(|(held, other)| held != other)
}

#[tokio::test(start_paused = true)]
async fn member_that_goes_down_while_another_is_waited_for_is_an_outage_at_once() {
    for (held, other) in pairs() {
        let waiting = Waiting::begun(held, LONG).await;
        let down = Instant::now();
        waiting.servers[other].kill();
        let (error, at) = waiting.task.await.unwrap();
        assert!(matches!(error, AcquireError::Unavailable { .. }), "{error}");
        assert!(at - down < Duration::from_secs(1), "{:?}, {held} {other}", at - down);
    }
}

/// Nothing tells of it, so it takes until all are asked again and its connection is given up.
#[tokio::test(start_paused = true)]
async fn member_that_freezes_while_another_is_waited_for_is_an_outage_within_seconds() {
    for (held, other) in pairs() {
        let waiting = Waiting::begun(held, LONG).await;
        let frozen = Instant::now();
        waiting.servers[other].freeze();
        let limit = Duration::from_secs(20);
        let tried = waiting.lock.try_acquire_for(limit).await;
        assert!(matches!(tried, Err(AcquireError::Unavailable { .. })), "{tried:?}");
        let (error, at) = waiting.task.await.unwrap();
        assert!(matches!(error, AcquireError::Unavailable { .. }), "{error}");
        assert!(at - frozen < Duration::from_secs(12), "{:?}, {held} {other}", at - frozen);
    }
}

/// At a time at which it may keep the other.
#[tokio::test(start_paused = true)]
async fn shutdown_of_one_members_client_ends_the_wait_and_leaves_nothing() {
    for (held, other) in pairs() {
        let waiting = Waiting::begun(held, Duration::from_secs(1)).await;
        let begun = Instant::now();
        waiting.clients[other].shutdown(Duration::from_secs(1)).await.unwrap();
        let (error, at) = waiting.task.await.unwrap();
        assert!(matches!(error, AcquireError::Shutdown), "{error}");
        assert!(at - begun < Duration::from_secs(1), "{:?}, {held} {other}", at - begun);
        assert_eq!(holder_on(&waiting.servers[other], "x").await, None);
    }
}
