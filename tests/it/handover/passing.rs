//! What passes, which waiter gets it, and what it costs.

use palisade::{
    AnyLock, Client, FencedGuard, Lease, Lock, LockGuard, Masters, OnOutage, Owner, Released,
    embedded::Server, settings::LocalHandover,
};

use super::{is_free, parked, patient, waiter};
use crate::support::{fixed, ms, watchdog};

fn server() -> (Server, Client) {
    let server = Server::start_here();
    let client = server.client().unwrap();
    (server, client)
}

#[tokio::test(start_paused = true)]
async fn lock_passes_down_the_line_and_no_server_hears_of_it() {
    let server = Server::start_here();
    let client = patient(&server);
    let lock = client.lock("x");
    let mut guard = lock.acquire().await.unwrap();
    let holder = guard.holder_id().to_owned();
    let mut line = vec![parked(&lock).await];
    for _ in 1..10 {
        line.push(waiter(&lock).await);
    }
    let before = server.commands_processed();
    for waiter in line {
        assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
        guard = waiter.await.unwrap();
        assert_eq!(guard.holder_id(), holder);
        assert!(guard.is_held() && !guard.cancellation_token().is_cancelled());
    }
    assert_eq!(server.commands_processed(), before);
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    assert!(is_free(&client, "x").await);
}

#[tokio::test(start_paused = true)]
async fn dropped_guard_passes_the_lock_on_too() {
    let (_server, client) = server();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let (holder, waiting) = (guard.holder_id().to_owned(), waiter(&lock).await);
    drop(guard);
    assert_eq!(waiting.await.unwrap().holder_id(), holder);
}

#[tokio::test(start_paused = true)]
async fn work_of_the_turn_before_is_stopped_and_its_guards_enter_no_more() {
    let (_server, client) = server();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let again = guard.reenter().unwrap();
    let cancelled = guard.cancellation_token();
    let waiting = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::StillHeld { guards: 1 });
    assert!(!cancelled.is_cancelled());
    again.release().await.unwrap();
    assert!(cancelled.is_cancelled());
    let next = waiting.await.unwrap();
    // Written in the background, as for every re-entry.
    tokio::time::sleep(ms(10)).await;
    assert_eq!(lock.holder().await.unwrap().unwrap().count, 1, "it has one guard");
    next.release().await.unwrap();
}

