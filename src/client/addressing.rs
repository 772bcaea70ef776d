//! How a server is named, and by which user a client logs in.

use std::{fmt, io, sync::Arc};

use futures::FutureExt;
use redis::ConnectionInfo;

use super::{ClientBuilder, address::Deployment, sentinel::Sentinels};
#[cfg(feature = "tls")]
use crate::reach::Tls;
use crate::{
    error::ConfigError,
    reach::{Credentials, Endpoint, Stream},
};

impl ClientBuilder {
    /// The server: `redis://[user:password@]host[:port][/db]` or `unix:///path`; with the feature `tls`
    /// also `rediss://`, which is TLS. In place of any that was named before.
    ///
    /// The master of [sentinels](Self::sentinels) is
    /// `redis+sentinel://[user:password@]host[:port],host[:port]/service[/db]`, with
    /// `?sentinel_username=…&sentinel_password=…&sentinel_tls=true` if they want to know, and `rediss+sentinel`
    /// if the master speaks TLS. A [cluster](Self::cluster) is
    /// `redis+cluster://[user:password@]host[:port],host[:port]`, or `rediss+cluster`.
    pub fn url(mut self, url: &str) -> Self {
        self.address.place = Some(Deployment::Url(url.to_owned()));
        self
    }

    /// The same, whatever server was named before, and in whatever way it was to be reached.
    pub(super) fn only_url(mut self, url: &str) -> Self {
        self.address.connector = None;
        self.url(url)
    }

