//! Several masters and the contenders for locks on them.

use std::{future::Future, time::Duration};

use palisade::{
    AcquireError, Client, ClientBuilder, Lease, LockGuard, Masters, MultiLock, OnOutage,
    Quarantine, RedLock,
};
use testkit::{Cluster, RedisServer, Reply};
use tokio::net::TcpStream;

/// What one vote may take. Long, so that nothing that ends [`SOON`] has waited for it.
pub(crate) const NODE_TIMEOUT: Duration = Duration::from_secs(50);
/// The same where a test waits it out: what a dead server was sent may be executed for that long, and
/// so long its release is not final.
pub(crate) const WAITED_OUT: Duration = Duration::from_secs(10);
/// Whatever needs a few round trips is over by then, also on a machine that stands still for a while.
pub(crate) const SOON: Duration = Duration::from_secs(20);
/// Whatever takes longer hangs. Far beyond anything a busy machine explains.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// The output of `work`, which must come before it counts as hung.
pub(crate) async fn within<T>(limit: Duration, what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(limit, work).await;
    done.unwrap_or_else(|_late| panic!("{what}: not within {limit:?}"))
}

/// Completes once `condition` holds.
pub(crate) async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let hold = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within(HANG, what, hold).await;
}

/// Independent masters and the clients of this process.
#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) servers: Cluster,
    pub(crate) masters: Masters,
    /// What one vote may take.
    node_timeout: Duration,
}

impl Fleet {
    pub(crate) async fn start(n: usize) -> Self {
        Self::over(Cluster::start(n), NODE_TIMEOUT).await
    }

    /// Its clients have changes of their keys told.
    pub(crate) async fn tracking(n: usize) -> Self {
        let servers = Cluster::start(n);
        let clients = servers.urls();
        let masters = masters(clients.iter().map(|url| client(url).tracking(true))).await;
        Self::of(servers, masters)
    }

    /// With votes that may take [`WAITED_OUT`].
    pub(crate) async fn start_to_wait_out(n: usize) -> Self {
        Self::over(Cluster::start(n), WAITED_OUT).await
    }

    pub(crate) async fn over(servers: Cluster, node_timeout: Duration) -> Self {
        let clients = servers.urls();
        let clients = clients.iter().map(|url| client(url).node_timeout(node_timeout));
        let masters = masters(clients).await;
        Self { servers, masters, node_timeout }
    }

    /// What was started with other settings.
    pub(crate) fn of(servers: Cluster, masters: Masters) -> Self {
        Self { servers, masters, node_timeout: NODE_TIMEOUT }
    }

    /// Clients that share neither connections nor queues with those of other calls, as those of
    /// another process.
    pub(crate) async fn another_process(&self) -> Masters {
        let clients = self.servers.iter().map(stranger);
        masters(clients.map(|client| client.node_timeout(self.node_timeout))).await
    }

    /// Shuts all clients down, after which nothing may be left on any server.
    pub(crate) async fn end(&self, others: &[Masters]) {
        for masters in others.iter().chain([&self.masters]) {
            drained(masters).await;
        }
        for server in &self.servers {
            assert_eq!(server.keys(), [""; 0], "left on {}", server.addr());
        }
    }
}

/// Waits until every release is final.
pub(crate) async fn drained(masters: &Masters) {
    masters.shutdown(HANG).await.expect("every release is confirmed");
}

/// A client that has patience with its node, and trusts one that was started only now.
pub(crate) fn client(url: &str) -> ClientBuilder {
    let client = Client::builder().url(url).node_timeout(NODE_TIMEOUT).connect_timeout(HANG);
    let client = client.max_lease(LONG_LEASE).watchdog_lease(LONG_LEASE);
    client.quarantine(Quarantine::Durable)
}

/// The same, but nothing stands in line with it: each connector is a node of its own.
pub(crate) fn stranger(server: &RedisServer) -> ClientBuilder {
    let addr = server.addr();
    client(&server.url()).connector(&addr.to_string(), move || TcpStream::connect(addr))
}

/// Connects to all of them, which must answer.
pub(crate) async fn masters(clients: impl IntoIterator<Item = ClientBuilder>) -> Masters {
    let clients = clients.into_iter().map(|client| client.build().expect("the settings work"));
    let masters = Masters::new(clients).expect("the members are different servers");
    let warm = masters.inspect("warm-up").await;
    drop(warm);
    masters
}

/// The lease where none is named. So long that a machine may stand still for half a minute, and that a
/// tenth of it leaves room for [`NODE_TIMEOUT`].
pub(crate) const LONG_LEASE: Duration = Duration::from_secs(600);

/// How many members are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    All,
    Majority,
}

impl Rule {
    pub(crate) const BOTH: [Self; 2] = [Self::All, Self::Majority];

    pub(crate) fn need(self, members: usize) -> usize {
        match self {
            Self::All => members,
            Self::Majority => members / 2 + 1,
        }
    }

    /// The lock of this rule over `masters`.
    pub(crate) fn lock(self, masters: &Masters, name: &str) -> Composite {
        match self {
            Self::All => Composite::Multi(masters.multi_lock(name)),
            Self::Majority => Composite::Red(masters.red_lock(name)),
        }
    }
}

/// A composite of either rule.
#[derive(Debug, Clone)]
pub(crate) enum Composite {
    Multi(MultiLock),
    Red(RedLock),
}

impl Composite {
    /// With a renewed lease so short that a node may be late by chance: that is ridden out.
    pub(crate) fn brief(self, lease: Duration) -> Self {
        let lease = Lease::WatchdogOf(lease);
        match self {
            Self::Multi(lock) => Self::Multi(lock.with_lease(lease).on_outage(OnOutage::Wait)),
            Self::Red(lock) => Self::Red(lock.with_lease(lease).on_outage(OnOutage::Wait)),
        }
    }

    pub(crate) async fn acquire(&self) -> Result<LockGuard, AcquireError> {
        match self {
            Self::Multi(lock) => lock.acquire().await,
            Self::Red(lock) => lock.acquire().await,
        }
    }

    pub(crate) async fn try_acquire(&self) -> Result<Option<LockGuard>, AcquireError> {
        match self {
            Self::Multi(lock) => lock.try_acquire().await,
            Self::Red(lock) => lock.try_acquire().await,
        }
    }

    pub(crate) async fn try_acquire_for(
        &self,
        limit: Duration,
    ) -> Result<Option<LockGuard>, AcquireError> {
        match self {
            Self::Multi(lock) => lock.try_acquire_for(limit).await,
            Self::Red(lock) => lock.try_acquire_for(limit).await,
        }
    }
}

/// The holder of the lock `name` on `server`, if any.
pub(crate) fn holder_on(server: &RedisServer, name: &str) -> Option<String> {
    server.command(&["HKEYS", name]).array().first().map(Reply::to_string)
}

/// How often the server knows the lock `name` to be held.
pub(crate) fn count_on(server: &RedisServer, name: &str) -> Option<String> {
    server.command(&["HVALS", name]).array().first().map(Reply::to_string)
}

/// A lock of a stranger.
pub(crate) fn hold_as_stranger(server: &RedisServer, name: &str) {
    server.cli(&["HSET", name, STRANGER, "1"]);
    server.cli(&["PEXPIRE", name, "600000"]);
}

pub(crate) const STRANGER: &str = "a-stranger:1";
