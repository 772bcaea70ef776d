//! Sockets that are killed, scripts that are forgotten, data that is read anew, servers that pause: all of
//! it again and again, while many want the same.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use futures::{
    FutureExt,
    future::{BoxFuture, join, join_all},
};
use palisade::{Client, OnOutage, ReleaseError};
use testkit::RedisServer;

use crate::{
    fleet::HANG,
    support::{
        LONG_LEASE, Look, client, eventually, eventually_blocking, ms, patient, soon, within,
    },
};

/// A place that only so many may be in.
struct Section {
    most: i64,
    inside: AtomicI64,
    visits: AtomicU64,
    is_over: AtomicBool,
}

impl Section {
    fn of(most: i64) -> Arc<Self> {
        let (inside, visits, is_over) = Default::default();
        Arc::new(Self { most, inside, visits, is_over })
    }

    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::SeqCst)
    }

    async fn visit(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        assert!(inside <= self.most, "{inside} are inside");
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.visits.fetch_add(1, Ordering::SeqCst);
    }
}

/// All users, for as long as it takes to bring everything upon them ten times.
async fn weather(server: &Arc<RedisServer>, section: &Arc<Section>, users: Vec<BoxFuture<'_, ()>>) {
    let (storm, until) = (server.clone(), section.clone());
    let storm = tokio::task::spawn_blocking(move || {
        for _ in 0..10 {
            for trouble in [
                ["CLIENT", "KILL", "TYPE", "pubsub"].as_slice(),
                &["CLIENT", "KILL", "TYPE", "normal"],
                &["SCRIPT", "FLUSH"],
                &["DEBUG", "RELOAD"],
                &["CLIENT", "PAUSE", "20"],
            ] {
                storm.command(trouble);
                let before = until.visits.load(Ordering::SeqCst);
                eventually_blocking(|| until.visits.load(Ordering::SeqCst) > before + 2);
            }
        }
        until.is_over.store(true, Ordering::SeqCst);
    });
    let (storm, _) = soon(join(storm, join_all(users))).await;
    storm.unwrap();
}

/// Whatever is not confirmed goes on in the background.
fn released<T>(release: Result<T, ReleaseError>) {
    if let Err(error) = release {
        assert!(matches!(error, ReleaseError::Unconfirmed { .. }), "{error:?}");
    }
}

/// What was sent on a socket that broke is final, and a shutdown done, when its time is over: not too long.
async fn two(server: &RedisServer) -> [Client; 2] {
    let settings = patient(server).redisson_watchdog(LONG_LEASE).node_timeout(ms(3_000));
    [settings.clone().connect().await.unwrap(), settings.connect().await.unwrap()]
}

async fn end(server: &RedisServer, clients: [Client; 2], left: &[&str]) {
    for client in clients {
        within(HANG, client.shutdown(HANG)).await.unwrap();
    }
    let mut keys = server.keys();
    keys.retain(|key| !key.starts_with("palisade_once:"));
    assert_eq!(keys, left);
}

macro_rules! excludes {
    ($($name:ident: $most:expr, $of:expr;)*) => { $(
        #[tokio::test]
        async fn $name() {
            let server = Arc::new(RedisServer::start());
            let section = Section::of($most);
            let clients = two(&server).await;
            let users = (0..6).map(|i| {
                let of: fn(&Client, usize) -> _ = $of;
                let (lock, section) = (of(&clients[i % 2], i).on_outage(OnOutage::Wait), &section);
                async move {
                    while section.goes_on() {
                        let guard = lock.acquire().await.unwrap();
                        section.visit().await;
                        released(guard.release().await);
                    }
                }
                .boxed()
            });
            weather(&server, &section, users.collect()).await;
            end(&server, clients, &[]).await;
        }
    )* };
}

excludes! {
    fair_lock_excludes_and_goes_on: 1, |client, _| client.fair_lock("x");
    writers_exclude_and_go_on: 1, |client, _| client.rw_lock("x").write();
    readers_go_on: 6, |client, _| client.rw_lock("x").read();
}

macro_rules! bounds {
    ($($name:ident: $semaphore:ident;)*) => { $(
        #[tokio::test]
        async fn $name() {
            let server = Arc::new(RedisServer::start());
            let section = Section::of(3);
            let clients = two(&server).await;
            assert!(clients[0].$semaphore("x").try_set_permits(3).await.unwrap());
            let users = (0..6_u32).map(|i| {
                let semaphore = clients[i as usize % 2].$semaphore("x").on_outage(OnOutage::Wait);
                let section = &section;
                async move {
                    while section.goes_on() {
                        let guard = semaphore.acquire_many(1 + i % 2).await.unwrap();
                        section.visit().await;
                        released(guard.release().await);
                    }
                }
                .boxed()
            });
            weather(&server, &section, users.collect()).await;
            end(&server, clients, &["x"]).await;
            assert_eq!(server.cli(&["GET", "x"]), "3");
        }
    )* };
}

bounds! {
    permits_are_bounded_and_all_come_back: semaphore;
    permits_with_leases_are_bounded_and_all_come_back: expirable_semaphore;
}

#[tokio::test]
async fn each_count_of_a_latch_is_one() {
    let server = Arc::new(RedisServer::start());
    let section = Section::of(6);
    let clients = two(&server).await;
    assert!(clients[0].count_down_latch("x").try_set_count(1_000_000).await.unwrap());
    let users = (0..6).map(|i| {
        let (latch, section) = (clients[i % 2].count_down_latch("x"), &section);
        async move {
            while section.goes_on() {
                assert!(latch.count_down().await.unwrap());
                section.visit().await;
            }
        }
        .boxed()
    });
    weather(&server, &section, users.collect()).await;
    let visits = section.visits.load(Ordering::SeqCst);
    assert_eq!(clients[0].count_down_latch("x").count().await.unwrap(), 1_000_000 - visits);
    end(&server, clients, &["x"]).await;
}

#[tokio::test]
async fn flushed_server_ends_all_holds_and_lets_everybody_who_waits_in() {
    let server = RedisServer::start();
    let client = client(&server).await;
    let semaphore = client.semaphore("x");
    assert!(semaphore.try_set_permits(1).await.unwrap());
    let held = semaphore.acquire().await.unwrap();
    let waiter = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.acquire().await.unwrap() }
    });
    server.flush();
    assert!(matches!(held.release().await, Err(ReleaseError::Lost { .. })));
    assert!(semaphore.try_set_permits(1).await.unwrap());
    let guard = soon(waiter).await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), 0);
    guard.release().await.unwrap();
    assert_eq!(semaphore.permits().await.unwrap(), 1);
    eventually(|| server.size() == 1).await;
}
