//! Where a node is, and how a byte stream to it is made.

use std::{cell::Cell, fmt, io, net::Ipv4Addr, path::PathBuf, sync::Arc, time::Duration};

use futures::future::BoxFuture;
use redis::{ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UdpSocket,
};

use super::tcp;
use crate::{
    clock::{Known, SharedClock, is_possible_here},
    error::{ConfigError, NodeId},
};

/// Where one node is and how to log in there. Debug never shows credentials.
#[derive(Clone)]
pub(crate) struct Endpoint {
    id: NodeId,
    address: Address,
    login: RedisConnectionInfo,
}

#[derive(Clone)]
enum Address {
    Tcp(Arc<str>, u16),
    Unix(PathBuf),
    Connector(Dial),
}

/// What a connection is made with: where it leads, and as whom. Nothing of it is ever shown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity {
    /// With the database; and each connector has one of its own.
    id: NodeId,
    user: Option<Arc<str>>,
    password: Option<Arc<str>>,
    connect_timeout: Duration,
}

/// Makes a stream to the node.
type Dial = Arc<dyn Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync>;

impl Endpoint {
    /// Reads `redis://`, `valkey://`, `unix://` and `redis+unix://` as redis-rs does.
    pub(crate) fn parse(url: &str) -> Result<Self, ConfigError> {
        let scheme = scheme(url)?;
        if !is_spoken(scheme) {
            return Err(ConfigError::UnsupportedUrl { scheme: scheme.into() });
        }
        if is_list(url) {
            return Err(invalid_url("it is a list; each server needs an URL of its own"));
        }
        // The database comes from the path, so a password with an unescaped `/` ends up there:
        // only the text before the detail is ours to repeat.
        let info = url.into_connection_info().map_err(|error| {
            let text = error.to_string();
            invalid(text.split(" - ").next().unwrap_or_default())
        })?;
        let login = info.redis_settings().clone().set_skip_set_lib_name();
        if login.db() < 0 {
            return Err(invalid("the database number is negative"));
        }
        let Some((address, name)) = Address::of(info.addr()) else {
            return Err(ConfigError::UnsupportedUrl { scheme: scheme.into() });
        };
        let id = NodeId::new(&format!("{name}/{}", login.db()));
        Ok(Self { id, address, login })
    }

    /// A node that is reached through streams the caller makes; `label` tells it from others.
    pub(crate) fn connector<F>(label: &str, connect: F) -> Self
    where
        F: Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync + 'static,
    {
        let login = RedisConnectionInfo::default().set_skip_set_lib_name();
        let address = Address::Connector(Arc::new(connect));
        Self { id: NodeId::new(label), address, login }
    }

    pub(crate) fn id(&self) -> &NodeId {
        &self.id
    }

    /// The number of the database.
    pub(crate) fn db(&self) -> i64 {
        self.login.db()
    }

    /// Whether both lead to one address, in whatever database. Each connector is an address of its own.
    pub(super) fn shares_address(&self, other: &Self) -> bool {
        match (&self.address, &other.address) {
            (Address::Tcp(host, port), Address::Tcp(other_host, other_port)) => {
                (host, port) == (other_host, other_port)
            }
            (Address::Unix(path), Address::Unix(other)) => path == other,
            _ => self.id == other.id,
        }
    }

    /// The same with user, password and database of another.
    pub(crate) fn logging_in_as(self, other: Self) -> Self {
        Self { login: other.login, ..self }
    }

    pub(super) fn identity(&self, connect_timeout: Duration) -> Identity {
        let text = |text: Option<&str>| text.map(Arc::from);
        let (user, password) = (text(self.login.username()), text(self.login.password()));
        Identity { id: self.id.clone(), user, password, connect_timeout }
    }

    /// User, password and database.
    pub(super) fn login(&self) -> &RedisConnectionInfo {
        &self.login
    }

    /// Whether streams cannot be made on the current runtime. For those of a caller's making it may
    /// need no sockets.
    pub(super) fn lacks_io_here(&self) -> bool {
        !matches!(self.address, Address::Connector(_)) && !has_io()
    }

