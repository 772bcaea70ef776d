//! A `MultiLock` that lost a round keeps members while it is first in line, and not for long.

use std::time::Duration;

use palisade::{Client, LockGuard, MultiLock, embedded::Server};
use tokio::time::{Instant, sleep};

use super::{holder_on, overlap::scripts_run};
use crate::outside::ask;

/// Servers in the order in which members are taken, and a `MultiLock` over all. Another holds it on
/// the last.
struct Field {
    servers: Vec<Server>,
    clients: Vec<Client>,
    all: MultiLock,
    held: LockGuard,
}

impl Field {
    async fn new(n: usize) -> Self {
        let mut servers: Vec<Server> = (0..n).map(|_| Server::start_here()).collect();
        servers.sort_by_key(Server::run_id);
        let clients: Vec<_> = servers.iter().map(|server| server.client().unwrap()).collect();
        let all = MultiLock::new(clients.iter().map(|client| client.lock("x"))).unwrap();
        let elsewhere = servers[n - 1].client().unwrap();
        let held = elsewhere.lock("x").acquire().await.unwrap();
        // From here on all servers have told which run they are.
        assert!(all.try_acquire().await.unwrap().is_none());
        Self { servers, clients, all, held }
    }
}

/// Of two that ask at once one is granted the first member and the other is first in line. The line
/// is no place to keep a member: there it is not looked after until its lease is over.
#[tokio::test(start_paused = true)]
async fn member_is_not_kept_by_who_stands_in_line_behind_another() {
    let field = Field::new(2).await;
    // The refusal comes later than the other member's grant.
    field.servers[1].set_delay(Duration::from_millis(50));
    let takers = [(); 2].map(|()| {
        let all = field.all.clone();
        tokio::spawn(async move { all.acquire().await.unwrap().release().await.unwrap() })
    });
    sleep(Duration::from_secs(1)).await;
    field.held.release().await.unwrap();
    let free = Instant::now();
    for taker in takers {
        taker.await.unwrap();
    }
    assert!(free.elapsed() < Duration::from_secs(8), "{:?}", free.elapsed());
}

/// An acquire that tries once does not wait, so it keeps nothing, not even until the releaser comes
/// by.
#[tokio::test(start_paused = true)]
async fn refused_attempt_leaves_every_member_to_the_next_one() {
    let field = Field::new(2).await;
    field.servers[1].set_delay(Duration::from_millis(50));
    for _ in 0..3 {
        assert!(field.all.try_acquire().await.unwrap().is_none());
        let first = field.clients[0].lock("x").try_acquire().await.unwrap();
        first.expect("nobody holds it").release().await.unwrap();
    }
}

/// Whatever stands between a member that grants and one that is held: no other is kept out for
/// longer than half a lease, and the servers are not asked again and again.
#[tokio::test(start_paused = true)]
async fn member_is_not_kept_for_longer_before_one_that_fails() {
    let Field { servers, all, held: _held, .. } = Field::new(3).await;
    let () = ask(&servers[1], &["SET", "x", "no lock"]).await;
    // It fails after the refusal: that is what the round comes to.
    servers[1].set_delay(Duration::from_millis(20));
    let waiter = tokio::spawn(async move { all.acquire().await });
    let (start, mut free) = (Instant::now(), Instant::now());
    let mut longest = Duration::ZERO;
    while start.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(5)).await;
        match holder_on(&servers[0], "x").await {
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
