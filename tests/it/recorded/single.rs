//! A lock on one server.

use std::time::Duration;

use futures::future::join;

use super::stage::Stage;

pub(super) async fn handed_over_between_processes(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let guard = first.lock("x").acquire().await.unwrap();
    let release = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        guard.release().await.unwrap();
    };
    let lock = second.lock("x");
    let ((), next) = join(release, lock.acquire()).await;
    next.unwrap().release().await.unwrap();
}

pub(super) async fn acquired_and_released(stage: &Stage) {
    let guard = stage.client().lock("x").acquire().await.unwrap();
    guard.release().await.unwrap();
}

pub(super) async fn dropped(stage: &Stage) {
    let client = stage.client();
    drop(client.lock("x").acquire().await.unwrap());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!client.lock("x").is_locked().await.unwrap());
}

pub(super) async fn waited_for_in_one_process(stage: &Stage) {
    let lock = stage.client().lock("x");
    let guard = lock.acquire().await.unwrap();
    let release = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        guard.release().await.unwrap();
    };
    let next = || Box::pin(async { lock.acquire().await.unwrap().release().await.unwrap() });
    join(release, join(next(), next())).await;
}

pub(super) async fn refused(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let _guard = first.lock("x").acquire().await.unwrap();
    assert!(second.lock("x").try_acquire().await.unwrap().is_none());
}

pub(super) async fn waited_for_in_vain(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let _guard = first.lock("x").acquire().await.unwrap();
    let limit = Duration::from_secs(3);
    assert!(second.lock("x").try_acquire_for(limit).await.unwrap().is_none());
}

pub(super) async fn inspected(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let lock = second.lock("x");
    assert!(!lock.is_locked().await.unwrap());
    let guard = first.lock("x").acquire().await.unwrap();
    let holder = lock.holder().await.unwrap().unwrap();
    assert_eq!(holder.id, guard.holder_id());
    assert!(lock.remaining_ttl().await.unwrap().is_some());
}
