//! Locks over several servers, or several names.

use std::time::Duration;

use futures::future::join;
use palisade::{MultiLock, Quarantine};

use super::stage::Stage;

pub(super) async fn all_of_three(stage: &Stage) {
    let lock = stage.process().masters(3).multi_lock("x");
    let guard = lock.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    guard.release().await.unwrap();
}

pub(super) async fn two_names_on_one_server(stage: &Stage) {
    let client = stage.client();
    let lock = MultiLock::new([client.lock("x"), client.lock("y")]).unwrap();
    let guard = lock.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    guard.release().await.unwrap();
}

/// The round is lost to two others. Once the first of them has gone, its server's grant is kept until
/// the second goes; what comes behind in the common order, by run id, is given back.
pub(super) async fn contended_in_order(stage: &Stage) {
    let other = stage.process();
    let first = other.client(1).lock("x").acquire().await.unwrap();
    let second = other.client(2).lock("x").acquire().await.unwrap();
    let lock = stage.process().masters(3).multi_lock("x");
    let release = async {
        for guard in [first, second] {
            tokio::time::sleep(Duration::from_secs(1)).await;
            guard.release().await.unwrap();
        }
    };
    let ((), guard) = join(release, lock.acquire()).await;
    guard.unwrap().release().await.unwrap();
}

pub(super) async fn majority_of_three(stage: &Stage) {
    let lock = stage.process().masters(3).red_lock("x");
    let guard = lock.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    guard.release().await.unwrap();
}

pub(super) async fn majority_of_five(stage: &Stage) {
    let lock = stage.process().masters(5).red_lock("x");
    let guard = lock.acquire().await.unwrap();
    // Until the slow ones have granted it too.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(guard.votes(), 5);
    guard.release().await.unwrap();
}

pub(super) async fn majority_with_one_down(stage: &Stage) {
    stage.servers[2].kill();
    let lock = stage.process().masters(3).red_lock("x");
    let guard = lock.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(12)).await;
    guard.release().await.unwrap();
}

pub(super) async fn majority_refused_by_two(stage: &Stage) {
    let holder = stage.process();
    let _first = holder.client(0).lock("x").acquire().await.unwrap();
    let _second = holder.client(1).lock("x").acquire().await.unwrap();
    let lock = stage.process().masters(3).red_lock("x");
    assert!(lock.try_acquire().await.unwrap().is_none());
}

/// By clients that let a server vote that was started just now.
pub(super) async fn majority_healed(stage: &Stage) {
    let trusting = |builder: palisade::ClientBuilder| builder.quarantine(Quarantine::Durable);
    let lock = stage.process().masters_with(3, trusting).red_lock("x");
    let guard = lock.acquire().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.servers[2].kill_and_forget();
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.servers[2].restart();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(guard.votes(), 3);
    guard.release().await.unwrap();
}