/// The holder of the lock, and its waiter; whether it may pass from one to the other.
#[tokio::test(start_paused = true)]
async fn lock_passes_only_between_leases_of_one_length_that_are_renewed() {
    let (_server, client) = server();
    let lock = client.lock("x");
    for (has, wants, passes) in [
        (Lease::Watchdog, Lease::Watchdog, true),
        (watchdog(5_000), watchdog(5_000), true),
        (watchdog(5_000), watchdog(6_000), false),
        (fixed(5_000), fixed(5_000), false),
        (fixed(5_000), watchdog(5_000), false),
        (watchdog(5_000), fixed(5_000), false),
    ] {
        let guard = lock.clone().with_lease(has).acquire().await.unwrap();
        let waiting = waiter(&lock.clone().with_lease(wants)).await;
        let released = guard.release().await.unwrap();
        assert_eq!(released == Released::PassedOn, passes, "{has:?} {wants:?}");
        waiting.await.unwrap().release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn lock_of_an_owner_passes_to_nobody_and_no_owner_takes_what_is_passed() {
    let (_server, client) = server();
    let (lock, owner) = (client.lock("x"), Owner::new());
    let guard = lock.acquire_as(&owner).await.unwrap();
    let waiting = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let guard = waiting.await.unwrap();
    let owned = tokio::spawn(async move { lock.acquire_as(&owner).await });
    tokio::time::sleep(ms(100)).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    owned.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn orphaned_lock_is_left_to_its_ttl_whoever_waits() {
    let (_server, client) = server();
    let lock = client.lock("x").with_lease(watchdog(1_000));
    let (guard, second) = {
        let guard = lock.acquire().await.unwrap();
        (guard.reenter().unwrap(), guard)
    };
    let _waiting = waiter(&lock).await;
    second.orphan();
    assert_eq!(guard.release().await.unwrap(), Released::LeftToExpire);
}

/// Renewed for eight seconds at most, each by itself, and over six later.
#[tokio::test(start_paused = true)]
async fn turn_that_was_passed_on_is_renewed_as_long_as_one_that_was_granted() {
    let server = Server::start_here();
    let (row, most) = (LocalHandover::UpTo(ms(10_000)), ms(8_000));
    let client = server.client_builder().local_handover(row).max_hold(most).build().unwrap();
    let lock = client.lock("x").with_lease(watchdog(6_000));
    let guard = lock.acquire().await.unwrap();
    let (first, next) = (parked(&lock).await, waiter(&lock).await);
    let (first, next) = (tokio::spawn(first), tokio::spawn(next));
    // A release tells that no other process waits.
    tokio::time::sleep(ms(1_000)).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let guard = first.await.unwrap().unwrap();
    tokio::time::sleep(ms(7_000)).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    let (next, begun) = (next.await.unwrap().unwrap(), tokio::time::Instant::now());
    next.lost().await;
    assert!((8..=14).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

/// It was not renewed: the next user is to find as much of it as if it had just been granted.
#[tokio::test(start_paused = true)]
async fn lock_passes_only_while_half_of_its_lease_is_left() {
    for (later, passes) in [(140, true), (160, false)] {
        let server = Server::start_here();
        let lock = patient(&server).lock("x").with_lease(watchdog(300));
        let guard = lock.acquire().await.unwrap();
        let waiting = waiter(&lock).await;
        server.freeze();
        tokio::time::sleep(ms(later)).await;
        let released = guard.release().await;
        assert_eq!(matches!(released, Ok(Released::PassedOn)), passes, "{later} {released:?}");
        drop(waiting);
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_passes_where_it_is_turned_off() {
    let server = Server::start_here();
    let client = server.client_builder().local_handover(LocalHandover::Off).build().unwrap();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let waiting = waiter(&lock).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    waiting.await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn lock_that_was_lost_does_not_pass() {
    let (server, client) = server();
    let lock = client.lock("x");
    let guard = lock.acquire().await.unwrap();
    let waiting = waiter(&lock).await;
    server.client().unwrap().lock("x").force_release().await.unwrap();
    guard.lost().await;
    let other = guard.holder_id().to_owned();
    drop(guard);
    let next = waiting.await.unwrap();
    assert_ne!(next.holder_id(), other);
    next.release().await.unwrap();
}

fn quorum(servers: &[Server]) -> Masters {
    Masters::new(servers.iter().map(patient)).unwrap()
}

/// The acquire that one of three has not answered yet passes on with the hold, and is undone with it.
#[tokio::test(start_paused = true)]
async fn hold_of_a_majority_passes_on_with_what_was_not_answered_yet() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = quorum(&servers);
    let lock = masters.red_lock("x");
    let guard = lock.acquire().await.unwrap();
    guard.release().await.unwrap();
    servers[2].freeze();
    let guard: LockGuard = lock.acquire().await.unwrap();
    let waiting = {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await.unwrap() })
    };
    tokio::time::sleep(ms(20)).await;
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    let guard = waiting.await.unwrap();
    servers[2].thaw();
    tokio::time::sleep(ms(20)).await;
    assert_eq!(guard.votes(), 3, "the third has joined");
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    // Beyond the stamp of whatever was on its way.
    tokio::time::sleep(ms(2_000)).await;
    for client in masters.clients() {
        assert!(is_free(client, "x").await);
    }
}

#[tokio::test(start_paused = true)]
async fn many_who_come_together_ask_once() {
    let (server, client) = server();
    let warm: Lock = client.lock("warm");
    let guard = warm.acquire().await.unwrap();
    guard.release().await.unwrap();
    let before = server.commands_processed();
    let lock = client.lock("x");
    let crowd = (0..100).map(async |_| {
        lock.acquire().await.unwrap().release().await.unwrap();
    });
    futures::future::join_all(crowd).await;
    client.shutdown(ms(1_000)).await.unwrap();
    let commands = server.commands_processed() - before;
    // An acquire, its look at the holder for the next one, what is listened to, a release.
    assert!(commands <= 12, "{commands}");
}

/// One round trip, for a token that is greater.
#[tokio::test(start_paused = true)]
async fn fenced_lock_passes_with_a_greater_token() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = quorum(&servers);
    let single = patient(&servers[0]).fenced_lock("x");
    let multi = masters.fenced_multi_lock("y");
    let red = masters.fenced_red_lock("z");
    passes_with_tokens(&single, &servers).await;
    passes_with_tokens(&multi, &servers).await;
    passes_with_tokens(&red, &servers).await;
}

async fn passes_with_tokens<L>(lock: &L, servers: &[Server])
where
    L: AnyLock<Guard = FencedGuard> + Clone,
{
    let mut guard = lock.acquire().await.unwrap();
    let (holder, mut token) = (guard.holder_id().to_owned(), guard.fencing_token());
    for _ in 0..3 {
        let waiting = {
            let lock = lock.clone();
            tokio::spawn(async move { lock.acquire().await.unwrap() })
        };
        tokio::time::sleep(ms(20)).await;
        let said = || servers.iter().map(Server::commands_processed).sum::<u64>();
        let before = said();
        assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
        guard = waiting.await.unwrap();
        let asked = said() - before;
        // One script of five commands on each.
        assert!(asked <= 6 * servers.len() as u64, "a token, and no more: {asked}");
        assert_eq!(guard.holder_id(), holder);
        assert!(guard.fencing_token() > token);
        token = guard.fencing_token();
    }
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let after = lock.acquire().await.unwrap();
    assert!(after.fencing_token() > token, "as for every later holder");
    after.release().await.unwrap();
}

/// Neither a plain lock takes what a fenced one leaves, nor the reverse: they have one key.
#[tokio::test(start_paused = true)]
async fn plain_and_fenced_locks_of_one_name_pass_nothing_to_each_other() {
    let client = patient(&Server::start_here());
    let (plain, fenced) = (client.lock("x"), client.fenced_lock("x"));
    let guard = plain.acquire().await.unwrap();
    let waiting = tokio::spawn(async move { fenced.acquire().await.unwrap() });
    tokio::time::sleep(ms(20)).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    let guard = waiting.await.unwrap();
    let waiting = tokio::spawn(async move { plain.acquire().await.unwrap() });
    tokio::time::sleep(ms(20)).await;
    assert_eq!(guard.release().await.unwrap(), Released::Freed);
    waiting.await.unwrap().release().await.unwrap();
}

/// A token that cannot be written is none: the lock is released, and acquired as ever.
#[tokio::test(start_paused = true)]
async fn fenced_lock_whose_token_is_not_written_does_not_pass() {
    let server = Server::start_here();
    let client = patient(&server);
    let lock = client.fenced_lock("x");
    let guard = lock.acquire().await.unwrap();
    let (holder, token) = (guard.holder_id().to_owned(), guard.fencing_token());
    let waiting = {
        let lock = lock.clone();
        tokio::spawn(async move { lock.on_outage(OnOutage::Wait).acquire().await.unwrap() })
    };
    tokio::time::sleep(ms(20)).await;
    server.freeze();
    assert_eq!(guard.release().await.unwrap(), Released::PassedOn);
    tokio::time::sleep(ms(1_000)).await;
    server.thaw();
    let next = waiting.await.unwrap();
    assert_ne!(next.holder_id(), holder);
    assert!(next.fencing_token() > token);
}
