//! Waiters that ask again and again instead of listening.

use palisade::{
    AcquireError, AnyLock, Lease, MultiLock, RedLock,
    embedded::Server,
    waiting::{Backoff, WaitStrategy},
};
use testkit::RedisServer;
use tokio::time::{Instant, sleep};

use crate::{
    outside::ask,
    support::{eventually, ms, patient, promptly},
};

fn poll(first: u64, longest: u64) -> WaitStrategy {
    WaitStrategy::Poll(Backoff::new(ms(first), ms(longest)).unwrap())
}

#[tokio::test]
async fn those_who_poll_subscribe_to_nothing_and_come_in_behind_a_release() {
    let server = RedisServer::start();
    let clients =
        [patient(&server).connect().await.unwrap(), patient(&server).connect().await.unwrap()];
    let held = clients[0].lock("x").acquire().await.unwrap();
    let polling = clients[1].lock("x").wait_strategy(WaitStrategy::Poll(Backoff::default()));
    let waiter = tokio::spawn(async move { polling.acquire().await.unwrap() });
    let asked = || server.calls_of("evalsha");
    let before = asked();
    eventually(|| asked() > before + 20).await;
    assert_eq!(server.command(&["PUBSUB", "CHANNELS"]).array().len(), 0);
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    assert_eq!(server.keys(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_and_end_with_the_lease_of_the_holder() {
    let server = Server::start_here();
    let (holder, other) = (server.client().unwrap(), server.client().unwrap());
    let lock = holder.lock("x").with_lease(Lease::Fixed(ms(20_000)));
    lock.acquire().await.unwrap().orphan();
    let (began, before) = (Instant::now(), server.commands_processed());
    let guard = other.lock("x").wait_strategy(poll(1_000, 60_000)).acquire().await.unwrap();
    let (waited, asked) = (began.elapsed(), server.commands_processed() - before);
    assert!((ms(19_900)..ms(20_200)).contains(&waited), "{waited:?}");
    assert!(asked < 120, "{asked} commands");
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn limit_and_shutdown_end_a_long_pause() {
    let server = Server::start_here();
    let (holder, other) = (server.client().unwrap(), server.client().unwrap());
    let _held = holder.lock("x").acquire().await.unwrap();
    let lock = other.lock("x").wait_strategy(poll(60_000, 60_000));
    assert!(lock.try_acquire_for(ms(50)).await.unwrap().is_none());
    let waiter = tokio::spawn(async move { lock.acquire().await.map(drop) });
    sleep(ms(100)).await;
    let began = Instant::now();
    other.shutdown(ms(1_000)).await.unwrap();
    let ended = waiter.await.unwrap();
    assert!(matches!(ended, Err(AcquireError::Shutdown)), "{ended:?}");
    assert!(began.elapsed() < ms(1_000), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn composites_and_read_write_locks_poll_too() {
    let servers = [Server::start_here(), Server::start_here(), Server::start_here()];
    let clients = servers.each_ref().map(|server| server.client().unwrap());
    let others = servers.each_ref().map(|server| server.client().unwrap());
    let members = || clients.iter().map(|client| client.lock("x"));
    let servers = &servers[..];
    gets_in(
        servers,
        RedLock::new(others.iter().map(|client| client.lock("x"))).unwrap(),
        RedLock::new(members()).unwrap(),
    )
    .await;
    gets_in(
        servers,
        MultiLock::new(others.iter().map(|client| client.lock("x"))).unwrap(),
        MultiLock::new(members()).unwrap(),
    )
    .await;
    gets_in(servers, others[0].rw_lock("y").read(), clients[0].rw_lock("y").write()).await;
}

/// One that polls gets in behind a holder of another process.
async fn gets_in(servers: &[Server], polling: impl AnyLock, holding: impl AnyLock) {
    let held = holding.acquire().await.unwrap();
    let waiter = polling.wait_strategy(poll(1, 100));
    let waiter = tokio::spawn(async move { waiter.acquire().await.unwrap() });
    sleep(ms(300)).await;
    assert!(!waiter.is_finished());
    for server in servers {
        let channels: Vec<String> = ask(server, &["PUBSUB", "CHANNELS"]).await;
        assert!(channels.is_empty(), "{channels:?}");
    }
    drop(held);
    drop(waiter.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn in_one_line_each_waits_in_its_own_way() {
    let server = Server::start_here();
    let (holder, other) = (server.client().unwrap(), server.client().unwrap());
    let lock = other.lock("x");
    for polls in [[true, false], [false, true]] {
        let held = holder.lock("x").acquire().await.unwrap();
        let waiters = polls.map(|polls| {
            let strategy = if polls { poll(10_000, 10_000) } else { WaitStrategy::Listen };
            let lock = lock.clone().wait_strategy(strategy);
            tokio::spawn(async move { drop(lock.acquire().await.unwrap()) })
        });
        sleep(ms(100)).await;
        held.release().await.unwrap();
        let began = Instant::now();
        for waiter in waiters {
            waiter.await.unwrap();
        }
        let (waited, listens_first) = (began.elapsed(), !polls[0]);
        assert!(!listens_first || waited < ms(1_000), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn turn_in_a_queue_is_looked_for_once_a_second() {
    let server = Server::start_here();
    let (holder, other) = (server.client().unwrap(), server.client().unwrap());
    let held = holder.fair_lock("x").acquire().await.unwrap();
    let lock = other.fair_lock("x").wait_strategy(poll(60_000, 60_000));
    let waiter = tokio::spawn(async move { drop(lock.acquire().await.unwrap()) });
    sleep(ms(10_000)).await;
    held.release().await.unwrap();
    let began = Instant::now();
    waiter.await.unwrap();
    assert!(began.elapsed() < ms(1_100), "{:?}", began.elapsed());
}
