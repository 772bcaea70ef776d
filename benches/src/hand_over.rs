//! A lock goes from one client to another that waits for it.

use std::time::{Duration, Instant};

use palisade::LockGuard;
use testkit::RedisServer;

use crate::{
    compare::{Effort, Side, median},
    locks::{Single, release},
};

/// Two clients of one server. The figure is the median in µs from before the release until the
/// other has its guard.
pub(crate) struct HandOver {
    clients: [Single; 2],
    held: Option<LockGuard>,
}

impl HandOver {
    pub(crate) async fn connect(server: &RedisServer) -> Self {
        let name = || [String::from("palisade")];
        let one = async || Single::connect(server, name()).await.pop().expect("one name, one side");
        let clients = [one().await, one().await];
        Self { clients, held: None }
    }

    async fn hand_over(&mut self) -> f64 {
        let [holder, other] = &self.clients;
        let guard = match self.held.take() {
            Some(guard) => guard,
            None => holder.lock().acquire().await.expect("the server is up"),
        };
        let lock = other.lock();
        let waiter = tokio::spawn(async move {
            let guard = lock.acquire().await.expect("the server is up");
            (guard, Instant::now())
        });
        // Until it has subscribed and was refused a second time.
        tokio::time::sleep(Duration::from_millis(3)).await;
        let begun = Instant::now();
        tokio::spawn(release(guard)).await.expect("the release does not panic");
        let (guard, had) = waiter.await.expect("the waiter does not panic");
        self.held = Some(guard);
        self.clients.reverse();
        had.saturating_duration_since(begun).as_secs_f64() * 1e6
    }
}

impl Side for HandOver {
    async fn block(&mut self, effort: Effort) -> f64 {
        let mut took = Vec::new();
        for _ in 0..effort.pairs / 10 {
            took.push(self.hand_over().await);
        }
        median(&took)
    }
}
