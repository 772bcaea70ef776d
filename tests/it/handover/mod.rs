//! Locks that pass from user to user inside a process.

mod fairness;
mod minting;
mod offers;
mod passing;

use std::{future::Future, pin::Pin, task::Poll, time::Duration};

use futures::poll;
use palisade::{AcquireError, Client, Lock, LockGuard, embedded::Server, settings::LocalHandover};

use crate::support::ms;

type Waiting = Pin<Box<dyn Future<Output = Result<LockGuard, AcquireError>> + Send>>;

/// A waiter for the lock, that stands in line already.
async fn waiter(lock: &Lock) -> Waiting {
    let lock = lock.clone();
    let mut waiting: Waiting = Box::pin(async move { lock.acquire().await });
    assert!(matches!(poll!(&mut waiting), Poll::Pending), "another holds it");
    waiting
}

/// The same where it has been refused, too, and listens.
async fn parked(lock: &Lock) -> Waiting {
    let mut waiting = waiter(lock).await;
    let asked = tokio::time::timeout(ms(100), &mut waiting).await;
    assert!(asked.is_err(), "another holds it");
    waiting
}

/// A client whose locks stay for so long in a row that paused time may go on meanwhile.
fn patient(server: &Server) -> Client {
    let limit = LocalHandover::UpTo(Duration::from_secs(10));
    server.client_builder().local_handover(limit).build().unwrap()
}

/// Whether the lock is free, as seen without an acquire.
async fn is_free(client: &Client, name: &str) -> bool {
    !client.lock(name).is_locked().await.unwrap()
}
