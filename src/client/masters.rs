//! Several independent masters under one handle.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;

use super::{Client, ClientBuilder, draining::drain};
use crate::{
    composite::{
        FencedMultiLock, FencedRedLock, Inspection, MultiLock, RedLock, RedRwLock, Revocation,
    },
    elections::Election,
    error::{Ballot, BlessError, ConfigError, ConnectError, NodeId, ShutdownError, Vote},
    kinds::{FencedLock, Lock, Mutex, ReadLock, RwLock, WriteLock},
    logging::NODE,
    process::NodeServices,
    telling,
    voting::{bless, check_bless},
};

/// Clients of several independent masters, for locks over all of them.
///
/// # Examples
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use palisade::Masters;
///
/// let masters = Masters::connect(["redis://a", "redis://b", "redis://c"]).await?;
/// let guard = masters.red_lock("migration").acquire().await?;
/// println!("{}", masters.inspect("migration").await);
/// guard.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Masters {
    clients: Arc<[Client]>,
}

impl Masters {
    /// Clients for `urls`, connected in parallel. Servers that cannot be reached now are connected
    /// in the background: a majority may still be there. That fewer answered is said at `warn`.
    ///
    /// # Errors
    /// [`ConnectError::Config`] if an URL cannot be read, there is none, or one is named twice.
    /// [`ConnectError::Masters`] if none of them can be reached now.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connections.
    pub async fn connect<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, ConnectError> {
        Self::connect_with(Client::builder(), urls).await
    }

    /// The same without any I/O: connects at the first use, and as often as needed.
    ///
    /// # Errors
    /// [`ConfigError`] if an URL cannot be read, there is none, or one is named twice.
    pub fn connect_lazy<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, ConfigError> {
        Self::build_with(Client::builder(), urls)
    }

    /// The same with settings for all of them. A server that `settings` name plays no part.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and if a setting cannot work.
    ///
    /// # Cancel safety
    /// As [`connect`](Self::connect).
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::time::Duration;
    /// use palisade::{Client, Masters};
    ///
    /// let settings = Client::builder().name("billing").max_lease(Duration::from_secs(30));
    /// let urls = ["redis://a", "redis://b", "redis://c"];
    /// let masters = Masters::connect_with(settings, urls).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect_with<U: AsRef<str>>(
        settings: ClientBuilder,
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, ConnectError> {
        let masters = Self::build_with(settings, urls)?;
        masters.clients.iter().try_for_each(|client| client.services.check_runtime())?;
        let said = join_all(masters.clients.iter().map(Client::connected)).await;
        let failed = said.iter().filter(|said| said.is_err()).count();
        let votes = masters.clients.iter().zip(said).map(|(client, said)| {
            let vote = said.map_or_else(Vote::Failed, |()| Vote::Pending);
            (client.node_id().clone(), vote)
        });
        let votes: Vec<_> = votes.filter(|(_, vote)| matches!(vote, Vote::Failed(_))).collect();
        let (ballot, all) = (Ballot::new(votes), masters.clients.len());
        if failed == all {
            return Err(ConnectError::Masters { ballot });
        }
        if failed > all - (all / 2 + 1) {
            telling::event(move || {
                tracing::warn!(
                    target: NODE, %ballot,
                    "so few masters can be reached that no majority is left: they are tried again at each use"
                );
            });
        }
        Ok(masters)
    }

