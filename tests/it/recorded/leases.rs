//! How long keys live.

use std::time::Duration;

use palisade::{Lease, LostCause};

use super::stage::Stage;

pub(super) async fn fixed(stage: &Stage) {
    let client = stage.client();
    let lock = client.lock("x").with_lease(Lease::Fixed(Duration::from_secs(5)));
    lock.acquire().await.unwrap().release().await.unwrap();
    let guard = lock.acquire().await.unwrap();
    assert_eq!(guard.lost().await, LostCause::Expired);
}

pub(super) async fn renewed(stage: &Stage) {
    let guard = stage.client().lock("x").acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(65)).await;
    guard.release().await.unwrap();
}

pub(super) async fn renewed_in_one_batch(stage: &Stage) {
    let client = stage.client();
    let mut guards = Vec::new();
    for name in ["x", "y", "z"] {
        guards.push(client.lock(name).acquire().await.unwrap());
    }
    tokio::time::sleep(Duration::from_secs(25)).await;
}

pub(super) async fn orphaned(stage: &Stage) {
    let client = stage.client();
    client.lock("x").acquire().await.unwrap().orphan();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert!(client.lock("x").is_locked().await.unwrap(), "until its lease ends");
}
