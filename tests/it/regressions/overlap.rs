//! Overlapping `MultiLock`s for an hour, while others want single members.
//!
//! Ordered acquisition knows no deadlock, provided that all use one order. A prefix that is kept
//! makes others wait, provided for no longer than a few seconds.

use std::time::Duration;

use futures::FutureExt;
use palisade::{AcquireError, Lease, Lock, LockGuard, MultiLock, embedded::Server};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::time::{Instant, sleep, sleep_until};

use super::{Line, holder_on};
use crate::outside::ask;

const HOUR: Duration = Duration::from_secs(3600);
/// Another holds the last member for this long, this often.
const SIEGE: Duration = Duration::from_secs(90);
const SIEGES_EVERY: Duration = Duration::from_secs(600);

/// Which contender wants what.
#[derive(Debug)]
enum Wanted {
    One(Lock),
    Several(MultiLock),
}

impl Wanted {
    async fn acquire(&self) -> Result<LockGuard, AcquireError> {
        match self {
            Self::One(lock) => lock.acquire().await,
            Self::Several(lock) => lock.acquire().await,
        }
    }
}

/// What became of a contender in the hour.
#[derive(Debug, Default)]
struct Story {
    grants: u32,
    longest_wait: Duration,
    /// The same for waits that no siege fell into.
    longest_in_peace: Duration,
}

#[tokio::test(start_paused = true)]
async fn overlapping_multi_locks_get_their_share_for_an_hour_under_traffic_on_one_member() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let start = Instant::now();
    // Named in opposite orders: to take them as they are named would be a deadlock.
    let (all, two) = (several(&servers, &[0, 1, 2]), several(&servers, &[2, 1]));
    let traffic = one(&servers, 1);
    let (all, two, traffic, ()) = tokio::join!(
        contend(all, start, 1),
        contend(two, start, 2),
        contend(traffic, start, 3),
        besiege(&servers, start),
    );
    println!("{all:?}\n{two:?}\n{traffic:?}");
    // With one order neither ever waits for the other's prefix; with two they do, for seconds. The order is that of
    // the servers' runs: by one of the six the first has 1,350 and the second 860, by the others both have 1,020.
    assert!(all.grants >= 950 && two.grants >= 800, "{all:?} {two:?}");
    // What is kept is in its way, and it has more than either has all the same.
    assert!(traffic.grants >= 1_300, "{traffic:?}");
    let fair = Duration::from_secs(60);
    assert!(all.longest_in_peace < fair && two.longest_in_peace < fair, "{all:?} {two:?}");
    // A siege elsewhere does not concern it, but for a prefix that is kept a while.
    assert!(traffic.longest_wait < Duration::from_secs(8), "{traffic:?}");
}

/// Each of these is a process of its own: none stands in one queue with it.
fn several(servers: &[Server], members: &[usize]) -> Wanted {
    let lock = |i: &usize| Line::new().client(&servers[*i]).build().unwrap().lock("x");
    Wanted::Several(MultiLock::new(members.iter().map(lock)).unwrap())
}

fn one(servers: &[Server], member: usize) -> Wanted {
    Wanted::One(Line::new().client(&servers[member]).build().unwrap().lock("x"))
}

/// Takes what is wanted again and again, each time for a while.
async fn contend(wanted: Wanted, start: Instant, seed: u64) -> Story {
    let mut random = StdRng::seed_from_u64(seed);
    let mut story = Story::default();
    loop {
        let asked = Instant::now();
        // What still waits at the end has waited until then.
        let acquired = tokio::time::timeout_at(start + HOUR, wanted.acquire()).boxed_local().await;
        let wait = asked.elapsed();
        story.longest_wait = story.longest_wait.max(wait);
        if !meets_siege(asked - start, wait) {
            story.longest_in_peace = story.longest_in_peace.max(wait);
        }
        let Ok(guard) = acquired else { return story };
        let guard = guard.unwrap();
        story.grants += 1;
        sleep(Duration::from_millis(random.random_range(200..1600))).await;
        guard.ensure_valid().unwrap();
        guard.release().await.unwrap();
        sleep(Duration::from_millis(random.random_range(0..1600))).await;
    }
}

