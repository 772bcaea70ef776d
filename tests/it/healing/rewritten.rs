//! Masters forget a hold that still counts on them, and it is written there again.

use std::time::Duration;

use palisade::{Lease, LostCause, OnOutage, Quarantine, embedded::Server};

use super::{D, Fleet, LEASE, PERIOD, client, holder, votes_return};
use crate::{fleet::within, outside::ask};

/// What may pass until it is known of a restart.
const SOON: Duration = Duration::from_secs(2);

// proves: no-forgetful-vote
#[tokio::test(start_paused = true)]
async fn red_lock_outlives_the_restart_of_all_masters_within_a_moment() {
    for n in [3, 5] {
        let fleet = Fleet::start(n);
        let other = fleet.another_process();
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        votes_return(&guard, n, PERIOD).await;
        for server in &fleet.servers {
            server.kill_and_forget();
            assert!(guard.is_held());
            server.restart();
            tokio::time::sleep(SOON).await;
            assert_eq!(holder(server, "x").await.as_deref(), Some(guard.holder_id()));
            assert_eq!((guard.votes(), guard.margin()), (n, n / 2));
            let granted = other.red_lock("x").try_acquire().await;
            assert!(!matches!(granted, Ok(Some(_))), "granted twice");
        }
        // The leases are those of the masters that run now, and renewed there.
        let patient = other.red_lock("x").on_outage(OnOutage::Wait);
        let waiting = within(D * 2, "the next", patient.acquire());
        let (next, ()) = tokio::join!(waiting, async {
            tokio::time::sleep(D).await;
            assert_eq!(guard.votes(), n);
            guard.release().await.unwrap();
        });
        next.unwrap().release().await.unwrap();
        fleet.end(&[&other]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn red_lock_outlives_masters_that_restart_at_once_with_their_data_or_without() {
    for forget in [false, true] {
        let fleet = Fleet::start(3);
        let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
        votes_return(&guard, 3, PERIOD).await;
        for server in &fleet.servers[..2] {
            if forget { server.kill_and_forget() } else { server.kill() }
        }
        fleet.servers.iter().take(2).for_each(Server::restart);
        tokio::time::sleep(LEASE * 2).await;
        assert!(guard.is_held(), "{forget}");
        assert_eq!(guard.votes(), 3, "{forget}");
        guard.release().await.unwrap();
        fleet.end(&[]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn multi_lock_outlives_the_restart_of_all_masters_at_once() {
    let fleet = Fleet::start(3);
    let guard = fleet.masters.multi_lock("x").acquire().await.unwrap();
    fleet.servers.iter().for_each(Server::kill_and_forget);
    fleet.servers.iter().for_each(Server::restart);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!((guard.votes(), guard.margin()), (3, 2));
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

#[tokio::test(start_paused = true)]
async fn fixed_lease_is_written_again_for_what_is_left_of_it() {
    let fleet = Fleet::start(3);
    let lock = fleet.masters.red_lock("x").with_lease(Lease::Fixed(LEASE));
    let guard = lock.acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    let deadline = guard.deadline();
    tokio::time::sleep(PERIOD).await;
    fleet.servers[1].kill_and_forget();
    fleet.servers[1].restart();
    tokio::time::sleep(SOON).await;
    assert_eq!(holder(&fleet.servers[1], "x").await.as_deref(), Some(guard.holder_id()));
    assert_eq!((guard.votes(), guard.deadline()), (3, deadline));
    let ttl: i64 = ask(&fleet.servers[1], &["PTTL", "x"]).await;
    let left = i64::try_from(guard.remaining().as_millis()).unwrap();
    // Longer than the deadline is away by how far clocks drift over the whole lease: 302 ms.
    assert!((left + 290..left + 310).contains(&ttl), "{ttl} of {left}");
    assert_eq!(guard.lost().await, LostCause::Expired);
    drop(guard);
    fleet.end(&[]).await;
}

/// No other is granted a lock there meanwhile either.
#[tokio::test(start_paused = true)]
async fn lock_by_itself_outlives_a_restart_where_its_server_is_in_quarantine() {
    for (quarantine, is_held) in [(Quarantine::Always, true), (Quarantine::Composites, false)] {
        let server = Server::start_here();
        let client = server.client_builder().quarantine(quarantine).build().unwrap();
        let guard = client.lock("x").acquire().await.unwrap();
        server.kill_and_forget();
        server.restart();
        tokio::time::sleep(LEASE * 2).await;
        assert_eq!(guard.is_held(), is_held, "{quarantine:?}");
        assert_eq!(holder(&server, "x").await.is_some(), is_held, "{quarantine:?}");
        drop(guard);
        client.shutdown(LEASE).await.unwrap();
    }
}

/// A vote that was never given, or that is over, is not taken up by the one that happens to hold the
/// lock: another that asks may count on the one that was forgotten.
#[tokio::test(start_paused = true)]
async fn hold_is_not_written_where_it_did_not_stand() {
    let fleet = Fleet::start(3);
    fleet.servers[2].kill_and_forget();
    let guard = fleet.masters.red_lock("x").acquire().await.unwrap();
    fleet.servers[2].restart();
    tokio::time::sleep(LEASE).await;
    assert_eq!((guard.votes(), holder(&fleet.servers[2], "x").await), (2, None));
    votes_return(&guard, 3, D + PERIOD).await;
    // Down for longer than the lease.
    fleet.servers[1].kill_and_forget();
    tokio::time::sleep(LEASE).await;
    fleet.servers[1].restart();
    tokio::time::sleep(LEASE).await;
    assert_eq!((guard.votes(), holder(&fleet.servers[1], "x").await), (2, None));
    guard.release().await.unwrap();
    fleet.end(&[]).await;
}

/// The caller's word is that it forgets nothing.
#[tokio::test(start_paused = true)]
async fn durable_masters_that_restart_with_their_data_go_on() {
    let servers: Vec<_> = (0..3).map(|_| Server::start_here()).collect();
    let durable =
        |server: &Server| server.client_builder().quarantine(Quarantine::Durable).build().unwrap();
    let masters = palisade::Masters::new(servers.iter().map(durable)).unwrap();
    let guard = masters.red_lock("x").acquire().await.unwrap();
    votes_return(&guard, 3, PERIOD).await;
    servers.iter().for_each(Server::kill);
    servers.iter().for_each(Server::restart);
    tokio::time::sleep(LEASE * 2).await;
    assert_eq!(guard.votes(), 3);
    guard.release().await.unwrap();
    masters.shutdown(LEASE).await.unwrap();
    // What another process promised is not forgotten, but what is gone is gone.
    let client = client(&servers[0]);
    assert_eq!(client.lock("x").holder().await.unwrap(), None);
}
