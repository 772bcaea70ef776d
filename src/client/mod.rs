//! The client: the only place where node, watchdog, notifier and releaser are wired together.
//!
//! A [`Client`] is a handle on one deployment, [`Masters`] on several independent ones. Both make locks and hold no
//! rules: what a lock does is told in `kinds`, what a deployment is in `node` and `reach`.
//!
//! ```text
//! Client::builder() ─► settings checked ─► Client (not connected) ──first use, or connect()──► connected
//!                           │                                                          ▲ │
//!                           └─ ConfigError: nothing was sent                 reconnects└─┘
//! Client ──shutdown──► closed: what waits ends, what is held is released, nothing is granted any more
//! Masters = Client × n ─► red_lock, multi_lock, bless
//! ```
//!
//! # Invariants
//! - **Nothing is sent before the settings are checked.** A setting that cannot work is named.
//! - **No other room wires rooms together**, and no room uses this one.
//! - **A client belongs to the process that made it**: in a child by `fork()` it does nothing.
//! - **After a shutdown nothing is granted**, also what was under way.
//! - **Nothing that can be printed shows a password.**
//!
//! # What proves them
//! Unit tests at the end of `cluster`, `hosts` and `sentinel_url`. In `tests/it`: `bad_input::before`,
//! `bad_input::urls`, `deployment::settings`, `hosts`, `mutex::ending` (shutdown), `cancellation` (a dropped
//! connect or shutdown), `regressions::fork`.
//!
//! # To change…
//! - a setting: `builder`, and where it is used (`reach/settings.rs` for those of nodes)
//! - what a URL may say: `address`, `sentinel_url`, then `reach/url.rs`
//! - how a deployment is named: `addressing`, `cluster`, `sentinel`, `hosts`
//! - which locks there are: this file, and `lib.rs` for the front door
//! - clients of the embedded server and of simulations: `embedded`, `simulated`, `led`

mod address;
mod addressing;
mod builder;
mod cluster;
mod draining;
#[cfg(feature = "embedded")]
mod embedded;
mod fenced_call;
mod guarded;
mod health;
mod held;
mod hosts;
#[cfg(feature = "embedded")]
mod led;
mod listing;
mod masters;
mod processes;
mod sentinel;
mod sentinel_url;
#[cfg(feature = "embedded")]
mod simulated;

use std::{fmt, sync::Arc, time::Duration};

pub use builder::ClientBuilder;
pub use fenced_call::{FencedData, FencedInvocation};
pub use masters::Masters;
pub use sentinel::Sentinels;
#[cfg(feature = "embedded")]
pub use simulated::SimulatedProcess;

use crate::{
    composite::StripedLock,
    elections::Election,
    error::{BlessError, ConfigError, ConnectError, LostCause, NodeError, NodeId, ShutdownError},
    kind::Holder,
    kinds::{CountDownLatch, ExpirableSemaphore, FairLock, FencedLock, Lock, RwLock, Semaphore},
    process::NodeServices,
    voting::bless,
};

/// A handle on one Redis deployment, from which locks are made.
///
/// Cheap to clone. It keeps one connection for commands on each runtime it is used on, one for wake-ups once there is a
/// waiter, and reconnects by itself. All clients of a process share one watchdog.
///
/// A client belongs to the process that made it. In a child by `fork()` it does nothing. Its operations fail with
/// [`ConfigError::Forked`] before anything is sent, guards count as lost by [`LostCause::Forked`], and dropping them
/// does nothing either: what the parent holds stays its own. (A child made by the system call `clone` itself, past
/// libc's `fork()`, is not told from its parent.) The child makes a client, and a tokio runtime, of its own. An
/// inherited runtime, and a future that waited on it, is to be neither used nor dropped there. Parent and child would
/// share its epoll descriptor and take each other's events. A daemon therefore forks first, and makes runtime and
/// client then.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use palisade::Client;
///
/// let client = Client::connect("redis://127.0.0.1:6379").await?;
/// if let Some(guard) = client.lock("orders:42").try_acquire().await? {
///     // … the section …
///     guard.release().await?;
/// }
/// client.shutdown(Duration::from_secs(2)).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    services: Arc<NodeServices>,
}

