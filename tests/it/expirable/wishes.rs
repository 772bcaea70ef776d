//! Who waits for several permits is not passed for ever by those who want few.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::future::join_all;
use palisade::{ExpirableSemaphore, embedded::Server};
use testkit::{RedisServer, Reply};
use tokio::time::Instant;

use super::{CHANNEL, LEASES, WISH, left};
use crate::{
    scripts::{NEVER, eval},
    sources::{EXPIRABLE_ACQUIRE, EXPIRABLE_COUNT},
    support::{Look, ms, soon},
};

/// The semaphore `x` of a client of its own.
fn semaphore(server: &Server) -> ExpirableSemaphore {
    server.client().unwrap().expirable_semaphore("x")
}

/// Twenty-four who want one of eight, in four clients.
#[tokio::test(start_paused = true)]
async fn large_request_is_granted_beside_small_ones_of_other_clients() {
    let server = Server::start_here();
    let large = semaphore(&server);
    assert!(large.try_set_permits(8).await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let small = (0..24).map(|i| {
        let (semaphore, is_over) = (semaphore(&server), is_over.clone());
        let section = ms(40 + i);
        tokio::spawn(async move {
            tokio::time::sleep(section / 3).await;
            while !is_over.load(Ordering::Relaxed) {
                let guard = semaphore.acquire().await.unwrap();
                tokio::time::sleep(section).await;
                guard.release().await.unwrap();
            }
        })
    });
    let small: Vec<_> = small.collect();
    tokio::time::sleep(ms(500)).await;
    for _ in 0..3 {
        let began = Instant::now();
        let guard = tokio::time::timeout(ms(10_000), large.acquire_many(8)).await;
        let guard = guard.expect("it is passed for ever").unwrap();
        assert!(began.elapsed() <= ms(2_000), "{:?}", began.elapsed());
        guard.release().await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    join_all(small).await;
    assert_eq!(large.permits().await.unwrap(), 8);
}

/// Nobody stands still for good beside one who waits for what is held for long.
#[tokio::test(start_paused = true)]
async fn others_are_kept_out_for_two_seconds_of_ten() {
    let server = Server::start_here();
    let (one, other) = (semaphore(&server), semaphore(&server));
    assert!(one.try_set_permits(3).await.unwrap());
    let held = other.acquire().await.unwrap();
    let waiter = tokio::spawn(async move { one.acquire_many(3).await.unwrap() });
    tokio::time::sleep(ms(100)).await;
    let mut kept_out = Vec::new();
    for _ in 0..300 {
        match other.try_acquire().await.unwrap() {
            Some(guard) => guard.release().await.unwrap(),
            None => kept_out.push(()),
        }
        tokio::time::sleep(ms(100)).await;
    }
    assert!((38..=82).contains(&kept_out.len()), "{} of 300", kept_out.len());
    held.release().await.unwrap();
    soon(waiter).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn request_that_is_given_up_lets_others_in_at_once() {
    let server = Server::start_here();
    let (one, other) = (semaphore(&server), semaphore(&server));
    assert!(one.try_set_permits(3).await.unwrap());
    let _held = other.acquire().await.unwrap();
    let waiter = tokio::spawn(async move { one.acquire_many(3).await });
    tokio::time::sleep(ms(600)).await;
    let second = tokio::spawn(async move {
        let guard = other.acquire().await.unwrap();
        (guard, Instant::now())
    });
    tokio::time::sleep(ms(400)).await;
    assert!(!second.is_finished());
    let began = Instant::now();
    waiter.abort();
    let (_guard, at) = soon(second).await.unwrap();
    assert!(at - began < ms(500), "{:?}", at - began);
}

#[tokio::test(start_paused = true)]
async fn request_for_more_than_there_are_keeps_nobody_out() {
    let server = Server::start_here();
    let (one, other) = (semaphore(&server), semaphore(&server));
    assert!(one.try_set_permits(3).await.unwrap());
    let _held = other.acquire().await.unwrap();
    let waiter = tokio::spawn(async move { one.acquire_many(4).await });
    for _ in 0..100 {
        tokio::time::sleep(ms(100)).await;
        other.try_acquire().await.unwrap().expect("there are two").release().await.unwrap();
    }
    waiter.abort();
}

fn outcome(reply: &Reply) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, 700),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
}

/// Permits of a holder, whose name has four letters.
fn ids(holder: &str, permits: &str) -> String {
    (0..permits.parse().unwrap()).map(|i: u32| format!("{holder}-----------{i}")).collect()
}

fn acquire(server: &RedisServer, holder: &str, permits: &str, may_wish: &str) -> (i64, i64) {
    let ids = ids(holder, permits);
    let args = ["700", NEVER, "5000", &ids, CHANNEL, may_wish];
    outcome(&eval(server, EXPIRABLE_ACQUIRE, &["x", LEASES, WISH], &args))
}

fn count(server: &RedisServer, holder: &str, permits: &str) -> (i64, i64) {
    let args = [ids(holder, permits), CHANNEL.to_owned()];
    outcome(&eval(
        server,
        EXPIRABLE_COUNT,
        &["x", LEASES, WISH],
        &args.each_ref().map(|arg| &**arg),
    ))
}

/// What comes of `work` half a second after the wish was made, or a little later. Said again where this
/// process stood still meanwhile.
fn while_it_keeps_others_out<T>(server: &RedisServer, mut work: impl FnMut() -> T) -> T {
    loop {
        server.command(&["PEXPIRE", WISH, "9499"]);
        let (began, came) = (std::time::Instant::now(), work());
        if began.elapsed() < ms(1_500) {
            return came;
        }
    }
}

#[test]
fn wish_is_made_and_obeyed_and_fulfilled() {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    assert_eq!(acquire(&server, "you1", "1", "0").0, 1);
    assert_eq!(acquire(&server, "mine", "3", "0").0, 0);
    assert!(!server.exists(WISH), "it does not wait");
    assert_eq!(acquire(&server, "more", "4", "1").0, 0);
    assert!(!server.exists(WISH), "there are three");
    assert_eq!(acquire(&server, "mine", "3", "1").0, -6);
    assert!(server.pttl(WISH) <= 10_000 && server.exists(WISH));
    assert_eq!(acquire(&server, "also", "3", "1").0, 0, "one wish is enough");
    // At first it keeps nobody out, and at last.
    for ttl in ["60000", "7000"] {
        server.command(&["PEXPIRE", WISH, ttl]);
        assert_eq!(acquire(&server, "you2", "1", "0").0, 1);
        assert_eq!(count(&server, "you2", "1").0, 1);
    }
    let (code, left_ms) = while_it_keeps_others_out(&server, || acquire(&server, "you2", "1", "0"));
    assert_eq!((code, left(&server).as_str()), (0, "2"));
    assert!((1..=2_000).contains(&left_ms), "{left_ms}");
    assert_eq!(acquire(&server, "mine", "3", "1").0, -6, "still");
    assert_eq!(acquire(&server, "you1", "1", "0").0, 1, "it has its own");
    assert_eq!(count(&server, "you1", "1").0, 1);
    assert_eq!(while_it_keeps_others_out(&server, || acquire(&server, "you2", "1", "0").0), 0);
    assert_eq!(acquire(&server, "mine", "3", "1"), (1, 700));
    assert!(!server.exists(WISH));
}

#[test]
fn withdrawal_of_a_wish_is_announced() {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "3"]);
    acquire(&server, "you1", "1", "0");
    assert_eq!(acquire(&server, "mine", "3", "1").0, -6);
    assert_eq!(count(&server, "also", "3"), (0, 0));
    assert!(server.exists(WISH), "another's");
    assert_eq!(count(&server, "mine", "3"), (0, 0));
    assert!(!server.exists(WISH));
    assert_eq!(count(&server, "mine", "3"), (0, 0));
    server.command(&["PUBLISH", CHANNEL, "over"]);
    let heard = [(); 2].map(|()| listener.read().unwrap().array()[2].to_string());
    assert_eq!(heard, ["2", "over"]);
}
