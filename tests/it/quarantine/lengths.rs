//! Clients with different settings on the same masters: how long they wait for what those may have
//! forgotten. In paused time.

use std::time::Duration;

use palisade::{ClientBuilder, Lease, Masters, embedded::Server};
use tokio::time::Instant;

use super::{D, MAX_LEASE, counts_in};

/// A waiter looks about every second, and a server tells its uptime in whole ones.
const SLACK: Duration = Duration::from_secs(3);

/// Three masters that are old, and what several programs have set for them.
struct Shared {
    servers: Vec<Server>,
}

impl Shared {
    fn start() -> Self {
        Self { servers: (0..3).map(|_| Server::start_here()).collect() }
    }

    /// A program that has had votes there.
    async fn program(&self, settings: impl Fn(ClientBuilder) -> ClientBuilder) -> Masters {
        let masters = self.newcomer(settings);
        let guard = masters.red_lock("warm-up").acquire().await.unwrap();
        guard.release().await.unwrap();
        masters
    }

    fn newcomer(&self, settings: impl Fn(ClientBuilder) -> ClientBuilder) -> Masters {
        let clients = self.servers.iter().map(Server::client_builder).map(settings);
        Masters::new(clients.map(|client| client.build().unwrap())).unwrap()
    }

    fn flush(&self) {
        self.servers.iter().for_each(Server::flush);
    }

    fn restart_empty(&self) {
        for server in &self.servers {
            server.flush();
            server.restart();
        }
    }
}

fn usual(settings: ClientBuilder) -> ClientBuilder {
    settings
}

/// Nothing to do with the others.
fn modest(settings: ClientBuilder) -> ClientBuilder {
    settings.max_lease(Duration::from_secs(2)).clock_skew(Duration::from_millis(10))
}

/// All have lost their data: the first who looks is told to wait for so long, and so is the next.
async fn waits_for(wait: Duration, first: &Masters, next: &Masters) {
    let lost = Instant::now();
    for masters in [first, next] {
        let left = counts_in(&masters.red_lock("y").try_acquire().await.unwrap_err());
        assert!(left > wait - SLACK && left < wait + SLACK, "{left:?} of {wait:?}");
    }
    let (one, other) = (first.red_lock("x"), next.red_lock("x"));
    let granted =
        async { tokio::select!(guard = one.acquire() => guard, guard = other.acquire() => guard) };
    granted.await.unwrap().release().await.unwrap();
    assert!(lost.elapsed() >= wait && lost.elapsed() < wait + SLACK, "{:?}", lost.elapsed());
}

#[tokio::test(start_paused = true)]
async fn small_cap_of_some_program_does_not_open_flushed_masters_to_others() {
    for modest_first in [true, false] {
        let shared = Shared::start();
        let (usual, modest) = (shared.program(usual).await, shared.program(modest).await);
        let guard =
            usual.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE)).acquire().await.unwrap();
        shared.flush();
        let (first, next) = if modest_first { (&modest, &usual) } else { (&usual, &modest) };
        waits_for(D, first, next).await;
        assert!(!guard.is_held(), "two hold it");
    }
}

#[tokio::test(start_paused = true)]
async fn small_cap_of_some_program_does_not_have_restarted_masters_vote_for_it() {
    let shared = Shared::start();
    let (usual, modest) = (shared.program(usual).await, shared.program(modest).await);
    let guard = usual.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE)).acquire().await.unwrap();
    shared.restart_empty();
    // Until the loss of the connections is noticed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    waits_for(D, &modest, &usual).await;
    assert!(!guard.is_held(), "two hold it");
}

#[tokio::test(start_paused = true)]
async fn only_the_callers_word_for_all_makes_the_wait_shorter() {
    let shared = Shared::start();
    let brief = |settings: ClientBuilder| {
        settings.fleet_max_lease(Duration::from_secs(2)).clock_skew(Duration::from_millis(10))
    };
    let (first, next) = (shared.program(brief).await, shared.program(brief).await);
    shared.flush();
    waits_for(Duration::from_millis(3_030), &first, &next).await;
}
