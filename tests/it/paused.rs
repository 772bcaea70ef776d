//! Holds of hours, and members that go, in paused time on in-process servers. What all kinds promise is in
//! `promises`.

use std::time::Duration;

use palisade::{LostCause, Masters, embedded::Server};

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
    let lost = guard.lost().await;
    assert!(lost.is_expiry() || lost == LostCause::QuorumGone, "{lost}");
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
