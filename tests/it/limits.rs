//! A limit bounds all that is done under it, in paused time: what it takes is exact there.

use std::{fmt::Debug, future::Future, pin::Pin, time::Duration};

use palisade::{
    AcquireError, AnyLock, Client, CountDownLatch, Masters, Semaphore, embedded::Server,
    error::InspectError,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep},
};

use crate::support::ms;

const LIMITS: [Duration; 4] = [ms(1), ms(20), ms(50), ms(300)];
/// Timers count in milliseconds, and round up.
const ROUNDED: Duration = ms(5);

type Tried = Pin<Box<dyn Future<Output = Result<bool, AcquireError>>>>;

fn tried<L: AnyLock>(lock: L, limit: Duration) -> Tried {
    Box::pin(async move { Ok(lock.try_acquire_for(limit).await?.is_some()) })
}

fn permit(semaphore: Semaphore, limit: Duration) -> Tried {
    Box::pin(async move { Ok(semaphore.try_acquire_for(limit).await?.is_some()) })
}

/// One attempt of each kind that has a limit.
fn of_each_kind(masters: &Masters, limit: Duration) -> Vec<Tried> {
    let client = &masters.clients()[0];
    vec![
        tried(client.lock("plain"), limit),
        tried(client.fair_lock("fair"), limit),
        tried(client.fenced_lock("fenced"), limit),
        tried(client.rw_lock("rw").read(), limit),
        tried(client.rw_lock("rw").write(), limit),
        tried(masters.red_lock("red"), limit),
        tried(masters.multi_lock("multi"), limit),
        tried(masters.fenced_red_lock("fenced red"), limit),
        permit(client.semaphore("permits"), limit),
    ]
}

fn fleet() -> (Vec<Server>, Masters) {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    (servers, masters)
}

async fn connected(masters: &Masters) {
    for client in masters.clients() {
        assert!(!client.lock("first contact").is_locked().await.unwrap());
    }
}

/// Each ends within its limit; how many of them with an outage.
async fn outages(masters: &Masters, limit: Duration) -> usize {
    let mut outages = 0;
    for (kind, tried) in of_each_kind(masters, limit).into_iter().enumerate() {
        let began = Instant::now();
        let came = tried.await;
        let took = began.elapsed();
        assert!(took <= limit + ROUNDED, "{kind}: {took:?} of {limit:?}");
        outages += usize::from(is_outage(&came));
    }
    outages
}

fn is_outage(came: &Result<bool, impl Debug>) -> bool {
    format!("{came:?}").starts_with("Err(Unavailable")
}

#[tokio::test(start_paused = true)]
async fn acquire_of_frozen_servers_takes_no_longer_than_its_limit_and_is_an_outage() {
    for limit in LIMITS {
        let (servers, masters) = fleet();
        connected(&masters).await;
        servers.iter().for_each(Server::freeze);
        assert_eq!(outages(&masters, limit).await, 9, "{limit:?}");
    }
}

/// It is connecting that takes too long there.
#[tokio::test(start_paused = true)]
async fn acquire_by_a_first_contact_with_frozen_servers_takes_no_longer_than_its_limit() {
    for limit in LIMITS {
        let (servers, masters) = fleet();
        servers.iter().for_each(Server::freeze);
        assert_eq!(outages(&masters, limit).await, 9, "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn acquire_of_dead_servers_takes_no_longer_than_its_limit() {
    for limit in LIMITS {
        let (servers, masters) = fleet();
        connected(&masters).await;
        servers.iter().for_each(Server::kill);
        assert_eq!(outages(&masters, limit).await, 9, "{limit:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn majority_is_won_within_the_limit_though_one_server_is_frozen() {
    let (servers, masters) = fleet();
    servers[1].freeze();
    let began = Instant::now();
    let guard = masters.red_lock("x").try_acquire_for(ms(50)).await.unwrap().unwrap();
    assert!(began.elapsed() <= ms(50) + ROUNDED, "{:?}", began.elapsed());
    assert!(guard.is_held());
    let began = Instant::now();
    let all = masters.multi_lock("y").try_acquire_for(ms(50)).await;
    assert!(matches!(all, Err(AcquireError::Unavailable { .. })), "{all:?}");
    assert!(began.elapsed() <= ms(50) + ROUNDED, "{:?}", began.elapsed());
}

/// Nothing of it speaks against the connection, or the server: the next one asks at once.
#[tokio::test(start_paused = true)]
async fn what_was_asked_until_the_limit_is_given_back_and_held_against_nobody() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let (lock, same) = (client.lock("x"), other.lock("x"));
    assert!(!lock.is_locked().await.unwrap() && !same.is_locked().await.unwrap());
    for _ in 0..20 {
        server.freeze();
        assert!(is_outage(&lock.try_acquire_for(ms(20)).await.map(|guard| guard.is_some())));
        server.thaw();
        let began = Instant::now();
        // What is executed late is behind it on the same socket, and then released.
        sleep(ms(100)).await;
        let guard = same.try_acquire().await.unwrap().expect("given back");
        guard.release().await.unwrap();
        drop(lock.try_acquire().await.unwrap().expect("it is asked"));
        assert!(began.elapsed() < ms(150), "{:?}", began.elapsed());
        sleep(ms(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn limit_of_zero_is_one_attempt() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    server.set_delay(ms(100));
    let guard = lock.try_acquire_for(Duration::ZERO).await.unwrap().expect("it is free");
    assert!(lock.try_acquire_for(Duration::ZERO).await.unwrap().is_none());
    guard.release().await.unwrap();
}

fn latch(client: &Client, name: &str) -> CountDownLatch {
    client.count_down_latch(name)
}

#[tokio::test(start_paused = true)]
async fn first_look_at_a_latch_takes_no_longer_than_the_limit() {
    for name in ["x", "{tagged}"] {
        let server = Server::start_here();
        let client = server.client().unwrap();
        server.freeze();
        for limit in LIMITS {
            let began = Instant::now();
            let waited = latch(&client, name).wait_for(limit).await;
            assert!(matches!(waited, Err(InspectError::Node { .. })), "{waited:?}");
            assert!(began.elapsed() <= limit + ROUNDED, "{:?} of {limit:?}", began.elapsed());
        }
    }
}

/// Not even the connection knows the script any more: that is two round trips.
#[tokio::test(start_paused = true)]
async fn script_that_is_not_known_has_two_round_trips_with_a_time_of_their_own() {
    let server = Server::start_here();
    let client = server.client_builder().node_timeout(ms(500)).build().unwrap();
    let lock = client.lock("x");
    assert!(lock.holder().await.unwrap().is_none());
    let mut stream = server.connect().await.unwrap();
    stream.write_all(b"*2\r\n$6\r\nSCRIPT\r\n$5\r\nFLUSH\r\n").await.unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"+OK\r\n");
    server.set_delay(ms(300));
    assert!(lock.holder().await.unwrap().is_none());
}
