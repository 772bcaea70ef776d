//! Locks with tokens.

use std::time::Duration;

use palisade::Owner;

use super::stage::Stage;
use crate::outside::ask;

pub(super) async fn alone(stage: &Stage) {
    let lock = stage.client().fenced_lock("x");
    let first = lock.with(async |guard| guard.fencing_token()).await.unwrap();
    let second = lock.with(async |guard| guard.fencing_token()).await.unwrap();
    assert!(first < second);
}

pub(super) async fn reentered(stage: &Stage) {
    let (lock, owner) = (stage.client().fenced_lock("x"), Owner::new());
    let first = lock.acquire_as(&owner).await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let second = lock.acquire_as(&owner).await.unwrap();
    assert_eq!(first.fencing_token(), second.fencing_token());
    first.release().await.unwrap();
    second.release().await.unwrap();
}

pub(super) async fn of_all(stage: &Stage) {
    let lock = stage.process().masters(3).fenced_multi_lock("x");
    lock.acquire().await.unwrap().release().await.unwrap();
}

pub(super) async fn agreed_in_one_round(stage: &Stage) {
    let lock = stage.process().masters(3).fenced_red_lock("x");
    for _ in 0..2 {
        lock.acquire().await.unwrap().release().await.unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

pub(super) async fn counters_that_disagree(stage: &Stage) {
    let known = stage.servers[1].wall_clock_us() + 10_000_000;
    let set = ["SET", "palisade_lock_token:{x}", &known.to_string()];
    let _: String = ask(&stage.servers[1], &set).await;
    let lock = stage.process().masters(3).fenced_red_lock("x");
    let guard = lock.acquire().await.unwrap();
    assert_eq!(guard.fencing_token().get(), u64::try_from(known + 1).unwrap());
    guard.release().await.unwrap();
}
