//! More than one guard on one hold.

use std::time::Duration;

use palisade::{Lease, Lock, LockGuard, Owner, embedded::Server};
use tokio::time::{Instant, sleep};

use super::{count_on, ttl_on};

// proves: ttl-not-shortened
/// The inner lease is the shorter one, of every sort: nothing of the outer hold ends with it.
#[tokio::test(start_paused = true)]
async fn inner_reentry_with_a_shorter_lease_shortens_nothing() {
    let fixed = |secs| Lease::Fixed(Duration::from_secs(secs));
    let renewed = |secs| Lease::WatchdogOf(Duration::from_secs(secs));
    for (outer, inner, until) in [
        (fixed(40), fixed(1), 38),
        (fixed(40), renewed(1), 300),
        (renewed(40), fixed(1), 300),
        (renewed(40), renewed(1), 300),
    ] {
        let server = Server::start_here();
        let (lock, owner) = (server.client().unwrap().lock("x"), Owner::new());
        let begun = Instant::now();
        let guard = lock.clone().with_lease(outer).acquire_as(&owner).await.unwrap();
        let (deadline, ttl) = (guard.deadline(), ttl_on(&server, "x").await);
        let again = lock.clone().with_lease(inner).acquire_as(&owner).await.unwrap();
        sleep(Duration::from_millis(100)).await;
        assert!(guard.deadline() >= deadline, "{outer:?} {inner:?}");
        assert!(ttl_on(&server, "x").await >= ttl - 110, "{outer:?} {inner:?}");
        sleep(Duration::from_secs(2)).await;
        assert!(again.is_held(), "the hold is one, {outer:?} {inner:?}");
        again.release().await.unwrap();
        while begun.elapsed() < Duration::from_secs(until) {
            guard.ensure_valid().unwrap();
            assert!(lock.try_acquire().await.unwrap().is_none(), "{outer:?} {inner:?}");
            sleep(Duration::from_secs(1)).await;
        }
        // Renewed for the lease of the longest, not for that of the last.
        let is_renewed = until > 40;
        assert_eq!(ttl_on(&server, "x").await > 20_000, is_renewed, "{outer:?} {inner:?}");
    }
}

/// What two tasks and the one that acquired first do, each in its own order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Enter(usize),
    Leave(usize),
    FirstLeaves,
}

/// Every order in which each task enters before it leaves.
fn orders() -> Vec<Vec<Step>> {
    let mut orders = vec![vec![]];
    let steps = [Step::Enter(0), Step::Leave(0), Step::Enter(1), Step::Leave(1), Step::FirstLeaves];
    for _ in 0..steps.len() {
        let grown = orders.iter().flat_map(|order: &Vec<Step>| {
            let next = steps.iter().filter(|step| match step {
                Step::Leave(task) if !order.contains(&Step::Enter(*task)) => false,
                step => !order.contains(step),
            });
            next.map(|step| [order.as_slice(), &[*step]].concat()).collect::<Vec<_>>()
        });
        orders = grown.collect();
    }
    orders
}

#[tokio::test(start_paused = true)]
async fn two_tasks_reenter_and_leave_one_hold_in_every_order() {
    let orders = orders();
    assert_eq!(orders.len(), 30);
    for order in &orders {
        // Counts of one step are still under way when the next comes, or known to the server.
        for pause in [0, 1, 50].map(Duration::from_millis) {
            for delay in [0, 20].map(Duration::from_millis) {
                play(order, pause, delay).await;
            }
        }
    }
}

/// While any task is inside, all guards are valid and a stranger is refused; when none is, the lock
/// is free.
async fn play(order: &[Step], pause: Duration, delay: Duration) {
    let server = Server::start_here();
    let stranger = server.client().unwrap().lock("x");
    let (lock, owner) = (server.client().unwrap().lock("x"), Owner::new());
    let mut first = Some(lock.acquire_as(&owner).await.unwrap());
    server.set_delay(delay);
    let mut inside: [Option<LockGuard>; 2] = [None, None];
    for step in order {
        match *step {
            Step::Enter(task) => inside[task] = Some(enter(&lock, &owner).await),
            Step::Leave(task) => leave(inside[task].take()).await,
            Step::FirstLeaves => leave(first.take()).await,
        }
        let guards: Vec<_> = inside.iter().chain([&first]).flatten().collect();
        for guard in &guards {
            guard.ensure_valid().unwrap();
        }
        let refused = stranger.try_acquire().await.unwrap().is_none();
        assert_eq!(refused, !guards.is_empty(), "{order:?} at {step:?}");
        sleep(pause).await;
    }
    sleep(Duration::from_secs(1)).await;
    assert_eq!(count_on(&server, "x").await, None, "{order:?}");
}

/// In a task of its own, under any owner.
async fn enter(lock: &Lock, owner: &Owner) -> LockGuard {
    let (lock, owner) = (lock.clone(), owner.clone());
    tokio::spawn(async move { lock.acquire_as(&owner).await.unwrap() }).await.unwrap()
}

async fn leave(guard: Option<LockGuard>) {
    let guard = guard.unwrap();
    tokio::spawn(async move { guard.release().await.unwrap() }).await.unwrap();
}

/// The count follows the guards, in whatever order they come and go.
#[tokio::test(start_paused = true)]
async fn the_count_is_that_of_the_guards_once_all_is_quiet() {
    let server = Server::start_here();
    let (lock, owner) = (server.client().unwrap().lock("x"), Owner::new());
    server.set_delay(Duration::from_millis(20));
    let mut guards = vec![lock.acquire_as(&owner).await.unwrap()];
    for target in [3, 1, 4, 2, 5, 1_usize] {
        while guards.len() < target {
            guards.push(enter(&lock, &owner).await);
        }
        // The oldest first: the one that acquired is no better than the others.
        for guard in guards.drain(..guards.len() - target) {
            drop(guard);
        }
        sleep(Duration::from_millis(200)).await;
        assert_eq!(count_on(&server, "x").await, Some(target.to_string()));
    }
}
