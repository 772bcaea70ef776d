//! A node as it was configured: where it is, how to log in, and what makes two the same.

use std::{fmt, io, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use redis::{ConnectionAddr, ConnectionInfo, RedisConnectionInfo};

#[cfg(feature = "embedded")]
use super::address::Lead;
#[cfg(feature = "tls")]
use super::tls::{Secured, Tls, TlsIdentity};
use super::{
    address::{Address, Spoken, has_io, no_io},
    credentials::Fetch,
    directory::{Directory, HostPort, shown},
    places::ClusterAddresses,
    sentinels_word::Whereabouts,
    settings::NodeSettings,
    stream::Stream,
    tcp,
    theirs::Theirs,
    url,
};
use crate::{
    clock::SharedClock,
    error::{ConfigError, NodeId},
};

/// Where one node is and how to log in there. Debug never shows credentials.
#[derive(Clone)]
pub(crate) struct Endpoint {
    id: NodeId,
    /// The same without the database.
    name: Arc<str>,
    address: Address,
    login: RedisConnectionInfo,
    /// Where user and password come from, if they change.
    fetch: Option<Arc<Fetch>>,
    theirs: Theirs,
    spoken: Spoken,
    /// Whether it is one of many, and what is granted there may move to another.
    is_of_cluster: bool,
    #[cfg(feature = "tls")]
    tls: Option<Secured>,
}

/// What a connection is made with: where it leads, and by which login. Nothing of it is ever shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionKey {
    /// With the database; and each connector has one of its own.
    id: NodeId,
    user: Option<Arc<str>>,
    password: Option<Arc<str>>,
    /// Where its code is.
    fetch: usize,
    #[cfg(feature = "tls")]
    tls: Option<TlsIdentity>,
    connect_timeout: Duration,
    /// How many replicas are to have what is written, and how soon.
    replicated: Option<(u32, Duration)>,
    /// Whether the servers of a cluster publish by shard, if the user says.
    is_sharded: Option<bool>,
}

impl Endpoint {
    /// Reads an URL.
    pub(crate) fn parse(url: &str) -> Result<Self, ConfigError> {
        let (info, is_tls) = url::read(url)?;
        let endpoint = Self::of(&info)?;
        let spoken = if is_tls { Spoken::Tls } else { endpoint.spoken };
        Ok(Self { spoken, ..endpoint })
    }

    /// Takes what redis-rs was told.
    pub(crate) fn of(info: &ConnectionInfo) -> Result<Self, ConfigError> {
        let Some((address, name, spoken)) = Address::of(info.addr())? else {
            return Err(ConfigError::UnsupportedUrl { scheme: "unknown".into() });
        };
        Ok(Self::new(address, &name, info.redis_settings().clone(), spoken))
    }

    /// The host may be the name or the number of one.
    pub(crate) fn host(host: &str, port: u16) -> Result<Self, ConfigError> {
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        if bare.is_empty() || bare.contains(|c: char| c.is_whitespace() || "/@,".contains(c)) {
            let reason = "must be the name of a host, or its number".into();
            return Err(ConfigError::InvalidSetting { setting: "host", reason });
        }
        let addr = ConnectionAddr::Tcp(bare.to_owned(), port);
        let (address, name, _) = Address::of(&addr)?.expect("invariant: TCP is known");
        Ok(Self::new(address, &name, RedisConnectionInfo::default(), Spoken::AsAsked))
    }

    /// The master that sentinels know; over TLS as `is_tls` says, or else is asked for.
    pub(crate) fn told_by(
        directory: Directory,
        login: RedisConnectionInfo,
        is_tls: Option<bool>,
    ) -> Result<Self, ConfigError> {
        if is_tls == Some(true) && !cfg!(feature = "tls") {
            return Err(ConfigError::UnsupportedUrl { scheme: "rediss".into() });
        }
        let name = directory.name();
        Ok(Self::new(Address::Told(Box::new(directory)), &name, login, Spoken::of(is_tls)))
    }

    /// The servers of a cluster; over TLS as `is_tls` says, or else is asked for.
    pub(crate) fn cluster(
        places: ClusterAddresses,
        login: RedisConnectionInfo,
        is_tls: Option<bool>,
    ) -> Result<Self, ConfigError> {
        if is_tls == Some(true) && !cfg!(feature = "tls") {
            return Err(ConfigError::UnsupportedUrl { scheme: "rediss".into() });
        }
        let name = places.name();
        Ok(Self::new(Address::Cluster(places), &name, login, Spoken::of(is_tls)))
    }

