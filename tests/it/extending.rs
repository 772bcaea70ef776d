//! A longer lease for a hold, in paused time.

use std::time::Duration;

use palisade::{
    Lease, LockGuard, Masters,
    embedded::Server,
    error::{ConfigError, ExtendError},
};
use tokio::time::{Instant, sleep};

use crate::support::{fixed, ms};

async fn held(server: &Server, lease: Lease) -> LockGuard {
    server.client().unwrap().lock("x").with_lease(lease).acquire().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn hold_lasts_longer_once_its_server_has_confirmed_and_is_never_shortened() {
    let server = Server::start_here();
    let guard = held(&server, fixed(5_000)).await;
    sleep(Duration::from_secs(3)).await;
    guard.extend(fixed(10_000)).await.unwrap();
    assert!(guard.remaining() > ms(9_500), "{:?}", guard.remaining());
    guard.extend(fixed(1_000)).await.unwrap();
    assert!(guard.remaining() > ms(9_500), "{:?}", guard.remaining());
    sleep(Duration::from_secs(6)).await;
    guard.ensure_valid().unwrap();
    assert!(server.client().unwrap().lock("x").try_acquire().await.unwrap().is_none());
    sleep(Duration::from_secs(4)).await;
    assert!(!guard.is_held(), "it ends all the same");
}

#[tokio::test(start_paused = true)]
async fn extension_that_nobody_confirms_moves_no_deadline() {
    let server = Server::start_here();
    let guard = held(&server, fixed(20_000)).await;
    server.freeze();
    let (before, began) = (guard.deadline(), Instant::now());
    let error = guard.extend(fixed(50_000)).await.unwrap_err();
    assert!(matches!(error, ExtendError::Unconfirmed { .. }), "{error:?}");
    assert_eq!(guard.deadline(), before);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn extension_of_what_is_gone_is_a_loss() {
    let server = Server::start_here();
    let guard = held(&server, fixed(20_000)).await;
    server.flush();
    let error = guard.extend(fixed(50_000)).await.unwrap_err();
    assert!(matches!(error, ExtendError::Lost(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn extension_beyond_what_is_allowed_is_refused() {
    let server = Server::start_here();
    let settings = server.client_builder().max_lease(ms(40_000)).max_hold(ms(30_000));
    let lock = settings.build().unwrap().lock("x").with_lease(fixed(5_000));
    let guard = lock.acquire().await.unwrap();
    for too_long in [fixed(40_001), fixed(35_000)] {
        let error = guard.extend(too_long).await.unwrap_err();
        let expected = matches!(error, ExtendError::Config(ConfigError::LeaseTooLong { .. }));
        assert!(expected, "{error:?}");
    }
    guard.extend(fixed(20_000)).await.unwrap();
    assert!(guard.remaining() > ms(19_500));
}

#[tokio::test(start_paused = true)]
async fn majority_that_confirms_is_enough() {
    let servers: Vec<Server> = (0..3).map(|_| Server::start_here()).collect();
    let masters = Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap();
    let guard = masters.red_lock("x").with_lease(fixed(10_000)).acquire().await.unwrap();
    sleep(ms(500)).await;
    servers[1].freeze();
    guard.extend(fixed(30_000)).await.unwrap();
    assert!(guard.remaining() > ms(29_000), "{:?}", guard.remaining());
}

#[tokio::test(start_paused = true)]
async fn renewed_lease_is_renewed_at_once() {
    let server = Server::start_here();
    let guard = held(&server, Lease::Watchdog).await;
    sleep(ms(5_000)).await;
    guard.extend(Lease::Watchdog).await.unwrap();
    assert!(guard.remaining() > ms(29_000), "{:?}", guard.remaining());
}
