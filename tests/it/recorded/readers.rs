//! Locks with many readers or one writer.

use std::time::Duration;

use palisade::Owner;

use super::stage::Stage;

pub(super) async fn read_by_two_and_written(stage: &Stage) {
    let lock = stage.client().rw_lock("x");
    let (one, other) = (lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap());
    tokio::time::sleep(Duration::from_secs(12)).await;
    one.release().await.unwrap();
    other.release().await.unwrap();
    lock.write().acquire().await.unwrap().release().await.unwrap();
}

pub(super) async fn writer_waits_for_a_reader(stage: &Stage) {
    let reader = stage.process().client(0).rw_lock("x").read().acquire().await.unwrap();
    let lock = stage.process().client(0).rw_lock("x");
    let write = async { lock.write().acquire().await.unwrap().release().await.unwrap() };
    let read = async {
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        reader.release().await.unwrap();
    };
    tokio::join!(write, read);
}

pub(super) async fn writer_downgraded(stage: &Stage) {
    let (lock, owner) = (stage.client().rw_lock("x"), Owner::new());
    let guard = lock.write().acquire().await.unwrap().downgrade().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    guard.release().await.unwrap();
    let writer = lock.write().acquire_as(&owner).await.unwrap();
    let reader = lock.read().acquire_as(&owner).await.unwrap();
    writer.release().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    reader.release().await.unwrap();
}
