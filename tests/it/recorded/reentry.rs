//! Several guards on one hold.

use std::time::Duration;

use palisade::{Lease, Owner};

use super::stage::Stage;

pub(super) async fn by_the_guard(stage: &Stage) {
    let first = stage.client().lock("x").acquire().await.unwrap();
    let second = first.reenter().unwrap();
    let third = second.reenter().unwrap();
    second.release().await.unwrap();
    third.release().await.unwrap();
    first.release().await.unwrap();
}

/// Time passes, so that the counts are told.
pub(super) async fn by_the_owner(stage: &Stage) {
    let (lock, owner) = (stage.client().lock("x"), Owner::new());
    let mut guards = Vec::new();
    for _ in 0..3 {
        guards.push(lock.acquire_as(&owner).await.unwrap());
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    for guard in guards {
        guard.release().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

pub(super) async fn with_a_longer_lease(stage: &Stage) {
    let (lock, owner) = (stage.client().lock("x"), Owner::new());
    let short = lock.clone().with_lease(Lease::WatchdogOf(Duration::from_secs(9)));
    let long = lock.with_lease(Lease::WatchdogOf(Duration::from_secs(45)));
    let first = short.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(Duration::from_secs(7)).await;
    let second = long.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(Duration::from_secs(40)).await;
    second.release().await.unwrap();
    first.release().await.unwrap();
}