    /// The server by its host, a name or a number, IPv6 too; without an URL, in which much would have
    /// to be encoded. In place of any that was named before.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::Client;
    ///
    /// let password = "s/e@c:r%et";
    /// let client =
    ///     Client::builder().host("fd00::7", 6379).user("app").password(password).build()?;
    /// assert_eq!(client.node_id().as_str(), "[fd00::7]:6379/0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn host(mut self, host: &str, port: u16) -> Self {
        self.address.place = Some(Deployment::Host(host.to_owned(), port));
        self
    }

    /// The master that sentinels watch over, wherever it is. In place of any server that was named before.
    ///
    /// It is looked for at each connect; and a connection to a server that is the master no longer, as far
    /// as the sentinels say, is given up. What is granted there is protected as
    /// [`Failover`](crate::settings::Failover) says.
    pub fn sentinels(mut self, sentinels: Sentinels) -> Self {
        self.address.place = Some(Deployment::Sentinels(sentinels));
        self
    }

    /// A Redis Cluster, of which some servers are named by `host` or `host:port`; 6379 is the usual port. In
    /// place of any server that was named before.
    ///
    /// A lock is where its slot is, wherever that moves while it is held or waited for. A waiter is [told of
    /// releases](Self::sharded_pubsub) as Redisson's cluster client tells its own. Which rights the user needs:
    /// [`Rights::in_cluster`](crate::acl::Rights::in_cluster).
    ///
    /// What is granted is protected as [`Failover`](crate::settings::Failover) says. A promoted replica, and a
    /// master that was started anew, grant nothing in the slots that they serve until every lease is over that they
    /// may not have. The mark of each master is a key `palisade_mark:` of its run, in whatever slot that is. A new
    /// cluster is blessed once by [`Client::bless`](crate::Client::bless), or waits as long.
    ///
    /// **Not noticed**: FLUSHALL on one of several masters; a slot that is moved away from a master while that
    /// waits, to one that does not. Nor is a lock that is forced open while its master waits, if its holder writes
    /// it again.
    ///
    /// While a slot moves, a call that names several keys is refused if only some of them are where it asks, and
    /// made again within its time. So are most grants but those of a [`Lock`](crate::Lock), and the renewal of a
    /// [write lock](crate::rw::WriteLock). One whose slot stays half moved for a lease is lost, and so is whatever
    /// has keys of its own on both sides for so long.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::Client;
    ///
    /// let builder = Client::builder().cluster(["redis-1:7000", "redis-2:7000", "redis-3:7000"]);
    /// let client = builder.build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cluster<A: AsRef<str>>(mut self, addresses: impl IntoIterator<Item = A>) -> Self {
        let addresses = addresses.into_iter().map(|it| it.as_ref().to_owned()).collect();
        self.address.place = Some(Deployment::Cluster(addresses));
        self
    }

    /// Whether releases are announced by sharded pub/sub, in a [cluster](Self::cluster) only: to waiters on the
    /// server of the lock's slot, and not by way of every server. Defaults to what the first server can that is
    /// asked: Redis 7 and Valkey can, as does Redisson's `shardedSubscriptionMode` of `AUTO`.
    ///
    /// All clients that share locks must agree on it. A listener in one way does not hear of releases in the
    /// other, and looks every 5 s or when a lease ends. So say it while a cluster is upgraded from Redis 6.2, and
    /// where the Java services have set theirs to `ON` or `OFF`. Give all users of a cluster the
    /// [rights](crate::acl::Rights::in_cluster), too: one that may not ask for `PUBSUB SHARDNUMSUB` counts as one
    /// whose servers do not know it.
    ///
    /// While a slot is half moved, what is announced where it goes to is not heard: a waiter that is refused
    /// there asks every 250 ms.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::Client;
    ///
    /// let builder = Client::builder().cluster(["redis-1", "redis-2"]);
    /// let client = builder.sharded_pubsub(false).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn sharded_pubsub(mut self, sharded: bool) -> Self {
        self.sharded_pubsub = Some(sharded);
        self
    }

    /// What an address is reached by that [sentinels](Self::sentinels) or servers of a
    /// [cluster](Self::cluster) tell, behind a NAT or in a tunnel. It must not block.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::{Client, settings::Sentinels};
    ///
    /// let client = Client::builder()
    ///     .sentinels(Sentinels::new(["127.0.0.1:26379"], "orders"))
    ///     .address_map(|_host, port| ("127.0.0.1".to_owned(), port + 10_000))
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn address_map(
        mut self,
        map: impl Fn(&str, u16) -> (String, u16) + Send + Sync + 'static,
    ) -> Self {
        self.address.map = Some(Arc::new(map));
        self
    }

    /// The user that logs in. In place of the user of an URL.
    pub fn user(mut self, user: &str) -> Self {
        self.address.user = Some(user.to_owned());
        self
    }

    /// With which password. In place of that of an URL; taken as it is.
    pub fn password(mut self, password: &str) -> Self {
        self.address.password = Some(password.to_owned());
        self
    }

    /// The user that logs in, and its password, where that changes while the process runs: tokens of a cloud,
    /// secrets of a vault. In place of those that are said elsewhere.
    ///
    /// `fetch` is called for each connection, of which a process has a few for each server, and has the
    /// [`connect_timeout`](Self::connect_timeout). Before they [end](Credentials::valid_for) it is called
    /// again, and live connections log in anew. If that fails or is refused, an event at `warn` says so; it is
    /// tried each second, and nothing is lost as long as the server keeps the connection.
    ///
    /// On your own runtime it must not block. What renews locks calls it on a thread of its own, where it may.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::{Client, settings::Credentials};
    ///
    /// let from_file = || async {
    ///     let token = tokio::task::spawn_blocking(|| std::fs::read_to_string("/run/secrets/token"));
    ///     let token = token.await.map_err(std::io::Error::other)??;
    ///     Ok::<_, std::io::Error>(Credentials::new("app", token.trim()))
    /// };
    /// let client = Client::builder().host("redis.internal", 6379).credentials(from_file).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn credentials<F, E>(mut self, fetch: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Credentials, E>> + Send + 'static,
        E: fmt::Display,
    {
        let fetch = move || {
            let fetched = fetch();
            async move { fetched.await.map_err(|error| error.to_string()) }.boxed()
        };
        self.address.credentials = Some(Arc::new(fetch));
        self
    }

    /// The number of the database. In place of that of an URL.
    pub fn database(mut self, number: u32) -> Self {
        self.address.database = Some(number);
        self
    }

    /// What TLS trusts, and which certificate it shows, for a server of an `rediss://` URL, a
    /// [host](Self::host) or a [connector](Self::connector). Defaults to the authorities that the system
    /// trusts, for `rediss://` alone.
    ///
    /// An URL or unix socket without TLS beside it is an error.
    #[cfg(feature = "tls")]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.address.tls = Some(tls);
        self
    }

    /// The server, reached over streams of the caller's making: a tunnel, a simulated network.
    ///
    /// `label` stands for the address in errors and ballots. User, password and database, whether TLS is
    /// spoken, and the name that its certificate must bear are those of the server that is [named](Self::url)
    /// too, before or after. Its address is not used.
    ///
    /// On your own runtime it must not block. What renews locks calls it on a thread of its own, where it may.
    ///
    /// # Examples
    /// ```
    /// # fn main() -> Result<(), palisade::error::ConfigError> {
    /// use palisade::Client;
    /// use tokio::net::TcpStream;
    ///
    /// let client = Client::builder()
    ///     .connector("redis behind the tunnel", || TcpStream::connect("127.0.0.1:16379"))
    ///     .url("redis://app:secret@redis/2")
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn connector<S, F>(
        mut self,
        label: &str,
        connect: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: Stream,
        F: Future<Output = io::Result<S>> + Send + 'static,
    {
        let connect = move || {
            let stream = connect();
            async move { stream.await.map(|stream| Box::new(stream) as Box<dyn Stream>) }.boxed()
        };
        self.address.connector = Some((label.to_owned(), Arc::new(connect)));
        self
    }
}

/// The server of redis-rs' settings: address, user, password and database. Their protocol, and what they
/// say of sockets, is not used.
///
/// # Errors
/// [`ConfigError`] if they bring certificates of their own, or leave those of servers unverified: those are
/// to be given by `ClientBuilder::tls`.
impl TryFrom<ConnectionInfo> for ClientBuilder {
    type Error = ConfigError;

    fn try_from(info: ConnectionInfo) -> Result<Self, ConfigError> {
        Endpoint::of(&info)?;
        let mut builder = Self::default();
        builder.address.place = Some(Deployment::Info(Box::new(info)));
        Ok(builder)
    }
}