/// Holds the last member for long, now and then.
async fn besiege(servers: &[Server], start: Instant) {
    let lock = one(servers, 2);
    let mut next = start + SIEGES_EVERY;
    while next < start + HOUR {
        sleep_until(next).await;
        let guard = lock.acquire().await.unwrap();
        sleep(SIEGE).await;
        guard.release().await.unwrap();
        next += SIEGES_EVERY;
    }
}

/// Whether a wait that began `since` the start shares time with a siege, or with getting it.
fn meets_siege(since: Duration, wait: Duration) -> bool {
    let margin = Duration::from_secs(10);
    (1..=5).any(|i| {
        let begins = SIEGES_EVERY * i;
        since + wait >= begins && since <= begins + SIEGE + margin
    })
}

/// A wake-up at the member that is waited for sends nothing to the others: their grants would be in
/// the way of their next holders, only to be given back.
#[tokio::test(start_paused = true)]
async fn woken_by_one_member_while_it_is_held_nobody_else_is_asked() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    for held in 0..3 {
        let holder = one(&servers, held);
        let guard = holder.acquire().await.unwrap();
        let Wanted::Several(waiter) = several(&servers, &[0, 1, 2]) else { unreachable!() };
        let waiter = tokio::spawn(async move { waiter.acquire().await.unwrap() });
        // The round that was lost, the one after the subscription, and what they gave back.
        sleep(Duration::from_millis(500)).await;
        let before = scripts_run(&servers).await;
        let mut heard = 0;
        while heard < 10 {
            let channel = "redisson_lock__channel:{x}";
            // While it waits for its turn it hears of no release.
            heard += ask::<i64>(&servers[held], &["PUBLISH", channel, "0"]).await;
            sleep(Duration::from_millis(20)).await;
        }
        for (member, (after, before)) in scripts_run(&servers).await.iter().zip(&before).enumerate()
        {
            let asked = after - before;
            match member == held {
                // Where the first member is held nothing is kept, and the waiter comes to ask for its turn as well.
                true => assert!((10..=14).contains(&asked), "{asked} times for 10 messages"),
                false => assert_eq!(asked, 0, "{member} while {held} is held"),
            }
        }
        guard.release().await.unwrap();
        waiter.await.unwrap().release().await.unwrap();
    }
}

/// What is kept is not renewed: it must not just run out, unnoticed.
#[tokio::test(start_paused = true)]
async fn what_is_kept_is_given_back_within_half_a_lease() {
    const LEASE: Duration = Duration::from_secs(1);
    let servers: Vec<Server> = (0..2).map(|_| Server::start_here()).collect();
    let mut longest = Duration::ZERO;
    for held in 0..2 {
        let guard = one(&servers, held).acquire().await.unwrap();
        let Wanted::Several(waiter) = several(&servers, &[0, 1]) else { unreachable!() };
        let waiter = waiter.with_lease(Lease::WatchdogOf(LEASE));
        let waiter = tokio::spawn(async move { waiter.acquire().await.unwrap() });
        let (start, mut free) = (Instant::now(), Instant::now());
        while start.elapsed() < LEASE * 4 {
            sleep(Duration::from_millis(10)).await;
            match holder_on(&servers[1 - held], "x").await {
                Some(_) => longest = longest.max(free.elapsed()),
                None => free = Instant::now(),
            }
        }
        guard.release().await.unwrap();
        waiter.await.unwrap().release().await.unwrap();
    }
    // Of two one is the first, and is kept.
    let half = LEASE / 2;
    assert!(longest > half * 9 / 10 && longest < half * 11 / 10, "{longest:?}");
}

/// How many scripts each of them has run.
pub(crate) async fn scripts_run(servers: &[Server]) -> Vec<u64> {
    let mut all = Vec::new();
    for server in servers {
        let stats: String = ask(server, &["INFO", "commandstats"]).await;
        let calls = stats.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls="));
        all.push(calls.unwrap().split(',').next().unwrap().parse().unwrap());
    }
    all
}
