//! A release reaches its members one after the other, and each announces it at once.

use std::time::Duration;

use futures::future::join_all;
use palisade::{LockGuard, Masters, embedded::Server};
use tokio::time::{Instant, sleep};

use super::Line;
use crate::fleet::{Composite, Rule};

const LATE: Duration = Duration::from_millis(150);

/// A process whose words to all members but `near` are late.
fn slow(servers: &[Server], near: usize) -> Masters {
    let line = Line::new();
    line.delay(LATE, Duration::ZERO);
    let clients = servers.iter().enumerate().map(|(i, server)| {
        let line = if i == near { &Line::new() } else { &line };
        line.client(server).build().unwrap()
    });
    Masters::new(clients).unwrap()
}

fn quick(servers: &[Server]) -> Masters {
    Masters::new(servers.iter().map(|s| Line::new().client(s).build().unwrap())).unwrap()
}

fn fleet(n: usize) -> Vec<Server> {
    (0..n).map(|_| Server::start_here()).collect()
}

/// Woken by the first, the waiter finds the other keys still there. The hint must not be all that
/// it gets: it would sleep until it looks by itself, seconds later.
#[tokio::test(start_paused = true)]
async fn waiter_woken_by_the_first_of_several_announcements_is_not_lost() {
    for (n, rule) in [(3, Rule::Majority), (5, Rule::Majority), (3, Rule::All)] {
        let servers = fleet(n);
        let holder = rule.lock(&slow(&servers, 0), "x");
        let waiter = rule.lock(&quick(&servers), "x");
        for _ in 0..20 {
            let guard = holder.acquire().await.unwrap();
            sleep(LATE * 2).await;
            let waits = async {
                let guard = waiter.acquire().await.unwrap();
                (guard, Instant::now())
            };
            let releases = async {
                sleep(Duration::from_secs(2)).await;
                let begun = Instant::now();
                guard.release().await.unwrap();
                begun
            };
            let ((next, granted), begun) = tokio::join!(waits, releases);
            let took = granted - begun;
            assert!(took >= LATE && took < LATE * 2, "{n} {rule:?}: {took:?}");
            next.release().await.unwrap();
        }
    }
}

/// Each is near another member, so every release goes from member to member, and wakes waiters
/// before it has let go everywhere.
#[tokio::test(start_paused = true)]
async fn waiters_do_not_starve_while_every_release_goes_from_member_to_member() {
    for n in [3, 5] {
        let wins = three_who_are_near_different_members(Rule::Majority, n).await;
        assert!(wins.iter().all(|wins| *wins >= 250), "{n}: {wins:?}");
    }
}

/// The same for all of them: a refusal by a near member must not throw away what the first members,
/// in the common order, would have granted. Else a client that is far from those is never granted
/// all.
#[tokio::test(start_paused = true)]
async fn rounds_that_a_near_member_refuses_still_keep_what_the_first_members_grant() {
    let wins = three_who_are_near_different_members(Rule::All, 3).await;
    assert!(wins.iter().all(|wins| *wins >= 250), "{wins:?}");
}

/// How often each of them is granted in ten minutes.
async fn three_who_are_near_different_members(rule: Rule, n: usize) -> Vec<u32> {
    let servers = fleet(n);
    let end = Instant::now() + Duration::from_secs(600);
    let all = [0, 1, 2].map(|near| rule.lock(&slow(&servers, near), "x"));
    join_all(all.iter().map(|lock| take_turns(lock, end))).await
}

async fn take_turns(lock: &Composite, end: Instant) -> u32 {
    let mut wins = 0;
    while Instant::now() < end {
        let guard: LockGuard = lock.acquire().await.unwrap();
        wins += 1;
        sleep(Duration::from_millis(50)).await;
        guard.release().await.unwrap();
        // A client that came again at once would be there before all that are farther away.
        sleep(LATE * 2).await;
    }
    wins
}
