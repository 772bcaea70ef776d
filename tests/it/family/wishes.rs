//! A waiter for several permits is not passed for ever by waiters for few: of either kind of semaphore.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use futures::future::join_all;
use palisade::{ExpirableSemaphore, Semaphore, embedded::Server};
use testkit::{RedisServer, Reply};
use tokio::time::Instant;

use crate::{
    scripts::{NEVER, eval},
    sources::{EXPIRABLE_ACQUIRE, EXPIRABLE_COUNT, SEMAPHORE_ACQUIRE, SEMAPHORE_COUNT},
    support::{Look, ms, soon},
};

/// Where Redisson announces permits of the semaphore `x`.
const CHANNEL: &str = "redisson_sc:{x}";

/// Where a waiter for several permits of the semaphore `x` says so.
const WISH: &str = "{x}:palisade_wish";

macro_rules! wishes {
    ($($kind:ident: $semaphore:ty, $raw:expr;)*) => { $(
        mod $kind {
            use super::*;

            /// The semaphore `x` of a client of its own.
            fn semaphore(server: &Server) -> $semaphore {
                server.client().unwrap().$kind("x")
            }

            /// Twenty-four tasks that want one of eight, in four clients.
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

            /// No task stands still for good beside a waiter for what is held for long.
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

            #[test]
            fn wish_is_made_and_obeyed_and_fulfilled() {
                made_and_obeyed_and_fulfilled(&$raw);
            }

            #[test]
            fn withdrawal_of_a_wish_is_announced() {
                withdrawal_is_announced(&$raw);
            }
        }
    )* };
}

wishes! {
    semaphore: Semaphore, PLAIN;
    expirable_semaphore: ExpirableSemaphore, EXPIRABLE;
}

/// What is said to a server about a semaphore, by scripts.
struct Raw {
    /// For which holder, how many permits, and whether it may wish for them.
    acquire: fn(&RedisServer, &str, &str, &str) -> Reply,
    /// For which holder, how many permits.
    count: fn(&RedisServer, &str, &str) -> Reply,
}

const PLAIN: Raw = Raw {
    acquire: |server, holder, permits, may_wish| {
        let args = ["700", NEVER, holder, permits, may_wish];
        eval(server, SEMAPHORE_ACQUIRE, &["x", HOLDERS, WISH], &args)
    },
    count: |server, holder, permits| {
        eval(server, SEMAPHORE_COUNT, &["x", HOLDERS, WISH], &[holder, permits, CHANNEL])
    },
};

/// The holders of permits of the semaphore `x`.
const HOLDERS: &str = "{x}:palisade_holders";

const EXPIRABLE: Raw = Raw {
    acquire: |server, holder, permits, may_wish| {
        let ids = ids(holder, permits);
        let args = ["700", NEVER, "5000", &*ids, CHANNEL, may_wish];
        eval(server, EXPIRABLE_ACQUIRE, &["x", LEASES, WISH], &args)
    },
    count: |server, holder, permits| {
        let ids = ids(holder, permits);
        eval(server, EXPIRABLE_COUNT, &["x", LEASES, WISH], &[&*ids, CHANNEL])
    },
};

/// The leases of permits of the semaphore `x`.
const LEASES: &str = "{x}:timeout";

/// Permits of a holder, whose name has four letters.
fn ids(holder: &str, permits: &str) -> String {
    (0..permits.parse().unwrap()).map(|i: u32| format!("{holder}-----------{i}")).collect()
}

impl Raw {
    fn acquire(
        &self,
        server: &RedisServer,
        holder: &str,
        permits: &str,
        may_wish: &str,
    ) -> (i64, i64) {
        outcome(&(self.acquire)(server, holder, permits, may_wish))
    }

    fn count(&self, server: &RedisServer, holder: &str, permits: &str) -> (i64, i64) {
        outcome(&(self.count)(server, holder, permits))
    }
}

fn outcome(reply: &Reply) -> (i64, i64) {
    match reply {
        Reply::Int(_) => (1, 700),
        reply => (reply.array()[1].int(), reply.array()[2].int()),
    }
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

fn made_and_obeyed_and_fulfilled(raw: &Raw) {
    let server = RedisServer::start();
    server.cli(&["SET", "x", "3"]);
    assert_eq!(raw.acquire(&server, "you1", "1", "0").0, 1);
    assert_eq!(raw.acquire(&server, "mine", "3", "0").0, 0);
    assert!(!server.exists(WISH), "it does not wait");
    assert_eq!(raw.acquire(&server, "more", "4", "1").0, 0);
    assert!(!server.exists(WISH), "there are three");
    assert_eq!(raw.acquire(&server, "mine", "3", "1").0, -6);
    assert!(server.pttl(WISH) <= 10_000 && server.exists(WISH));
    assert_eq!(raw.acquire(&server, "also", "3", "1").0, 0, "one wish is enough");
    // At first it keeps no other out, nor at last.
    for ttl in ["60000", "7000"] {
        server.command(&["PEXPIRE", WISH, ttl]);
        assert_eq!(raw.acquire(&server, "you2", "1", "0").0, 1);
        assert_eq!(raw.count(&server, "you2", "1").0, 1);
    }
    let (code, left_ms) =
        while_it_keeps_others_out(&server, || raw.acquire(&server, "you2", "1", "0"));
    assert_eq!((code, server.cli(&["GET", "x"]).as_str()), (0, "2"));
    assert!((1..=2_000).contains(&left_ms), "{left_ms}");
    assert_eq!(raw.acquire(&server, "mine", "3", "1").0, -6, "still");
    assert_eq!(raw.acquire(&server, "you1", "1", "0").0, 1, "it has its own");
    assert_eq!(raw.count(&server, "you1", "1").0, 1);
    assert_eq!(while_it_keeps_others_out(&server, || raw.acquire(&server, "you2", "1", "0").0), 0);
    assert_eq!(raw.acquire(&server, "mine", "3", "1"), (1, 700));
    assert!(!server.exists(WISH));
}

fn withdrawal_is_announced(raw: &Raw) {
    let server = RedisServer::start();
    let mut listener = server.connect();
    listener.command(&["SUBSCRIBE", CHANNEL]).unwrap();
    server.cli(&["SET", "x", "3"]);
    raw.acquire(&server, "you1", "1", "0");
    assert_eq!(raw.acquire(&server, "mine", "3", "1").0, -6);
    assert_eq!(raw.count(&server, "also", "3"), (0, 0));
    assert!(server.exists(WISH), "another's");
    assert_eq!(raw.count(&server, "mine", "3"), (0, 0));
    assert!(!server.exists(WISH));
    assert_eq!(raw.count(&server, "mine", "3"), (0, 0));
    server.command(&["PUBLISH", CHANNEL, "over"]);
    let heard = [(); 2].map(|()| listener.read().unwrap().array()[2].to_string());
    assert_eq!(heard, ["2", "over"]);
}
