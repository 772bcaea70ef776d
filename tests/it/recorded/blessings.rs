//! Servers that have votes that count, and servers that do not yet.

use std::time::Duration;

use palisade::{AcquireError, Quarantine};

use super::stage::Stage;

/// A server that never had a marker waits once.
pub(super) async fn waited_out_by_the_strict(stage: &Stage) {
    let builder = stage.process().builder(0).quarantine(Quarantine::Strict);
    let lock = builder.build().unwrap().lock("x");
    let error = lock.try_acquire().await.unwrap_err();
    assert!(matches!(error, AcquireError::Quarantined { .. }), "{error}");
    tokio::time::sleep(Duration::from_secs(65)).await;
    lock.acquire().await.unwrap().release().await.unwrap();
}

/// With the strict, so that the markers are looked at in each acquire.
pub(super) async fn given_and_looked_at(stage: &Stage) {
    // Only those that were started lately can be blessed.
    stage.servers.iter().for_each(|server| server.restart());
    let strict = |builder: palisade::ClientBuilder| builder.quarantine(Quarantine::Strict);
    let masters = stage.process().masters_with(3, strict);
    masters.bless().await.unwrap();
    masters.red_lock("x").acquire().await.unwrap().release().await.unwrap();
    masters.fenced_multi_lock("y").acquire().await.unwrap().release().await.unwrap();
}
