//! palisade's side: a lock is made, acquired and released, as a request handler does it.

use palisade::{Client, Lock, LockGuard, Masters, Released, error::BlessError};
use testkit::{Cluster, RedisServer};

use crate::compare::Pair;

/// A lock on one node.
#[derive(Clone)]
pub(crate) struct Single {
    client: Client,
    name: String,
}

impl Single {
    /// One client of `server`, and a name each.
    pub(crate) async fn connect(
        server: &RedisServer,
        names: impl IntoIterator<Item = String>,
    ) -> Vec<Self> {
        let client = Client::connect(&server.url()).await.expect("the server is up");
        names.into_iter().map(|name| Self { client: client.clone(), name }).collect()
    }

    pub(crate) fn lock(&self) -> Lock {
        self.client.lock(&self.name)
    }
}

impl Pair for Single {
    async fn pair(&mut self) {
        let lock = self.lock();
        release(lock.acquire().await.expect("the server is up")).await;
    }
}

/// A majority of several nodes.
#[derive(Clone)]
pub(crate) struct Red(Masters);

impl Red {
    pub(crate) async fn connect(servers: &Cluster) -> Self {
        Self(connect(servers).await)
    }
}

impl Pair for Red {
    async fn pair(&mut self) {
        let lock = self.0.red_lock("palisade");
        release(lock.acquire().await.expect("a majority is up")).await;
    }
}

/// All of several nodes.
#[derive(Clone)]
pub(crate) struct Multi(Masters);

impl Multi {
    pub(crate) async fn connect(servers: &Cluster) -> Self {
        Self(connect(servers).await)
    }
}

impl Pair for Multi {
    async fn pair(&mut self) {
        let lock = self.0.multi_lock("palisade");
        release(lock.acquire().await.expect("all are up")).await;
    }
}

/// New masters vote at once only if somebody says that they are new; whoever comes first does.
async fn connect(servers: &Cluster) -> Masters {
    let masters = Masters::connect(servers.urls()).await.expect("the URLs differ");
    match masters.bless().await {
        Ok(()) | Err(BlessError::BlessedBefore { .. } | BlessError::Overtaken { .. }) => masters,
        Err(error) => panic!("the servers are new: {error}"),
    }
}

pub(crate) async fn release(guard: LockGuard) {
    let released = guard.release().await;
    assert!(matches!(released, Ok(Released::Freed)), "{released:?}");
}

pub(crate) fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|i| format!("{prefix}:{i}")).collect()
}