    /// Makes a stream, on which nothing has been sent yet.
    pub(super) async fn dial(&self, clock: &SharedClock) -> io::Result<Box<dyn Stream>> {
        if self.lacks_io_here() {
            return Err(io::Error::other("this tokio runtime has no I/O"));
        }
        match &self.address {
            Address::Tcp(host, port) => Ok(Box::new(tcp::connect(host, *port, clock).await?)),
            #[cfg(unix)]
            Address::Unix(path) => Ok(Box::new(tokio::net::UnixStream::connect(path).await?)),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
            Address::Connector(connect) => connect().await,
        }
    }
}

impl Address {
    /// The address with its name for users; `None` if it is neither TCP nor a Unix socket.
    fn of(addr: &ConnectionAddr) -> Option<(Self, String)> {
        match addr {
            ConnectionAddr::Tcp(host, port) => {
                let is_ipv6 = host.contains(':');
                let name =
                    if is_ipv6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
                Some((Self::Tcp(host.as_str().into(), *port), name))
            }
            ConnectionAddr::Unix(path) => {
                Some((Self::Unix(path.clone()), format!("unix:{}", path.display())))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Endpoint").field(&self.id).finish()
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.id).finish_non_exhaustive()
    }
}

/// A byte stream to a node: anything tokio can read and write.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::Client;
/// use tokio::net::TcpStream;
///
/// let tunnel = || TcpStream::connect("127.0.0.1:16379");
/// let client = Client::builder().connector("redis behind the tunnel", tunnel).build()?;
/// # Ok(())
/// # }
/// ```
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for S {}

/// Whether the current runtime has sockets.
fn has_io() -> bool {
    thread_local! {
        static KNOWN: Known = const { Cell::new(None) };
    }
    is_possible_here(&KNOWN, || {
        // Where the system has none to give, that is for the attempt to connect to say.
        if let Ok(socket) = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            && socket.set_nonblocking(true).is_ok()
        {
            drop(UdpSocket::from_std(socket));
        }
    })
}

/// What stands before `://`, if it can be a scheme at all: it is shown in errors, and a password
/// must not be.
fn scheme(url: &str) -> Result<&str, ConfigError> {
    let missing = || invalid("it must look like redis://host:port/db");
    let (scheme, _) = url.split_once("://").ok_or_else(missing)?;
    let plausible = scheme.starts_with(|c: char| c.is_ascii_lowercase())
        && scheme.len() <= 16
        && scheme
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c));
    if plausible { Ok(scheme) } else { Err(missing()) }
}

fn is_spoken(scheme: &str) -> bool {
    matches!(scheme, "redis" | "valkey" | "unix" | "redis+unix" | "valkey+unix")
}

/// Whether several servers are named where one is expected. A password may have commas, a host has
/// none.
fn is_list(url: &str) -> bool {
    let before_query = url.split('?').next().unwrap_or_default();
    let is_url = |text: &str| scheme(text.trim_start()).is_ok_and(is_spoken);
    let host = before_query.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let host = host.and_then(|authority| authority.rsplit('@').next()).unwrap_or_default();
    host.contains(',') || before_query.split(',').skip(1).any(is_url)
}

fn invalid(reason: &str) -> ConfigError {
    let hint = "special characters in user and password are to be percent-encoded";
    invalid_url(&format!("{reason} ({hint})"))
}

fn invalid_url(reason: &str) -> ConfigError {
    ConfigError::InvalidUrl { reason: reason.into() }
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

    #[test]
    fn bad_urls_are_refused_without_repeating_them() {
        for url in [
            "",
            "localhost:6379",
            "redis://",
            "redis://:secret@",
            "redis://:sec/ret@host",
            "redis://user:secret@host:port",
            "redis://user:secret@host/one",
            "redis://user:secret@host/-1",
            "redis://user:secret@host/?protocol=secret",
            "user:secret://host",
        ] {
            let error = Endpoint::parse(url).unwrap_err();
            assert!(matches!(error, ConfigError::InvalidUrl { .. }), "{url}: {error}");
            assert!(!error.to_string().contains("sec"), "{error}");
            assert!(!format!("{error:?}").contains("sec"), "{error:?}");
        }
    }

    #[test]
    fn schemes_that_are_not_spoken_are_named() {
        for (url, scheme) in [("rediss://h", "rediss"), ("http://:secret@h", "http")] {
            let expected = ConfigError::UnsupportedUrl { scheme: scheme.into() };
            assert_eq!(Endpoint::parse(url).unwrap_err(), expected);
        }
    }
}