impl Client {
    /// Connects to `redis://[user:password@]host[:port][/db]` or `unix:///path`.
    ///
    /// # Errors
    /// [`ConnectError`] if the URL cannot be read or the server cannot be reached now.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    pub async fn connect(url: impl AsRef<str>) -> Result<Self, ConnectError> {
        Self::builder().url(url.as_ref()).connect().await
    }

    /// The same without any I/O: connects at the first use, and as often as needed.
    ///
    /// # Errors
    /// [`ConfigError`] if the URL cannot be read.
    pub fn connect_lazy(url: impl AsRef<str>) -> Result<Self, ConfigError> {
        Self::builder().url(url.as_ref()).build()
    }

    /// Connects to the master `service` that sentinels watch over, and follows it: see
    /// [`ClientBuilder::sentinels`].
    ///
    /// # Errors
    /// [`ConnectError`] if an address cannot be read, or no sentinel tells of a master that can be reached
    /// now.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connection.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::Client;
    ///
    /// let client = Client::sentinel(["sentinel-1", "sentinel-2", "sentinel-3"], "orders").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn sentinel<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
        service: &str,
    ) -> Result<Self, ConnectError> {
        Self::builder().sentinels(Sentinels::new(addresses, service)).connect().await
    }

    /// Connects to a Redis Cluster of which some servers are named: see [`ClientBuilder::cluster`].
    ///
    /// # Errors
    /// [`ConnectError`] if an address cannot be read, or none of the servers tells of a master that can be
    /// reached now.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connections.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::Client;
    ///
    /// let client = Client::cluster(["redis-1:7000", "redis-2:7000", "redis-3:7000"]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cluster<A: AsRef<str>>(
        addresses: impl IntoIterator<Item = A>,
    ) -> Result<Self, ConnectError> {
        Self::builder().cluster(addresses).connect().await
    }

    /// For all that can be set.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// The reentrant lock `name`. Sends no call; a bad name is reported by the operations.
    #[must_use]
    pub fn lock(&self, name: impl AsRef<str>) -> Lock {
        Lock::new(self.services.clone(), name.as_ref())
    }

    /// The reentrant lock `name`, with a fencing token for each holder. Sends no call.
    #[must_use]
    pub fn fenced_lock(&self, name: impl AsRef<str>) -> FencedLock {
        FencedLock::new(self.services.clone(), name.as_ref())
    }

    /// The election whose leader holds the [`FencedLock`] `name`. Sends no call.
    #[must_use]
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        Election::new(self.fenced_lock(name))
    }

    /// The reentrant lock `name` that is granted in the order in which it was asked for. Sends no
    /// call.
    #[must_use]
    pub fn fair_lock(&self, name: impl AsRef<str>) -> FairLock {
        FairLock::new(self.services.clone(), name.as_ref())
    }

    /// The lock `name` with many readers or one writer. Sends no call.
    #[must_use]
    pub fn rw_lock(&self, name: impl AsRef<str>) -> RwLock {
        RwLock::new(&self.services, name.as_ref())
    }

    /// A lock of `stripes` stripes for any number of keys: 1 … 65,536. Sends no call.
    ///
    /// # Errors
    /// [`ConfigError`] for another number, or a bad name.
    pub fn striped_lock(
        &self,
        name: impl AsRef<str>,
        stripes: u32,
    ) -> Result<StripedLock, ConfigError> {
        StripedLock::new(self.services.clone(), name.as_ref(), stripes)
    }

    /// The count-down latch `name`. Sends no call; a bad name is reported by the operations.
    #[must_use]
    pub fn count_down_latch(&self, name: impl AsRef<str>) -> CountDownLatch {
        CountDownLatch::new(self.services.clone(), name.as_ref())
    }

    /// The semaphore `name`. Sends no call; a bad name is reported by the operations.
    #[must_use]
    pub fn semaphore(&self, name: impl AsRef<str>) -> Semaphore {
        Semaphore::new(self.services.clone(), name.as_ref())
    }

    /// The semaphore `name` whose permits have leases. Sends no call.
    #[must_use]
    pub fn expirable_semaphore(&self, name: impl AsRef<str>) -> ExpirableSemaphore {
        ExpirableSemaphore::new(self.services.clone(), name.as_ref())
    }

    /// Whether `holder` is of this process: a hold of any of its clients, or what servers have
    /// granted to an acquire that is under way or being taken back.
    ///
    /// Clients with another [clock](ClientBuilder::clock) count as another process.
    #[must_use]
    pub fn is_own(&self, holder: &Holder) -> bool {
        self.services.process.made(holder)
    }

    /// What the server is called in errors and ballots: no credentials.
    #[must_use]
    pub fn node_id(&self) -> &NodeId {
        self.services.node_id()
    }

    /// What the connections of the server are called; those without a name are left out. Of a cluster, those
    /// of one of its masters.
    ///
    /// Those of this library are called `palisade:<uuid>:<name>`: the holder ids of a process begin with its
    /// uuid, so this tells on whose behalf a [holder](Holder) holds. The user needs `+client|list`.
    ///
    /// # Errors
    /// [`ConnectError`] if the server cannot be asked now, or refuses; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn names_of_connections(&self) -> Result<Vec<String>, ConnectError> {
        let services = &self.services;
        services.check_here()?;
        let deadline = services.process.clock.now() + services.settings.node_timeout;
        let asked = async {
            // Any key will do.
            let connection = services.node.connection(services.node.marker(), deadline).await?;
            connection.names_of_connections(deadline).await
        };
        let failed = |source| ConnectError::Node { node: self.node_id().clone(), source };
        asked.await.map_err(failed)
    }

    /// The operator's word that the server is new: that it holds everything it ever granted. Then
    /// its votes count at once for locks that would wait for it: [`Masters::bless`], of one server, or of all
    /// masters of one cluster.
    ///
    /// By default no lock waits whose only server it is, unless a failover may replace that; with
    /// [`Quarantine::Always`](crate::Quarantine) all do. Of a cluster the ages of its masters alone tell whether
    /// it was blessed before in an earlier life. The masters of a fleet are blessed together,
    /// and not one by one: those that were blessed apart are [no
    /// fleet](ConfigError::DifferentFleets).
    ///
    /// # Errors
    /// [`BlessError`]: the server is not young, was blessed before, or cannot be asked. Everything is
    /// checked before anything is written.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the marker on the server, whose votes then count at once.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{Client, Quarantine, error::BlessError};
    ///
    /// let careful = Client::builder().quarantine(Quarantine::Always);
    /// let client = careful.url("redis://127.0.0.1:6379").connect().await?;
    /// // Where a server is set up, after its first start.
    /// match client.bless().await {
    ///     Ok(()) | Err(BlessError::Old { .. }) => {}
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn bless(&self) -> Result<(), BlessError> {
        bless(std::slice::from_ref(&self.services), false).await
    }

    /// Ends all holds and attempts of this client, also of futures that are not polled. It waits until their
    /// releases and all others that are under way are confirmed, and closes the connections.
    ///
    /// Live guards are [lost](LostCause::Shutdown). From now on every acquire fails. A
    /// [`release`](crate::LockGuard::release) that was begun counts until its future is polled or dropped: do not
    /// park one beside this. In a child by
    /// `fork()` of the process that made the client this does nothing.
    ///
    /// # Errors
    /// [`ShutdownError`] if the servers did not confirm within `limit`. Those keys end with their
    /// lease. The client is closed all the same.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the client without holds; what is under way goes on.
    pub async fn shutdown(&self, limit: Duration) -> Result<(), ShutdownError> {
        if !self.services.process.home.is_here() {
            return Ok(());
        }
        self.services.close();
        for claim in self.services.claims() {
            claim.shut_down(LostCause::Shutdown);
        }
        draining::end_attempts(&self.services);
        let clock = &self.services.process.clock;
        let deadline = clock.sleep_until(clock.now() + limit);
        tokio::select! {
            biased;
            () = self.services.drain.drained() => {}
            () = deadline => {}
        }
        self.services.leave(limit).await;
        self.services.node.close();
        match self.services.drain.under_way() {
            0 => Ok(()),
            unfinished => Err(ShutdownError { unfinished }),
        }
    }

    /// Lets all work under locks of this client come to its end, for `limit` at most: for a program that is to
    /// stop. Returns how many holds were left.
    ///
    /// Acquires from outside are refused, and waits end, with
    /// [`Draining`](crate::AcquireError::Draining). What a holder still needs goes on: guards are
    /// [entered again](crate::LockGuard::reenter), and an [`Owner`](crate::Owner) that holds a lock (permits do not
    /// count) acquires more, by name or within its [scope](crate::Owner::scope); leases are renewed and healed. At the
    /// limit what is left is [lost](LostCause::Shutdown). Nothing is acquired after that;
    /// [`shutdown`](Self::shutdown) waits for the last releases and closes the connections.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the client draining, without an end: call it again.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use palisade::AcquireError;
    ///
    /// let client = palisade::embedded::Server::start()?.client()?;
    /// let left = client.drain(Duration::from_secs(20)).await;
    /// assert_eq!(left, 0);
    /// assert!(matches!(client.lock("x").acquire().await, Err(AcquireError::Draining)));
    /// client.shutdown(Duration::from_secs(2)).await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    pub async fn drain(&self, limit: Duration) -> usize {
        draining::drain(vec![self.services.clone()], limit).await
    }

    /// Completes once the client is connected, or known not to be.
    pub(crate) async fn connected(&self) -> Result<(), NodeError> {
        let services = &self.services;
        // The attempt ends by itself, and says why: it is not to be given up at that very moment.
        let deadline =
            services.process.clock.now() + services.settings.connect_timeout.saturating_mul(2);
        // Any key will do.
        services.node.connection(services.node.marker(), deadline).await.map(drop)
    }

    /// How many subscriptions stand, for waiters.
    #[doc(hidden)]
    #[must_use]
    pub fn subscriptions(&self) -> usize {
        self.services.notifier.subscriptions()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("node", self.node_id()).finish_non_exhaustive()
    }
}
