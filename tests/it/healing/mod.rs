//! Members of a `RedLock` that do not vouch are won back.
//!
//! In paused time on in-process servers, where a restart costs nothing and every order of events
//! repeats itself, and on real servers where the order of bytes on sockets matters.

mod contention;
mod limits;
mod release;
mod rewritten;
mod rolling;
mod sockets;

use std::time::Duration;

use palisade::{Client, LockGuard, Masters, embedded::Server};

use crate::outside::ask;

/// For how long a master that restarted empty keeps out of votes, with the default settings.
pub(crate) const D: Duration = Duration::from_millis(66_600);

/// The default lease, and how often it is renewed.
const LEASE: Duration = Duration::from_secs(30);
const PERIOD: Duration = Duration::from_secs(10);

/// In-process masters on the caller's runtime and its clock.
struct Fleet {
    servers: Vec<Server>,
    masters: Masters,
}

impl Fleet {
    fn start(n: usize) -> Self {
        let servers: Vec<Server> = (0..n).map(|_| Server::start_here()).collect();
        let masters = masters(&servers);
        Self { servers, masters }
    }

    /// Clients that share no connection and no queue with the others'.
    fn another_process(&self) -> Masters {
        masters(&self.servers)
    }

    /// What stands at each server under `name`.
    async fn holders(&self, name: &str) -> Vec<Option<String>> {
        let mut holders = Vec::new();
        for server in &self.servers {
            holders.push(holder(server, name).await);
        }
        holders
    }

    /// Nothing may be left once all releases are confirmed.
    async fn end(&self, others: &[&Masters]) {
        for masters in others.iter().chain([&&self.masters]) {
            masters.shutdown(LEASE).await.unwrap();
        }
        assert!(self.holders("x").await.iter().all(Option::is_none), "something is left");
    }
}

fn masters(servers: &[Server]) -> Masters {
    Masters::new(servers.iter().map(|server| server.client().unwrap())).unwrap()
}

/// A client that is known to the servers by itself.
fn client(server: &Server) -> Client {
    server.client().unwrap()
}

async fn holder(server: &Server, name: &str) -> Option<String> {
    if !server.is_running() {
        return None;
    }
    ask::<Vec<String>>(server, &["HKEYS", name]).await.into_iter().next()
}

/// The server forgets the holder of the lock `x`, and nothing else: data that is lost as a whole keeps
/// its votes away.
async fn forget(server: &Server) {
    assert_eq!(ask::<i64>(server, &["DEL", "x"]).await, 1);
}

/// Completes when `guard` has so many votes, at most `limit` later.
async fn votes_return(guard: &LockGuard, votes: usize, limit: Duration) {
    let begun = tokio::time::Instant::now();
    while guard.votes() < votes {
        assert!(guard.is_held(), "lost: {:?}", guard.ensure_valid());
        assert!(begun.elapsed() < limit, "{} of {votes} after {limit:?}", guard.votes());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
