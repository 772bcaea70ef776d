//! Locks that are granted in the order in which they were asked for.

use std::time::Duration;

use futures::future::join;

use super::stage::Stage;

pub(super) async fn granted_in_order_to_two_processes(stage: &Stage) {
    let [first, second, third] = [stage.client(), stage.client(), stage.client()];
    let guard = first.fair_lock("x").acquire().await.unwrap();
    let next = |lock: palisade::FairLock, after: u64| async move {
        tokio::time::sleep(Duration::from_millis(after)).await;
        lock.acquire().await.unwrap().release().await.unwrap();
    };
    let release = async {
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert_eq!(first.fair_lock("x").waiting().await.unwrap().len(), 2);
        guard.release().await.unwrap();
    };
    let both = join(next(second.fair_lock("x"), 500), next(third.fair_lock("x"), 1_000));
    join(release, both).await;
}

pub(super) async fn waited_for_in_vain(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let _guard = first.fair_lock("x").acquire().await.unwrap();
    let lock = second.fair_lock("x");
    assert!(lock.try_acquire().await.unwrap().is_none());
    assert!(lock.try_acquire_for(Duration::from_secs(3)).await.unwrap().is_none());
}

pub(super) async fn place_kept(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let guard = first.fair_lock("x").acquire().await.unwrap();
    let lock = second.fair_lock("x");
    let mut parked = Box::pin(lock.acquire());
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, &mut parked).await.is_err());
    tokio::time::sleep(second * 70).await;
    guard.release().await.unwrap();
    parked.await.unwrap().release().await.unwrap();
}
