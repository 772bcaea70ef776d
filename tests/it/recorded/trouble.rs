//! What does not go as its caller meant.

use std::time::Duration;

use futures::future::join;
use palisade::{AcquireError, LostCause, error::NodeError};

use super::stage::Stage;
use crate::outside::ask;

pub(super) async fn forced_open(stage: &Stage) {
    let (first, second) = (stage.client(), stage.client());
    let guard = first.lock("x").acquire().await.unwrap();
    assert!(second.lock("x").force_release().await.unwrap());
    assert!(!second.lock("x").force_release().await.unwrap());
    guard.lost().await;
}

pub(super) async fn foreign_key(stage: &Stage) {
    let _: String = ask(&stage.servers[0], &["SET", "x", "text"]).await;
    let error = stage.client().lock("x").acquire().await.unwrap_err();
    let ballot = error.ballot().unwrap();
    assert!(ballot.failures().all(|(_, cause)| matches!(cause, NodeError::ForeignKey)), "{error}");
}

pub(super) async fn scripts_forgotten(stage: &Stage) {
    let client = stage.client();
    client.lock("x").acquire().await.unwrap().release().await.unwrap();
    let _: String = ask(&stage.servers[0], &["SCRIPT", "FLUSH"]).await;
    for _ in 0..2 {
        client.lock("x").acquire().await.unwrap().release().await.unwrap();
    }
}

pub(super) async fn cancelled_under_way(stage: &Stage) {
    let client = stage.client();
    // Connected by then, so that the acquire is all that is under way.
    assert!(!client.lock("x").is_locked().await.unwrap());
    let lock = client.lock("x");
    let cancelled = tokio::time::timeout(Duration::from_millis(1), lock.acquire()).await;
    assert!(cancelled.is_err());
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!lock.is_locked().await.unwrap());
}

pub(super) async fn shut_down_while_held(stage: &Stage) {
    let client = stage.client();
    let (one, other) = (client.lock("x"), client.lock("y"));
    let (one, other) = join(one.acquire(), other.acquire()).await;
    client.shutdown(Duration::from_secs(5)).await.unwrap();
    for guard in [one.unwrap(), other.unwrap()] {
        assert_eq!(guard.lost().await, LostCause::Shutdown);
    }
    let refused = client.lock("x").acquire().await;
    assert!(matches!(refused, Err(AcquireError::Shutdown)));
}
