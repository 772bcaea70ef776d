//! Places in the queue: how they are left, lost and kept.

use std::time::Duration;

use futures::poll;
use palisade::{OnOutage, embedded::Server};
use testkit::{Fault, FaultProxy, RedisServer, Way};

use super::{DEADLINES, QUEUE, deadline, listens, nothing_is_left, queue, waiter};
use crate::{
    names::Events,
    outside::ask,
    regressions::scripts_run,
    scripts::now,
    support::{Look, client, eventually, fixed, ms, patient, promptly, soon},
};

#[tokio::test]
async fn dropped_guard_wakes_the_next_one() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (_, waiter) = waiter(&server).await;
    drop(held);
    drop(promptly(&server, waiter).await.unwrap());
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn end_of_the_holders_lease_lets_the_next_one_in() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    lock.with_lease(fixed(1_000)).on_outage(OnOutage::Wait).acquire().await.unwrap().orphan();
    let (_, waiter) = waiter(&server).await;
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn waiter_that_gives_up_leaves_the_queue_and_the_others_their_order() {
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    let (first, gives_up) = waiter(&server).await;
    let (second, waiter) = waiter(&server).await;
    gives_up.abort();
    eventually(|| queue(&server) == [second.clone()]).await;
    assert_eq!(deadline(&server, &first), None);
    let left = deadline(&server, &second).unwrap() - now(&server) / 1_000;
    assert!(left <= 10_000, "it is first now: {left}");
    assert!(lock.try_acquire_for(ms(50)).await.unwrap().is_none());
    eventually(|| queue(&server) == [second.clone()]).await;
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn first_that_gives_up_when_the_lock_is_free_wakes_the_next_one() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    // Told of its turn by a message that it does not look at.
    let lock = client(&server).await.fair_lock("x");
    let mut parked = Box::pin(lock.acquire());
    let is_first = || queue(&server).first().is_some_and(|first| listens(&server, first));
    while !is_first() {
        assert!(poll!(&mut parked).is_pending());
        tokio::time::sleep(ms(1)).await;
    }
    let (_, waiter) = waiter(&server).await;
    held.release().await.unwrap();
    assert!(!waiter.is_finished());
    drop(parked);
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// Its runtime stands still until the lease is over that it was granted. It has lost its turn, and takes a
/// place under another holder id.
#[tokio::test]
async fn waiter_that_learns_too_late_of_its_grant_is_told_of_its_next_turn() {
    let server = RedisServer::start();
    let proxy = FaultProxy::before(&server);
    let other = client(&server).await.fair_lock("x");
    let held = other.acquire().await.unwrap();
    let far = patient(&server).url(&proxy.url()).connect().await.unwrap();
    let lock = far.fair_lock("x").with_lease(fixed(300)).on_outage(OnOutage::Wait);
    let mut late = Box::pin(async move { lock.acquire().await.unwrap() });
    let mut poll_until = async |condition: &dyn Fn() -> bool| {
        while !condition() {
            assert!(poll!(&mut late).is_pending());
            tokio::time::sleep(ms(1)).await;
        }
    };
    poll_until(&|| queue(&server).first().is_some_and(|first| listens(&server, first))).await;
    let id = queue(&server)[0].clone();
    proxy.set(Fault::Stall(Way::Replies));
    held.release().await.unwrap();
    poll_until(&|| queue(&server).is_empty()).await;
    proxy.heal();
    // All answers before this one have come.
    far.lock("x").is_locked().await.unwrap();
    let held = promptly(&server, other.acquire()).await.unwrap();
    let waiter = tokio::spawn(late);
    eventually(|| !queue(&server).is_empty()).await;
    let new_id = queue(&server)[0].clone();
    assert_ne!(new_id, id);
    eventually(|| listens(&server, &new_id)).await;
    held.release().await.unwrap();
    promptly(&server, waiter).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// The server is down, and then it stands still and executes late what it was asked meanwhile.
#[tokio::test(start_paused = true)]
async fn waiter_keeps_holder_id_and_place_through_an_outage() {
    let server = Server::start_here();
    let held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let waiters = [(); 2].map(|()| {
        let lock = server.client().unwrap().fair_lock("x").on_outage(OnOutage::Wait);
        tokio::spawn(async move { lock.acquire().await.unwrap() })
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let queue: Vec<String> = ask(&server, &["LRANGE", QUEUE, "0", "-1"]).await;
    for (begin, end) in [
        (Server::kill as fn(&Server), Server::restart as fn(&Server)),
        (Server::freeze, Server::thaw),
    ] {
        begin(&server);
        tokio::time::sleep(Duration::from_secs(8)).await;
        end(&server);
        tokio::time::sleep(Duration::from_secs(8)).await;
        let now: Vec<String> = ask(&server, &["LRANGE", QUEUE, "0", "-1"]).await;
        assert_eq!(now, queue);
    }
    held.release().await.unwrap();
    let mut seen = Vec::new();
    for waiter in waiters {
        let guard = waiter.await.unwrap();
        seen.push(guard.holder_id().to_owned());
        guard.release().await.unwrap();
    }
    assert_eq!(seen, queue);
    tokio::time::sleep(Duration::from_secs(5)).await;
    let keys: Vec<String> = ask(&server, &["KEYS", "*"]).await;
    assert!(keys.iter().all(|key| key.contains("palisade_process:")), "{keys:?}");
}

/// As Redisson by a clock that is ahead.
fn sends_off(server: &RedisServer, [queue, deadlines]: [&str; 2], first: &str) {
    server.command(&["ZREM", deadlines, first]);
    server.command(&["LREM", queue, "1", first]);
}

#[tokio::test]
async fn waiter_that_was_sent_off_although_it_lives_stands_at_the_end() {
    let server = RedisServer::start();
    let held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (first, one) = waiter(&server).await;
    let (second, other) = waiter(&server).await;
    sends_off(&server, [QUEUE, DEADLINES], &first);
    eventually(|| queue(&server) == [second.clone(), first.clone()]).await;
    held.release().await.unwrap();
    promptly(&server, other).await.unwrap().release().await.unwrap();
    promptly(&server, one).await.unwrap().release().await.unwrap();
    nothing_is_left(&server).await;
}

/// That it was sent off is said at `warn`.
#[tokio::test]
async fn panic_of_a_subscriber_costs_neither_the_wait_nor_the_place() {
    const NAME: &str = Events::PANICKING_ANYWHERE;
    Events::install();
    let server = RedisServer::start();
    let queue = format!("redisson_lock_queue:{{{NAME}}}");
    let deadlines = format!("redisson_lock_timeout:{{{NAME}}}");
    let queued = || server.command(&["LRANGE", &queue, "0", "-1"]).array().to_vec();
    let holder = client(&server).await.fair_lock(NAME);
    let held = holder.acquire().await.unwrap();
    let mut ids = Vec::new();
    let mut waiters = Vec::new();
    for place in 1..=2 {
        let lock = client(&server).await.fair_lock(NAME);
        waiters.push(tokio::spawn(async move { lock.acquire().await.unwrap() }));
        eventually(|| queued().len() == place).await;
        ids.push(queued()[place - 1].clone());
    }
    sends_off(&server, [&queue, &deadlines], &ids[0].to_string());
    eventually(|| queued() == [ids[1].clone(), ids[0].clone()]).await;
    held.release().await.unwrap();
    for (waiter, id) in waiters.into_iter().zip(ids).rev() {
        let guard = promptly(&server, waiter).await.unwrap();
        assert_eq!(guard.holder_id(), id.to_string());
        guard.release().await.unwrap();
    }
    nothing_is_left(&server).await;
}

#[tokio::test]
async fn queue_that_was_given_an_end_has_a_later_one_once_somebody_looks() {
    let server = RedisServer::start();
    let _held = client(&server).await.fair_lock("x").acquire().await.unwrap();
    let (_, _waiter) = waiter(&server).await;
    for key in [QUEUE, DEADLINES] {
        // As by Redisson's MultiLock.
        server.command(&["PEXPIRE", key, "600000"]);
        eventually(|| server.pttl(key) > 86_400_000).await;
    }
}

/// The waiter is not polled, and asks nothing: its place is kept for it.
#[tokio::test(start_paused = true)]
async fn place_is_kept_for_hours_although_who_waits_stands_still() {
    let server = Server::start_here();
    let held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let lock = server.client().unwrap().fair_lock("x");
    let mut parked = Box::pin(lock.acquire());
    let limit = tokio::time::timeout(Duration::from_secs(1), &mut parked).await;
    assert!(limit.is_err());
    let place: Vec<String> = ask(&server, &["LRANGE", QUEUE, "0", "-1"]).await;
    let other = server.client().unwrap().fair_lock("x");
    let behind = tokio::spawn(async move { other.acquire().await.unwrap() });
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(120)).await;
        let queue: Vec<String> = ask(&server, &["LRANGE", QUEUE, "0", "-1"]).await;
        assert_eq!((queue.len(), &queue[0]), (2, &place[0]));
    }
    held.release().await.unwrap();
    let guard = parked.await.unwrap();
    assert_eq!(guard.holder_id(), place[0]);
    guard.release().await.unwrap();
    behind.await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn place_that_was_given_up_is_prolonged_no_more() {
    let server = Server::start_here();
    let held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let lock = server.client().unwrap().fair_lock("x");
    let waits = tokio::time::timeout(Duration::from_secs(100), lock.acquire()).await;
    assert!(waits.is_err());
    held.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let servers = [server];
    let said = scripts_run(&servers).await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(scripts_run(&servers).await, said);
}

/// Redisson takes five minutes off with each of its grants.
#[tokio::test(start_paused = true)]
async fn place_that_is_not_the_first_is_prolonged_although_who_waits_stands_still() {
    let server = Server::start_here();
    let _held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let locks = [(); 2].map(|()| server.client().unwrap().fair_lock("x"));
    let [mut first, mut second] = locks.each_ref().map(|lock| Box::pin(lock.acquire()));
    for parked in [&mut first, &mut second] {
        assert!(tokio::time::timeout(Duration::from_secs(1), parked).await.is_err());
    }
    let place: String = ask(&server, &["LINDEX", QUEUE, "1"]).await;
    let score = async || {
        let score: String = ask(&server, &["ZSCORE", DEADLINES, &place]).await;
        score.parse::<i64>().unwrap()
    };
    let before = score().await;
    let _: String = ask(&server, &["ZINCRBY", DEADLINES, "-400000", &place]).await;
    while score().await < before {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // The server is down when that is due again, a minute later: it is done soon after.
    let _: String = ask(&server, &["ZINCRBY", DEADLINES, "-400000", &place]).await;
    tokio::time::sleep(Duration::from_secs(55)).await;
    assert!(score().await < before);
    server.kill();
    tokio::time::sleep(Duration::from_secs(10)).await;
    server.restart();
    tokio::time::sleep(Duration::from_secs(15)).await;
    assert!(score().await >= before);
}

/// However short the lease that it waited for.
#[tokio::test(start_paused = true)]
async fn place_that_is_given_up_while_the_server_is_down_is_left_once_that_is_back() {
    let server = Server::start_here();
    let _held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let lock = server.client().unwrap().fair_lock("x").with_lease(fixed(1_000));
    let mut waits = Box::pin(lock.acquire());
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut waits).await.is_err());
    server.kill();
    drop(waits);
    tokio::time::sleep(Duration::from_secs(60)).await;
    server.restart();
    tokio::time::sleep(Duration::from_secs(15)).await;
    let queue: Vec<String> = ask(&server, &["LRANGE", QUEUE, "0", "-1"]).await;
    assert!(queue.is_empty(), "{queue:?}");
}

/// A future that is not polled is not to keep a free lock from others for longer.
#[tokio::test(start_paused = true)]
async fn first_that_does_not_come_is_passed_over_after_ten_seconds_and_comes_later() {
    let server = Server::start_here();
    let held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let lock = server.client().unwrap().fair_lock("x");
    let mut parked = Box::pin(lock.acquire());
    assert!(tokio::time::timeout(Duration::from_secs(1), &mut parked).await.is_err());
    let other = server.client().unwrap().fair_lock("x");
    let behind = tokio::spawn(async move { other.acquire().await.unwrap() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    held.release().await.unwrap();
    let began = tokio::time::Instant::now();
    let guard = behind.await.unwrap();
    let waited = began.elapsed();
    assert!((10..=13).contains(&waited.as_secs()), "{waited:?}");
    guard.release().await.unwrap();
    parked.await.unwrap().release().await.unwrap();
}

/// A process that is stopped, or a socket that is half open, is the same to the server.
#[tokio::test(start_paused = true)]
async fn fifty_that_do_not_come_are_passed_over_at_once() {
    let server = Server::start_here();
    let held = server.client().unwrap().fair_lock("x").acquire().await.unwrap();
    let clients = [(); 50].map(|()| server.client().unwrap());
    let locks = clients.each_ref().map(|client| client.fair_lock("x"));
    let mut parked: Vec<_> = locks.iter().map(|lock| Box::pin(lock.acquire())).collect();
    for parked in &mut parked {
        assert!(tokio::time::timeout(Duration::from_secs(1), parked).await.is_err());
    }
    let lock = server.client().unwrap().fair_lock("x");
    let alive = tokio::spawn(async move { lock.acquire().await.unwrap() });
    tokio::time::sleep(Duration::from_secs(1)).await;
    held.release().await.unwrap();
    let began = tokio::time::Instant::now();
    let guard = alive.await.unwrap();
    assert!(began.elapsed() <= Duration::from_secs(12), "{:?}", began.elapsed());
    guard.release().await.unwrap();
    for parked in parked {
        parked.await.unwrap().release().await.unwrap();
    }
}

/// What a place costs must not grow with how many there are: the server has one thread.
#[tokio::test]
async fn places_that_are_taken_given_up_and_granted_write_a_few_deadlines_each() {
    const WAITERS: u64 = 200;
    let server = RedisServer::start();
    let lock = client(&server).await.fair_lock("x");
    let held = lock.acquire().await.unwrap();
    let place = |gives_up: bool| {
        let lock = lock.clone();
        tokio::spawn(async move {
            if gives_up {
                assert!(lock.try_acquire_for(ms(50)).await.unwrap().is_none());
            } else {
                lock.acquire().await.unwrap().release().await.unwrap();
            }
        })
    };
    let waiters: Vec<_> = (0..WAITERS).map(|_| place(false)).collect();
    eventually(|| queue(&server).len() == 200).await;
    let given_up: Vec<_> = (0..WAITERS).map(|_| place(true)).collect();
    soon(futures::future::join_all(given_up)).await;
    held.release().await.unwrap();
    soon(futures::future::join_all(waiters)).await;
    let written = server.calls_of("zadd");
    assert!(written <= 8 * WAITERS, "{written}");
    nothing_is_left(&server).await;
}