    /// The same without any I/O: connects at the first use.
    ///
    /// # Errors
    /// [`ConfigError`] if an URL cannot be read, there is none, or one is named twice, and if a setting cannot
    /// work.
    pub fn build_with<U: AsRef<str>>(
        settings: ClientBuilder,
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, ConfigError> {
        let clients = urls.into_iter().map(|url| settings.clone().only_url(url.as_ref()).build());
        Self::new(clients.collect::<Result<Vec<_>, _>>()?)
    }

    /// The same from clients that were set up one by one.
    ///
    /// # Errors
    /// [`ConfigError`] without clients, if two are of the same server, or have different namespaces.
    pub fn new(clients: impl IntoIterator<Item = Client>) -> Result<Self, ConfigError> {
        let masters = Self { clients: clients.into_iter().collect() };
        let mut namespaces = masters.clients.iter().map(|it| &it.services.settings.namespace);
        let first = namespaces.next();
        if !namespaces.all(|namespace| Some(namespace) == first) {
            let reason = "must be the same for all masters".into();
            return Err(ConfigError::InvalidSetting { setting: "namespace", reason });
        }
        // The strictest composite checks what makes masters independent.
        RedLock::new(masters.members("masters"))?;
        Ok(masters)
    }

    /// The lock `name`, held by a majority. Sends no call.
    #[must_use]
    pub fn red_lock(&self, name: impl AsRef<str>) -> RedLock {
        RedLock::new(self.members(name.as_ref()))
            .expect("invariant: checked when the masters were made")
    }

    /// The lock `name`, held by all. Sends no call.
    #[must_use]
    pub fn multi_lock(&self, name: impl AsRef<str>) -> MultiLock {
        MultiLock::new(self.members(name.as_ref()))
            .expect("invariant: checked when the masters were made")
    }

    /// The lock `name`, held by a majority, with a fencing token for each holder. Sends no call.
    #[must_use]
    pub fn fenced_red_lock(&self, name: impl AsRef<str>) -> FencedRedLock {
        let lock = FencedRedLock::new(self.fenced_members(name.as_ref()));
        lock.expect("invariant: checked when the masters were made")
    }

    /// The lock `name`, held by all, with a fencing token for each holder. Sends no call.
    #[must_use]
    pub fn fenced_multi_lock(&self, name: impl AsRef<str>) -> FencedMultiLock {
        let lock = FencedMultiLock::new(self.fenced_members(name.as_ref()));
        lock.expect("invariant: checked when the masters were made")
    }

    /// The election whose leader holds the [`FencedRedLock`] `name`. Sends no call.
    #[must_use]
    pub fn election(&self, name: impl AsRef<str>) -> Election {
        Election::new(self.fenced_red_lock(name))
    }

    /// The lock `name` with many readers or one writer, of which each side is held by a majority. Asks no server.
    #[must_use]
    pub fn rw_lock(&self, name: impl AsRef<str>) -> RedRwLock {
        RedRwLock::new(self.red_read_lock(&name), self.red_write_lock(&name))
    }

    /// The side for readers of the lock `name` with many readers or one writer, held by a majority. Sends
    /// no call.
    ///
    /// # Examples
    /// ```
    /// # #[cfg(feature = "embedded")]
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{Masters, embedded::Server};
    ///
    /// let servers = [Server::start()?, Server::start()?, Server::start()?];
    /// let clients = [servers[0].client()?, servers[1].client()?, servers[2].client()?];
    /// let masters = Masters::new(clients)?;
    /// let one = masters.red_read_lock("config").acquire().await?;
    /// let other = masters.red_read_lock("config").acquire().await?;
    /// assert!(masters.red_write_lock("config").try_acquire().await?.is_none());
    /// one.release().await?;
    /// other.release().await?;
    /// masters.red_write_lock("config").acquire().await?.release().await?;
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "embedded"))]
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn red_read_lock(&self, name: impl AsRef<str>) -> RedLock<ReadLock> {
        RedLock::new(self.rw_members(name.as_ref()).map(|lock| lock.read()))
            .expect("invariant: checked when the masters were made")
    }

    /// The side for writers of the lock `name` with many readers or one writer, held by a majority. Sends
    /// no call.
    #[must_use]
    pub fn red_write_lock(&self, name: impl AsRef<str>) -> RedLock<WriteLock> {
        RedLock::new(self.rw_members(name.as_ref()).map(|lock| lock.write()))
            .expect("invariant: checked when the masters were made")
    }

    /// The side for readers of the lock `name` with many readers or one writer, held by all. Sends no call.
    #[must_use]
    pub fn multi_read_lock(&self, name: impl AsRef<str>) -> MultiLock<ReadLock> {
        MultiLock::new(self.rw_members(name.as_ref()).map(|lock| lock.read()))
            .expect("invariant: checked when the masters were made")
    }

    /// The side for writers of the lock `name` with many readers or one writer, held by all. Sends
    /// no call.
    #[must_use]
    pub fn multi_write_lock(&self, name: impl AsRef<str>) -> MultiLock<WriteLock> {
        MultiLock::new(self.rw_members(name.as_ref()).map(|lock| lock.write()))
            .expect("invariant: checked when the masters were made")
    }

    /// What each server says of the lock `name`.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn inspect(&self, name: impl AsRef<str>) -> Inspection {
        Inspection::of(&self.members(name.as_ref())).await
    }

    /// Takes the lock `name` away from one holder, as [`Lock::revoke`](crate::Lock::revoke) does, on each server at once:
    /// other holders are granted it when its ttl is over on a majority.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it open on which servers it was taken away.
    pub async fn revoke(&self, name: impl AsRef<str>, holder_id: &str) -> Revocation {
        Revocation::of(&self.members(name.as_ref()), holder_id, false).await
    }

    /// The same, and gives it back at once: two may believe that they hold it, as after
    /// [`Lock::revoke_now`](crate::Lock::revoke_now).
    ///
    /// # Cancel safety
    /// As [`revoke`](Self::revoke).
    pub async fn revoke_now(&self, name: impl AsRef<str>, holder_id: &str) -> Revocation {
        Revocation::of(&self.members(name.as_ref()), holder_id, true).await
    }

    /// The operator's word that these masters are new: that each holds everything it ever granted.
    /// Then their votes count at once, and not only after the time of the
    /// [`Quarantine`](crate::Quarantine).
    ///
    /// Writes a mark on each, in the key `palisade:marker` of its database. It is void as soon as
    /// the master restarts or loses its data. All masters of a fleet are blessed together, by the
    /// strictest rule that can be checked. Each was started lately, and none carries the mark of a
    /// blessing or a vote, not even an old one. One by which it only waits does not matter.
    ///
    /// What cannot be checked is whether one of them has voted since its first start, then
    /// restarted and forgotten its vote. So call this where the masters are set up, after their
    /// first start, and never where they are started again. Without it nothing is lost but time.
    ///
    /// # Errors
    /// [`BlessError`]. Everything is checked before anything is written.
    ///
    /// # Cancel safety
    /// Dropping the future may leave marks on some of the masters, which then vote at once.
    pub async fn bless(&self) -> Result<(), BlessError> {
        bless(&self.services(), false).await
    }

    /// The same for masters that have been running for long, or come with marks of an earlier life. The caller knows
    /// better than the rules, for instance after a restart with all data, and that is not checked.
    ///
    /// From then on the masters are waited for as long as the settings of these clients say, also where another program
    /// once had longer leases. Only a master that loses its data while it runs still waits for those: that they were
    /// is kept beside the data, until it starts again.
    ///
    /// # Errors
    /// As [`bless`](Self::bless), except that age and marks do not matter.
    ///
    /// # Cancel safety
    /// As [`bless`](Self::bless).
    pub async fn bless_by_force(&self) -> Result<(), BlessError> {
        bless(&self.services(), true).await
    }

    /// Whether [`bless`](Self::bless) would bless these masters, and for how long each has been running: to
    /// show before the word is given. Writes nothing.
    ///
    /// # Errors
    /// [`BlessError`]: what `bless` would fail with.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn check_bless(&self) -> Result<Vec<(NodeId, Duration)>, BlessError> {
        check_bless(&self.services()).await
    }

    /// The clients, in the order in which they were given.
    #[must_use]
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// [Shuts down](Client::shutdown) all clients at once.
    ///
    /// # Errors
    /// [`ShutdownError`] with the sum of what was not confirmed within `limit`.
    ///
    /// # Cancel safety
    /// As [`Client::shutdown`].
    pub async fn shutdown(&self, limit: Duration) -> Result<(), ShutdownError> {
        let all = join_all(self.clients.iter().map(|client| client.shutdown(limit))).await;
        match all.into_iter().filter_map(Result::err).map(|error| error.unfinished).sum() {
            0 => Ok(()),
            unfinished => Err(ShutdownError { unfinished }),
        }
    }

    /// [Drains](Client::drain) all clients at once. Returns how many holds were left, each once, on however many
    /// masters it is.
    ///
    /// # Cancel safety
    /// As [`Client::drain`].
    pub async fn drain(&self, limit: Duration) -> usize {
        drain(self.services(), limit).await
    }

    fn services(&self) -> Vec<Arc<NodeServices>> {
        self.clients.iter().map(|client| client.services.clone()).collect()
    }

    fn fenced_members(&self, name: &str) -> impl Iterator<Item = FencedLock> {
        self.clients.iter().map(move |client| client.fenced_lock(name))
    }

    fn rw_members(&self, name: &str) -> impl Iterator<Item = RwLock> {
        self.clients.iter().map(move |client| client.rw_lock(name))
    }

    fn members(&self, name: &str) -> Vec<Lock> {
        // They share a namespace: checked when they were made.
        let key = self.clients.first().map_or(name.into(), |client| client.services.key_of(name));
        let mutex = Arc::new(Mutex::new(&key));
        self.clients.iter().map(|client| Lock::of(client.services.clone(), mutex.clone())).collect()
    }
}
