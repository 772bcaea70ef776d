//! A `MultiLock` that lost a round keeps members while it is first in line, and not for long.

use std::time::Duration;

use palisade::{Client, MultiLock, embedded::Server};
use tokio::time::{Instant, sleep};

use super::{holder_on, overlap::scripts_run};
use crate::outside::ask;

/// Two servers, and a `MultiLock` over both. Somebody else holds it on the one that was asked for:
/// of two one is the first in the order in which members are taken, and nobody knows which.
struct Field {
    servers: [Server; 2],
    clients: [Client; 2],
    both: MultiLock,
}

impl Field {
    fn new() -> Self {
        let servers = [(); 2].map(|()| Server::start_here());
        let clients = [0, 1].map(|i: usize| servers[i].client().unwrap());
        let both = MultiLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
        Self { servers, clients, both }
    }
}

/// Of two that ask at once one is granted the first member and the other is first in line. The line
/// is no place to keep a member: there nobody looks after it until its lease is over.
#[tokio::test(start_paused = true)]
async fn member_is_not_kept_by_who_stands_in_line_behind_another() {
    for held in 0..2 {
        let field = Field::new();
        let elsewhere = field.servers[held].client().unwrap();
        let guard = elsewhere.lock("x").acquire().await.unwrap();
        // All servers have said who they are.
        assert!(field.both.try_acquire().await.unwrap().is_none());
        sleep(Duration::from_secs(1)).await;
        // The refusal comes later than the other member's grant.
        field.servers[held].set_delay(Duration::from_millis(50));
        let takers = [(); 2].map(|()| {
            let both = field.both.clone();
            tokio::spawn(async move { both.acquire().await.unwrap().release().await.unwrap() })
        });
        sleep(Duration::from_secs(1)).await;
        guard.release().await.unwrap();
        let free = Instant::now();
        for taker in takers {
            taker.await.unwrap();
        }
        assert!(free.elapsed() < Duration::from_secs(8), "{held} was held: {:?}", free.elapsed());
    }
}

/// Whoever tries once does not wait, so it keeps nothing, not even until the releaser comes by.
#[tokio::test(start_paused = true)]
async fn refused_attempt_leaves_every_member_to_the_next_one() {
    for held in 0..2 {
        let field = Field::new();
        let elsewhere = field.servers[held].client().unwrap();
        let _guard = elsewhere.lock("x").acquire().await.unwrap();
        field.servers[held].set_delay(Duration::from_millis(50));
        for _ in 0..3 {
            assert!(field.both.try_acquire().await.unwrap().is_none());
            let other = field.clients[1 - held].lock("x").try_acquire().await.unwrap();
            other.expect("nobody holds it").release().await.unwrap();
        }
    }
}

/// Whatever stands between a member that grants and one that is held: nobody is kept out for longer
/// than half a lease, and the servers are not asked again and again.
#[tokio::test(start_paused = true)]
async fn member_is_not_kept_for_longer_before_one_that_fails() {
    let mut servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    // The order in which members are taken.
    servers.sort_by_key(Server::run_id);
    let [first, broken, held] = servers.as_slice() else { unreachable!() };
    let () = ask(broken, &["SET", "x", "no lock"]).await;
    let _guard = held.client().unwrap().lock("x").acquire().await.unwrap();
    // It fails after the refusal: that is what the round comes to.
    broken.set_delay(Duration::from_millis(20));
    let clients = [first, broken, held].map(|server| server.client().unwrap());
    let all = MultiLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
    let waiter = tokio::spawn(async move { all.acquire().await });
    let (start, mut free) = (Instant::now(), Instant::now());
    let mut longest = Duration::ZERO;
    while start.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(5)).await;
        match holder_on(first, "x").await {
            Some(_) => longest = longest.max(free.elapsed()),
            None => free = Instant::now(),
        }
    }
    assert!(!waiter.is_finished(), "{:?}", waiter.await);
    waiter.abort();
    assert!(longest < Duration::from_secs(3), "{longest:?}");
    let asked = scripts_run(&servers).await;
    assert!(asked.iter().all(|times| *times < 100), "{asked:?}");
}
