//! What a hold may believe: deadlines, re-entries, ends.

use std::time::{Duration, Instant};

use futures::future::join_all;
use palisade::{
    AcquireError, Client, Lease, Lock, LostCause, Masters, MultiLock, Owner, ReleaseError,
    Released, embedded::Server,
};

use testkit::RedisServer;

use crate::{
    outside::ask,
    support::{self, HANG, LONG_LEASE, ms},
};

/// A client of a server in real time, whose limits no busy machine exceeds.
fn patient(server: &Server) -> Client {
    let settings = server.client_builder().max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE);
    settings.node_timeout(HANG).build().unwrap()
}

/// The last guard leaves while the count that another one caused is being written.
#[test]
fn a_last_guard_is_released_cleanly_however_close_another_one_left() {
    let client = patient(&Server::start().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        for round in 0..2000 {
            let guard = client.lock("x").acquire().await.unwrap();
            drop(guard.reenter().unwrap());
            assert_eq!(guard.release().await.unwrap(), Released::Freed, "{round}");
        }
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_owner_does_not_enter_a_hold_that_its_other_task_is_releasing() {
    let client = patient(&Server::start().unwrap());
    let owner = Owner::new();
    let work = async |client: Client, owner: Owner| {
        for round in 0..2000 {
            let guard = client.lock("x").acquire_as(&owner).await.unwrap();
            assert!(guard.is_held(), "{round}");
            guard.release().await.unwrap();
        }
    };
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let (client, owner) = (client.clone(), owner.clone());
            tokio::spawn(async move { work(client, owner).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_grant_vouches_for_the_lease_it_was_asked_for_and_not_for_that_of_a_reentry() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let owner = Owner::new();
    let lock = masters.red_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
    tokio::time::sleep(ms(100)).await;
    servers[2].set_delay(ms(80));
    let short = lock.clone().with_lease(Lease::WatchdogOf(ms(1000)));
    let guard = short.acquire_as(&owner).await.unwrap();
    // The first server hears nothing of the longer lease, the third only of the short one.
    servers[0].freeze();
    let _longer = lock.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(ms(90)).await;
    servers[2].freeze();
    tokio::time::sleep(ms(1200)).await;
    assert!(!guard.is_held(), "two of three keys are over, and yet {:?}", guard.remaining());
}

#[tokio::test(start_paused = true)]
async fn a_fixed_hold_that_is_reentered_with_a_watchdog_lease_is_renewed_although_a_count_is_lost()
{
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    let owner = Owner::new();
    let fixed = lock.clone().with_lease(Lease::Fixed(Duration::from_secs(10)));
    let guard = fixed.acquire_as(&owner).await.unwrap();
    server.freeze();
    let _again = lock.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.thaw();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(guard.is_held());
}

#[tokio::test(start_paused = true)]
async fn a_longer_fixed_lease_of_a_reentry_is_written_although_a_count_is_lost() {
    let server = Server::start_here();
    let lock = server.client().unwrap().lock("x");
    let owner = Owner::new();
    let short = lock.clone().with_lease(Lease::Fixed(Duration::from_secs(10)));
    let long = lock.clone().with_lease(Lease::Fixed(Duration::from_secs(40)));
    let guard = short.acquire_as(&owner).await.unwrap();
    server.freeze();
    let _again = long.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    server.thaw();
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(guard.is_held());
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(!guard.is_held(), "it is extended once, not renewed");
}

#[tokio::test(start_paused = true)]
async fn asking_after_a_key_without_a_ttl_does_not_delete_it() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let lock = client.lock("x").with_lease(Lease::Fixed(Duration::from_secs(20)));
    let guard = lock.acquire().await.unwrap();
    let waiting = {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let () = ask(&server, &["PERSIST", "x"]).await;
    let () = ask(&server, &["PUBLISH", "redisson_lock__channel:{x}", "0"]).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let _again = guard.reenter().unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(guard.is_held());
    assert!(!waiting.is_finished(), "two holders");
    let count: Option<u32> = ask(&server, &["HGET", "x", guard.holder_id()]).await;
    assert_eq!(count, Some(2));
    waiting.abort();
}

#[tokio::test(start_paused = true)]
async fn guards_learn_that_it_was_a_shutdown() {
    let client = Server::start_here().client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    client.shutdown(Duration::from_secs(1)).await.unwrap();
    assert_eq!(guard.lost().await, LostCause::Shutdown);
    let released = guard.release().await;
    let Err(ReleaseError::Lost(lost)) = released else { panic!("{released:?}") };
    assert_eq!(lost.cause, LostCause::Shutdown);
}

/// The older hold has not learnt of its end when the lock is granted again.
#[tokio::test(start_paused = true)]
async fn shutdown_ends_a_hold_that_was_forced_open_and_followed_by_another() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let lock = client.lock("x");
    let first = lock.acquire().await.unwrap();
    lock.force_release().await.unwrap();
    let second = lock.acquire().await.unwrap();
    // The question whether the first is still there gets no answer until then.
    server.freeze();
    let shutdown = client.shutdown(Duration::from_secs(1)).await;
    assert!(shutdown.is_err(), "a frozen server confirms nothing");
    for guard in [first, second] {
        assert_eq!(guard.ensure_valid().unwrap_err().cause, LostCause::Shutdown);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_granted_during_a_shutdown_is_taken_back_before_it_returns() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    server.set_delay(ms(100));
    let lock = client.lock("x");
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    tokio::time::sleep(ms(10)).await;
    client.shutdown(Duration::from_secs(5)).await.unwrap();
    let keys: Vec<String> = ask(&server, &["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
    let acquired = acquiring.await.unwrap();
    assert!(matches!(acquired, Err(AcquireError::Shutdown)), "{acquired:?}");
}

#[tokio::test(start_paused = true)]
async fn those_who_wait_learn_of_a_shutdown_and_the_members_they_kept_are_free() {
    let server = Server::start_here();
    let (client, other) = (server.client().unwrap(), server.client().unwrap());
    let _holder = other.lock("y").acquire().await.unwrap();
    let both = MultiLock::new([client.lock("x"), client.lock("y")]).unwrap();
    let waiting = tokio::spawn(async move { both.acquire().await });
    tokio::time::sleep(ms(200)).await;
    assert!(other.lock("x").is_locked().await.unwrap(), "it is kept");
    let begun = tokio::time::Instant::now();
    client.shutdown(Duration::from_secs(5)).await.unwrap();
    assert!(begun.elapsed() < ms(100), "{:?}", begun.elapsed());
    assert!(!other.lock("x").is_locked().await.unwrap());
    let acquired = waiting.await.unwrap();
    assert!(matches!(acquired, Err(AcquireError::Shutdown)), "{acquired:?}");
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_one_composite_does_not_enter_another_whose_names_read_alike() {
    let client = Server::start_here().client().unwrap();
    let owner = Owner::new();
    let tricky = format!("x\n{} y", client.node_id());
    let one = MultiLock::new([client.lock(&tricky)]).unwrap();
    let _guard = one.acquire_as(&owner).await.unwrap();
    let both = MultiLock::new([client.lock("x"), client.lock("y")]).unwrap();
    let _both = both.acquire_as(&owner).await.unwrap();
    assert!(client.lock("x").is_locked().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_release_that_comes_too_late_for_a_majority_says_that_the_lock_was_lost() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let third = masters.clients()[2].lock("x").acquire().await.unwrap();
    let guard = masters.red_lock("x").acquire().await.unwrap();
    servers[0].flush();
    let released = guard.release().await;
    assert!(matches!(released, Err(ReleaseError::Lost(_))), "{released:?}");
    third.release().await.unwrap();
}

#[test]
fn a_release_outside_of_a_runtime_does_not_panic_and_reaches_the_server() {
    let server = Server::start().unwrap();
    let client = server.client().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let guard = runtime.block_on(client.lock("x").acquire()).unwrap();
    let released = futures::executor::block_on(guard.release());
    assert!(matches!(released, Err(ReleaseError::Unconfirmed { .. })), "{released:?}");
    let again = runtime.block_on(client.lock("x").try_acquire_for(Duration::from_secs(3)));
    runtime.block_on(again.unwrap().unwrap().release()).unwrap();
}

/// If each waited in vain for the socket that it was acquired on, 16 at a time, they would take a hundred
/// times the node's time.
#[test]
fn guards_that_are_dropped_while_their_runtime_stands_still_are_released_elsewhere() {
    let server = RedisServer::start();
    let limit = ms(200);
    let client = support::patient(&server).node_timeout(limit).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let locks: Vec<_> = (0..1600).map(|number| client.lock(format!("x{number}"))).collect();
    // So few at a time that none waits for the node's time.
    let acquired = |some: &[Lock]| runtime.block_on(join_all(some.iter().map(Lock::acquire)));
    let guards: Vec<_> = locks.chunks(50).flat_map(acquired).collect();
    assert!(guards.iter().all(Result::is_ok));
    let dropped = Instant::now();
    drop(guards);
    while !server.keys().is_empty() {
        assert!(dropped.elapsed() < limit * 50);
        std::thread::sleep(ms(5));
    }
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_is_dropped_right_before_its_client_is_released_all_the_same() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    drop(guard);
    drop(client);
    tokio::time::sleep(ms(100)).await;
    let keys: Vec<String> = ask(&server, &["KEYS", "*"]).await;
    assert_eq!(keys, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_hold_past_its_max_hold_still_learns_that_it_was_forced_open() {
    let server = Server::start_here();
    let client = server.client_builder().max_hold(Duration::from_secs(1)).build().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let waiting = {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await })
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    lock.force_release().await.unwrap();
    tokio::time::sleep(ms(100)).await;
    let _next = waiting.await.unwrap().unwrap();
    assert!(!guard.is_held(), "two believe that they hold it");
}

#[tokio::test(start_paused = true)]
async fn no_duration_is_too_long_to_be_asked_for() {
    let client = Server::start_here().client().unwrap();
    let lock = client.lock("x");
    let guard = lock.try_acquire_for(Duration::MAX).await.unwrap().unwrap();
    guard.expiring(Duration::MAX).await;
    let limit = tokio::time::timeout(ms(50), lock.try_acquire_for(Duration::MAX)).await;
    assert!(limit.is_err());
    guard.release().await.unwrap();
    client.shutdown(Duration::MAX).await.unwrap();
}

// proves: lost-at-deadline
/// The regression would be to count dead members, or to take the smallest or the largest of all.
#[tokio::test(start_paused = true)]
async fn deadline_is_the_need_th_largest_with_dead_members() {
    let servers: Vec<Server> = (0..5).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    // One is dead from the start.
    servers[4].kill();
    let lock = masters.red_lock("x").with_lease(Lease::WatchdogOf(Duration::from_secs(30)));
    let guard = lock.acquire().await.unwrap();
    let begun = tokio::time::Instant::now();
    let acquired = guard.deadline();
    // Another dies after the first renewals, a third after the second: its last word counts.
    tokio::time::sleep(Duration::from_secs(12)).await;
    servers[3].kill();
    assert!(guard.deadline() > acquired);
    tokio::time::sleep(Duration::from_secs(10)).await;
    servers[2].kill();
    let third_largest = guard.deadline();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(guard.votes(), 4, "the fourth's word still stands, and the third's");
    assert_eq!(guard.deadline(), third_largest, "two that are renewed do not move it");
    assert!(guard.lost().await.is_expiry());
    let held = begun.elapsed().as_secs_f64();
    assert!((46.0..=50.0).contains(&held), "{held}");
}

/// Of a server that is down: its key is there when it comes back, unless its lease is over.
#[tokio::test(start_paused = true)]
async fn shutdown_does_not_call_a_release_done_before_the_lease_is_over() {
    for lease in (1_000..3_000).step_by(250) {
        let server = Server::start_here();
        let client = server.client().unwrap();
        let lock = client.lock("x").with_lease(Lease::Fixed(ms(lease)));
        let guard = lock.acquire().await.unwrap();
        let acquired = tokio::time::Instant::now();
        server.kill();
        drop(guard);
        client.shutdown(HANG).await.unwrap();
        assert!(acquired.elapsed() >= ms(lease), "{:?} of {lease} ms", acquired.elapsed());
    }
}
