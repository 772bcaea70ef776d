//! A server that never was a replica takes the place of a master by force.
//!
//! It has no data, so no mark either, and was too young to get one. What was held through the master before was
//! given up at the first renewal, though nothing was granted there.

use std::time::Duration;

use palisade::{Client, embedded::Server};

use super::holder_on;
use crate::support::{eventually, soon};

#[tokio::test]
async fn hold_is_written_again_on_a_young_server_without_any_data() {
    let (first, next) = (Server::start_here(), Server::start_here());
    let servers = [first.clone(), next.clone()];
    let settings = Client::builder().simulated_sentinels("orders", move || {
        let [first, next] = servers.clone();
        let (master, config) = if first.is_running() { (first, 1) } else { (next, 2) };
        async move { master.connect().await.map(|stream| (stream, config)) }
    });
    let settings = settings.max_lease(Duration::from_secs(15));
    let client = settings.connect().await.unwrap();
    let lock = client.lock("x");
    let guard = soon(lock.acquire()).await.unwrap();
    first.kill();
    let before = guard.deadline();
    let kept = eventually(|| guard.deadline() > before);
    tokio::select! {
        () = kept => {}
        cause = guard.lost() => panic!("{cause}"),
    }
    assert_eq!(holder_on(&next, "x").await.as_deref(), Some(guard.holder_id()));
    guard.ensure_valid().unwrap();
    let refused = soon(lock.try_acquire()).await.unwrap_err();
    assert!(format!("{refused:?}").contains("Quarantined"), "{refused:?}");
    guard.release().await.unwrap();
}
