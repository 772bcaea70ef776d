//! Clients with different settings on the same masters: how long they wait for what those may have
//! forgotten. In paused time.

use std::time::Duration;

use palisade::{ClientBuilder, Lease, Masters, embedded::Server};
use testkit::{Cluster, RedisServer};
use tokio::time::Instant;

use super::{D, MAX_LEASE, client, counts_in, wary};
use crate::fleet::{self, HANG};

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

    /// When they lost their data.
    fn flush(&self) -> Instant {
        self.servers.iter().for_each(Server::flush);
        Instant::now()
    }

    /// When they lost their data.
    fn restart_empty(&self) -> Instant {
        for server in &self.servers {
            server.flush();
            server.restart();
        }
        Instant::now()
    }
}

fn usual(settings: ClientBuilder) -> ClientBuilder {
    settings
}

/// Nothing to do with the others.
fn modest(settings: ClientBuilder) -> ClientBuilder {
    settings.max_lease(Duration::from_secs(2)).clock_skew(Duration::from_millis(10))
}

/// All have lost their data, a moment ago at most: the first that looks is told to wait for so long, and so
/// is the next. Where a longer wait than usual is known by its witness alone, for a quarter more at most.
async fn waits_for(wait: Duration, lost: Instant, first: &Masters, next: &Masters) {
    let longest = if wait > D { wait * 5 / 4 + SLACK } else { wait + SLACK };
    for masters in [first, next] {
        let left = counts_in(&masters.red_lock("y").try_acquire().await.unwrap_err());
        assert!(left > wait - SLACK && left < longest, "{left:?} of {wait:?}");
    }
    let (one, other) = (first.red_lock("x"), next.red_lock("x"));
    let granted =
        async { tokio::select!(guard = one.acquire() => guard, guard = other.acquire() => guard) };
    granted.await.unwrap().release().await.unwrap();
    assert!(lost.elapsed() >= wait && lost.elapsed() < longest, "{:?}", lost.elapsed());
}

#[tokio::test(start_paused = true)]
async fn small_cap_of_some_program_does_not_open_flushed_masters_to_others() {
    for modest_first in [true, false] {
        let shared = Shared::start();
        let (usual, modest) = (shared.program(usual).await, shared.program(modest).await);
        let guard =
            usual.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE)).acquire().await.unwrap();
        let lost = shared.flush();
        let (first, next) = if modest_first { (&modest, &usual) } else { (&usual, &modest) };
        waits_for(D, lost, first, next).await;
        assert!(!guard.is_held(), "two hold it");
    }
}

#[tokio::test(start_paused = true)]
async fn small_cap_of_some_program_does_not_have_restarted_masters_vote_for_it() {
    let shared = Shared::start();
    let (usual, modest) = (shared.program(usual).await, shared.program(modest).await);
    let guard = usual.red_lock("x").with_lease(Lease::Fixed(MAX_LEASE)).acquire().await.unwrap();
    let lost = shared.restart_empty();
    // Until the loss of the connections is noticed.
    tokio::time::sleep(Duration::from_millis(100)).await;
    waits_for(D, lost, &modest, &usual).await;
    assert!(!guard.is_held(), "two hold it");
}

