//! Sees that there are permits. A semaphore needs a steward. A server that loses its data loses how many
//! permits there are, and those of a process that was killed are missing until they are reclaimed.

use std::{panic::AssertUnwindSafe, time::Duration};

use futures::FutureExt;
use palisade::{Client, ExpirableSemaphore, Semaphore};
use tokio::time::sleep;

use super::{
    prizes::{LEASED_SEMAPHORE, PERMITS, SEMAPHORE},
    worker::Orders,
};

#[derive(Debug)]
pub(super) struct Steward {
    semaphores: Vec<Semaphore>,
    leased: Vec<ExpirableSemaphore>,
    /// How the holder ids of killed workers begin.
    dead: Vec<String>,
}

impl Steward {
    pub(super) fn new(clients: &[Client], orders: &Orders) -> Self {
        let home = |name: &'static str| {
            let prizes = orders.prizes.all().iter().filter(move |prize| prize.name == name);
            prizes.filter_map(|prize| clients.get(prize.what.home()?))
        };
        Self {
            semaphores: home(SEMAPHORE).map(|client| client.semaphore(SEMAPHORE)).collect(),
            leased: home(LEASED_SEMAPHORE)
                .map(|client| client.expirable_semaphore(LEASED_SEMAPHORE))
                .collect(),
            dead: orders.dead.clone(),
        }
    }

    /// Until it is dropped.
    pub(super) async fn run(self) {
        loop {
            // A subscriber to the library's events may panic within. What fails is tried again.
            drop(AssertUnwindSafe(self.look()).catch_unwind().await);
            sleep(EVERY).await;
        }
    }

    async fn look(&self) {
        for semaphore in &self.leased {
            drop(semaphore.try_set_permits(PERMITS).await);
        }
        for semaphore in &self.semaphores {
            drop(semaphore.try_set_permits(PERMITS).await);
            // Again and again: what a process has sent may be executed after its end.
            for holder in semaphore.holders().await.unwrap_or_default() {
                if self.dead.iter().any(|dead| holder.id.starts_with(dead)) {
                    drop(semaphore.reclaim(&holder.id).await);
                }
            }
        }
    }
}

const EVERY: Duration = Duration::from_millis(300);