    /// One server of a cluster.
    pub(crate) fn at(&self, place: &HostPort) -> Self {
        let name = shown(place);
        Self {
            id: NodeId::new(&name),
            name: name.into(),
            address: Address::Tcp(place.0.clone(), place.1),
            is_of_cluster: true,
            #[cfg(feature = "tls")]
            tls: self.tls.clone(),
            ..self.clone()
        }
    }

    /// A node that is reached through streams the caller makes; `label` tells it from others.
    pub(crate) fn connector<F>(label: &str, connect: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync + 'static,
    {
        Self::reached_through(Address::Connector(Arc::new(connect)), label)
    }

    /// The same, to a master that is followed.
    #[cfg(feature = "embedded")]
    pub(crate) fn led(label: &str, lead: Lead) -> Self {
        Self::reached_through(Address::Led(lead), label)
    }

    fn reached_through(address: Address, label: &str) -> Self {
        let endpoint = Self::new(address, label, RedisConnectionInfo::default(), Spoken::AsAsked);
        Self { id: NodeId::new(label), ..endpoint }
    }

    fn new(address: Address, name: &str, login: RedisConnectionInfo, spoken: Spoken) -> Self {
        Self {
            id: NodeId::new(&format!("{name}/{}", login.db())),
            name: name.into(),
            address,
            login: login.set_skip_set_lib_name(),
            fetch: None,
            theirs: Theirs::new(),
            spoken,
            is_of_cluster: false,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// The same server, reached in the way of another: with its name.
    pub(crate) fn reached_by(self, connector: Self) -> Self {
        Self { id: connector.id, name: connector.name, address: connector.address, ..self }
    }

    /// As this user; what is `None` stays as it is.
    pub(crate) fn logging_in(
        mut self,
        user: Option<&str>,
        password: Option<&str>,
        database: Option<u32>,
    ) -> Self {
        if let Some(user) = user {
            self.login = self.login.set_username(user);
        }
        if let Some(password) = password {
            self.login = self.login.set_password(password);
        }
        if let Some(database) = database {
            self.login = self.login.set_db(database.into());
            if !self.address.is_of_callers_making() {
                self.id = NodeId::new(&format!("{}/{database}", self.name));
            }
        }
        self
    }

    /// By the login that is told at each connect.
    pub(crate) fn asking(self, fetch: Option<Arc<Fetch>>) -> Self {
        Self { fetch, ..self }
    }

    /// Over TLS, if the address says so or it is asked for; by the settings that were given, or by default.
    #[cfg(feature = "tls")]
    pub(crate) fn secured(mut self, tls: Option<&Tls>) -> Result<Self, ConfigError> {
        let by_default = Tls::default();
        let tls = match (self.spoken, tls) {
            // It is for the sentinels.
            (Spoken::Plain, Some(_)) if self.directory().is_some_and(Directory::is_over_tls) => {
                return Ok(self);
            }
            (Spoken::Plain, Some(_)) => {
                let reason = "the server's address is one without TLS; say rediss://".into();
                return Err(ConfigError::InvalidSetting { setting: "tls", reason });
            }
            (Spoken::Plain | Spoken::AsAsked, None) => return Ok(self),
            (_, tls) => tls.unwrap_or(&by_default),
        };
        let secured = Secured::new(tls)?;
        self.tls = Some(match &self.address {
            Address::Told(_) | Address::Cluster(_) => secured,
            Address::Tcp(host, _) => secured.of_host(Some(host))?,
            _ => secured.of_host(None)?,
        });
        Ok(self)
    }

    pub(crate) fn id(&self) -> &NodeId {
        &self.id
    }

    /// The number of the database.
    pub(crate) fn db(&self) -> i64 {
        self.login.db()
    }

    /// Whether both lead to one address, in whatever database. Each connector is an address of its own.
    pub(crate) fn shares_address(&self, other: &Self) -> bool {
        match (&self.address, &other.address) {
            (Address::Tcp(host, port), Address::Tcp(other_host, other_port)) => {
                (host, port) == (other_host, other_port)
            }
            (Address::Unix(path), Address::Unix(other)) => path == other,
            (Address::Told(directory), Address::Told(other)) => directory.is_that_of(other),
            (Address::Cluster(places), Address::Cluster(other)) => places.are_those_of(other),
            _ => self.id == other.id,
        }
    }

    pub(crate) fn identity(&self, settings: &NodeSettings) -> ConnectionKey {
        let text = |text: Option<&str>| text.map(Arc::from);
        let (user, password) = (text(self.login.username()), text(self.login.password()));
        ConnectionKey {
            id: self.id.clone(),
            user,
            password,
            fetch: self.fetch.as_ref().map_or(0, |fetch| Arc::as_ptr(fetch).addr()),
            #[cfg(feature = "tls")]
            tls: self.tls.as_ref().map(|tls| tls.identity().clone()),
            connect_timeout: settings.connect_timeout,
            replicated: settings.replicated.as_ref().map(|rule| (rule.by, rule.within)),
            is_sharded: settings.sharding.said(),
        }
    }

    pub(crate) fn fetch(&self) -> Option<&Arc<Fetch>> {
        self.fetch.as_ref()
    }

    /// Where code of the user's runs.
    pub(crate) fn theirs(&self) -> &Theirs {
        &self.theirs
    }

    /// User, password and database.
    pub(crate) fn login(&self) -> &RedisConnectionInfo {
        &self.login
    }

    /// Whether streams cannot be made on the current runtime. For those of a caller's making it may
    /// need no sockets.
    pub(crate) fn lacks_io_here(&self) -> bool {
        !self.address.is_of_callers_making() && !has_io()
    }

    /// Where the server is now, if others have to be asked for that.
    pub(crate) async fn told(&self, clock: &SharedClock) -> io::Result<Option<Whereabouts>> {
        match &self.address {
            _ if self.lacks_io_here() => Err(no_io()),
            Address::Told(directory) => directory.master(clock).await.map(Some),
            _ => Ok(None),
        }
    }

    /// Makes a stream, on which nothing has been sent yet, to where it was [told](Self::told) to be; and where
    /// it leads, if that may change.
    pub(crate) async fn dial(
        &self,
        told: Option<Whereabouts>,
        clock: &SharedClock,
    ) -> io::Result<(Box<dyn Stream>, Option<Whereabouts>)> {
        if self.lacks_io_here() {
            return Err(no_io());
        }
        if let Some(told) = told {
            let (host, port) = &told.place;
            let stream = tcp::connect(host, *port, clock).await?;
            return Ok((Box::new(stream), Some(told)));
        }
        self.address.dial(&self.name, &self.theirs, clock).await
    }

    /// Whether it may be another server later.
    pub(crate) fn is_followed(&self) -> bool {
        #[cfg(feature = "embedded")]
        if matches!(self.address, Address::Led(_)) {
            return true;
        }
        self.directory().is_some()
    }

    /// Whether a replica may take a master's place.
    pub(crate) fn may_fail_over(&self) -> bool {
        self.is_followed() || self.is_cluster()
    }

    /// Whether it is many servers.
    pub(crate) fn is_cluster(&self) -> bool {
        self.places().is_some()
    }

    /// Where those are.
    pub(crate) fn places(&self) -> Option<&ClusterAddresses> {
        match &self.address {
            Address::Cluster(places) => Some(places),
            _ => None,
        }
    }

    /// Which of those it is.
    pub(crate) fn place_in_cluster(&self) -> Option<HostPort> {
        match &self.address {
            Address::Tcp(host, port) if self.is_of_cluster => Some((host.clone(), *port)),
            _ => None,
        }
    }

    /// Where it is, if that is said by its address.
    #[cfg(feature = "tls")]
    pub(crate) fn place(&self) -> Option<HostPort> {
        match &self.address {
            Address::Tcp(host, port) => Some((host.clone(), *port)),
            _ => None,
        }
    }

    /// Whether it is one of those.
    pub(crate) fn is_of_cluster(&self) -> bool {
        self.is_of_cluster
    }

    /// What tells where it is, if that may change.
    pub(crate) fn directory(&self) -> Option<&Directory> {
        match &self.address {
            Address::Told(directory) => Some(directory),
            _ => None,
        }
    }

    /// Whether TLS is spoken.
    pub(crate) fn is_secured(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        false
    }

    /// What is to be put around its streams.
    #[cfg(feature = "tls")]
    pub(crate) fn tls(&self) -> Option<&Secured> {
        self.tls.as_ref()
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.id).finish()
    }
}

impl fmt::Debug for ConnectionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_the_server_and_the_database_without_credentials() {
        for (url, id) in [
            ("redis://localhost", "localhost:6379/0"),
            ("redis://user:secret@10.0.0.1:7001/3", "10.0.0.1:7001/3"),
            ("valkey://h:1/?protocol=resp3", "h:1/0"),
            ("redis://[::1]:7001", "[::1]:7001/0"),
            ("unix:///run/redis.sock?db=2&pass=secret", "unix:/run/redis.sock/2"),
            ("redis+unix:///run/redis.sock", "unix:/run/redis.sock/0"),
        ] {
            let endpoint = Endpoint::parse(url).unwrap();
            assert_eq!(endpoint.id().as_str(), id, "{url}");
            assert!(!format!("{endpoint:?}").contains("secret"));
        }
    }
}