/// Whichever comes first, asks first and looks first.
#[tokio::test(start_paused = true)]
async fn flushed_masters_are_waited_for_as_long_as_the_most_careful_program_does() {
    type Settings = fn(ClientBuilder) -> ClientBuilder;
    let second = Duration::from_secs;
    let hour: Settings = |settings| settings.max_lease(Duration::from_secs(3_600));
    let lagging: Settings = |settings| settings.failover_lag(Duration::from_secs(20));
    let skewed: Settings = |settings| settings.clock_skew(Duration::from_secs(15));
    let careful = [(hour, second(3_642)), (lagging, D + second(20)), (skewed, D + second(10))];
    for (careful, wait) in careful {
        for (careful_comes_first, careful_looks_first) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let shared = Shared::start();
            let (careful, other) = if careful_comes_first {
                let careful = shared.program(careful).await;
                (careful, shared.program(usual).await)
            } else {
                let other = shared.program(usual).await;
                (shared.program(careful).await, other)
            };
            // A client that knew the mark of before is told of the new one, at the latest when it
            // asks.
            for masters in [&other, &careful] {
                masters.red_lock("z").acquire().await.unwrap().release().await.unwrap();
            }
            let lost = shared.flush();
            let (first, next) =
                if careful_looks_first { (&careful, &other) } else { (&other, &careful) };
            waits_for(wait, lost, first, next).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn lease_of_an_hour_is_believed_by_one_alone_when_its_masters_are_flushed() {
    let hour = Duration::from_secs(3_600);
    let shared = Shared::start();
    let other = shared.program(usual).await;
    let long = shared.program(|settings| settings.max_lease(hour)).await;
    let guard = long.red_lock("x").with_lease(Lease::Fixed(hour)).acquire().await.unwrap();
    other.red_lock("z").acquire().await.unwrap().release().await.unwrap();
    shared.flush();
    let granted = other.red_lock("x").acquire().await.unwrap();
    assert!(!guard.is_held(), "two hold it");
    granted.release().await.unwrap();
}

/// It has seen no mark of theirs, and none is left.
#[tokio::test(start_paused = true)]
async fn newcomer_to_flushed_masters_waits_as_long_as_the_most_careful_program_before() {
    for lease in [Duration::from_secs(70), Duration::from_secs(3_600)] {
        let shared = Shared::start();
        shared.program(usual).await;
        let long = shared.program(|settings| settings.max_lease(lease)).await;
        let lock = long.red_lock("x").with_lease(Lease::Fixed(lease));
        let guard = lock.acquire().await.unwrap();
        let lost = shared.flush();
        waits_for(lease, lost, &shared.newcomer(usual), &shared.newcomer(modest)).await;
        assert!(!guard.is_held(), "two hold it");
    }
}

/// What its first acquire has to write is not left out because a look came before.
#[tokio::test(start_paused = true)]
async fn others_wait_for_a_program_that_asked_first_how_its_masters_are() {
    let lease = Duration::from_secs(3_600);
    let shared = Shared::start();
    shared.program(usual).await;
    let long = shared.newcomer(|settings| settings.max_lease(lease));
    for client in long.clients() {
        assert!(client.health().await.unwrap().iter().all(|server| server.vote.is_ok()));
    }
    let lock = long.red_lock("x").with_lease(Lease::Fixed(lease));
    let guard = lock.acquire().await.unwrap();
    let lost = shared.flush();
    waits_for(lease, lost, &shared.newcomer(usual), &shared.newcomer(modest)).await;
    assert!(!guard.is_held(), "two hold it");
}

/// The data outlived the restart, and tells of the others.
#[tokio::test(start_paused = true)]
async fn newcomer_to_restarted_masters_waits_as_long_as_their_old_marks_tell() {
    let shared = Shared::start();
    let lag = Duration::from_secs(20);
    shared.program(|settings| settings.failover_lag(lag)).await;
    shared.servers.iter().for_each(Server::restart);
    let newcomer = shared.newcomer(usual);
    let restarted = Instant::now();
    newcomer.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    let waited = restarted.elapsed();
    assert!(waited >= D + lag && waited < D + lag + SLACK, "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn blessing_by_force_makes_the_wait_as_short_as_that_of_its_client() {
    let shared = Shared::start();
    let usual_one = shared.program(usual).await;
    shared.program(|settings| settings.failover_lag(Duration::from_secs(20))).await;
    usual_one.red_lock("z").acquire().await.unwrap().release().await.unwrap();
    usual_one.bless_by_force().await.unwrap();
    // The data outlives it. (Scripts outlive what else may happen to the data, and those cannot be taken back.)
    shared.servers.iter().for_each(Server::restart);
    let newcomer = shared.newcomer(usual);
    let restarted = Instant::now();
    newcomer.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    let waited = restarted.elapsed();
    assert!(waited >= D && waited < D + SLACK, "{waited:?}");
}

/// Both have marks of this run, each of its own.
#[tokio::test]
async fn database_that_was_swapped_with_another_does_not_grant_what_is_held() {
    let servers = Cluster::start(3);
    let of = |db: usize| {
        let url = move |server: &RedisServer| match server.url() {
            url if url.contains('?') => format!("{url}&db={db}"),
            url if url.starts_with("unix:") => format!("{url}?db={db}"),
            url => format!("{url}/{db}"),
        };
        fleet::masters(servers.iter().map(|server| wary(client(&url(server)))).collect::<Vec<_>>())
    };
    let (here, there) = (of(0).await, of(1).await);
    for masters in [&here, &there] {
        masters.bless_by_force().await.unwrap();
        masters.multi_lock("z").acquire().await.unwrap().release().await.unwrap();
    }
    let guard = here.multi_lock("x").with_lease(Lease::Fixed(MAX_LEASE)).acquire().await.unwrap();
    servers.iter().for_each(|server| drop(server.cli(&["SWAPDB", "0", "1"])));
    let newcomer = of(0).await;
    let error = newcomer.red_lock("x").try_acquire().await.unwrap_err();
    assert!(counts_in(&error) > D - HANG, "{error}");
    assert!(guard.is_held(), "it believes");
    drop(guard);
}

#[tokio::test(start_paused = true)]
async fn only_the_callers_word_for_all_makes_the_wait_shorter() {
    let shared = Shared::start();
    let brief = |settings: ClientBuilder| {
        settings.fleet_max_lease(Duration::from_secs(2)).clock_skew(Duration::from_millis(10))
    };
    let (first, next) = (shared.program(brief).await, shared.program(brief).await);
    let lost = shared.flush();
    waits_for(Duration::from_millis(3_030), lost, &first, &next).await;
}
