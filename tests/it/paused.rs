//! Leases, renewals and their limits in paused time, on in-process servers.

use std::time::Duration;

use palisade::{Lease, LostCause, Masters, embedded::Server};

#[tokio::test(start_paused = true)]
async fn a_watchdog_lease_is_renewed_for_hours() {
    let client = Server::start_here().client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert!(guard.remaining() > Duration::from_secs(15));
        assert!(client.lock("x").try_acquire().await.unwrap().is_none());
    }
    guard.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_renewed_no_longer_than_max_hold() {
    let server = Server::start_here();
    let client = server.client_builder().max_hold(Duration::from_secs(60)).build().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(guard.lost().await, LostCause::Expired);
    let held = begun.elapsed();
    assert!((60..=90).contains(&held.as_secs()), "{held:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fixed_lease_ends_before_its_key_does() {
    let client = Server::start_here().client().unwrap();
    let lock = client.lock("x").with_lease(Lease::Fixed(Duration::from_secs(10)));
    let guard = lock.acquire().await.unwrap();
    let token = guard.cancellation_token();
    assert_eq!(guard.lost().await, LostCause::Expired);
    assert!(token.is_cancelled());
    assert!(lock.try_acquire().await.unwrap().is_none(), "lost before others are granted");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(lock.try_acquire().await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_frozen_server_means_loss_at_the_deadline_and_a_warning_before() {
    let server = Server::start_here();
    let client = server.client().unwrap();
    let guard = client.lock("x").acquire().await.unwrap();
    server.freeze();
    let begun = tokio::time::Instant::now();
    guard.expiring(Duration::from_secs(5)).await;
    assert!(guard.is_held());
    assert!((24..=26).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    assert_eq!(guard.lost().await, LostCause::Expired);
    assert!(begun.elapsed() <= Duration::from_secs(30));
}

#[tokio::test(start_paused = true)]
async fn a_majority_is_kept_while_a_minority_is_down_and_no_longer() {
    let servers: Vec<Server> = (0..5).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.red_lock("x").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    for server in servers.iter().take(2) {
        server.kill_and_forget();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(guard.is_held());
    }
    // A third is one too many.
    servers[2].kill_and_forget();
    assert!(matches!(guard.lost().await, LostCause::Expired | LostCause::QuorumGone));
}

#[tokio::test(start_paused = true)]
async fn a_member_that_forgets_ends_a_multi_lock_at_the_next_renewal() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.multi_lock("x").acquire().await.unwrap();
    servers[1].flush();
    let begun = tokio::time::Instant::now();
    let lost = guard.lost().await;
    assert!(matches!(lost, LostCause::MemberGone { .. }), "{lost:?}");
    assert!(begun.elapsed() <= Duration::from_secs(10));
}
