//! What an address can be, and how a byte stream is made to it.

use std::{cell::Cell, io, net::Ipv4Addr, path::PathBuf, sync::Arc};

use futures::future::BoxFuture;
use redis::ConnectionAddr;
use tokio::net::UdpSocket;

use super::{
    directory::{Directory, HostPort},
    places::ClusterAddresses,
    sentinels_word::Whereabouts,
    stream::Stream,
    tcp,
    theirs::Theirs,
};
use crate::{
    clock::{Known, SharedClock, is_possible_here},
    error::ConfigError,
};

/// Where a node is.
#[derive(Clone)]
pub(super) enum Address {
    Tcp(Arc<str>, u16),
    Unix(PathBuf),
    Connector(StreamFactory),
    /// The same, to whichever of several servers is the master.
    #[cfg(feature = "embedded")]
    Led(Lead),
    /// As its sentinels say.
    Told(Box<Directory>),
    /// At many, as the servers of a cluster say.
    Cluster(ClusterAddresses),
}

/// What is spoken at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spoken {
    /// Redis' protocol, and nothing around it.
    Plain,
    /// The same, or TLS around it if that is asked for.
    AsAsked,
    /// TLS.
    Tls,
}

impl Spoken {
    pub(super) const fn of(is_tls: Option<bool>) -> Self {
        match is_tls {
            Some(true) => Self::Tls,
            Some(false) => Self::Plain,
            None => Self::AsAsked,
        }
    }
}

/// Makes a stream to the node.
pub(super) type StreamFactory =
    Arc<dyn Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync>;

/// Makes a stream to the master, and tells the number of the configuration by which it is that.
#[cfg(feature = "embedded")]
pub(crate) type Lead =
    Arc<dyn Fn() -> BoxFuture<'static, io::Result<(Box<dyn Stream>, u64)>> + Send + Sync>;

impl Address {
    /// The address with its name for users, and what is spoken there; `None` if it is neither TCP nor a
    /// Unix socket.
    pub(super) fn of(addr: &ConnectionAddr) -> Result<Option<(Self, String, Spoken)>, ConfigError> {
        let (host, port, spoken) = match addr {
            ConnectionAddr::Tcp(host, port) => (host, port, Spoken::Plain),
            ConnectionAddr::TcpTls { host, port, insecure: false, tls_params: None } => {
                (host, port, Spoken::Tls)
            }
            ConnectionAddr::TcpTls { .. } => {
                let reason = "those of redis-rs cannot be taken over, nor are certificates ever left \
                              unverified: give a settings::Tls";
                let reason = reason.into();
                return Err(ConfigError::InvalidSetting { setting: "tls", reason });
            }
            ConnectionAddr::Unix(path) => {
                let name = format!("unix:{}", path.display());
                return Ok(Some((Self::Unix(path.clone()), name, Spoken::Plain)));
            }
            _ => return Ok(None),
        };
        if spoken == Spoken::Tls && !cfg!(feature = "tls") {
            return Err(ConfigError::UnsupportedUrl { scheme: "rediss".into() });
        }
        let is_ipv6 = host.contains(':');
        let name = if is_ipv6 { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        Ok(Some((Self::Tcp(host.as_str().into(), *port), name, spoken)))
    }

    /// Makes a stream, and tells where it leads, if that may change.
    pub(super) async fn dial(
        &self,
        #[cfg_attr(not(feature = "embedded"), expect(unused_variables, reason = "of `Led` alone"))]
        name: &Arc<str>,
        theirs: &Theirs,
        clock: &SharedClock,
    ) -> io::Result<(Box<dyn Stream>, Option<Whereabouts>)> {
        let stream: Box<dyn Stream> = match self {
            Self::Tcp(host, port) => Box::new(tcp::connect(host, *port, clock).await?),
            #[cfg(unix)]
            Self::Unix(path) => Box::new(tokio::net::UnixStream::connect(path).await?),
            #[cfg(not(unix))]
            Self::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
            Self::Connector(connect) => {
                let connect = connect.clone();
                let made = theirs.run(move || connect()).await?;
                made.ok_or_else(|| io::Error::other("the connector panicked"))??
            }
            #[cfg(feature = "embedded")]
            Self::Led(lead) => {
                let (stream, config) = lead().await?;
                let told = Whereabouts { place: (name.clone(), 0), config: Some(config) };
                return Ok((stream, Some(told)));
            }
            Self::Told(_) => return Err(io::Error::other("no sentinel was asked")),
            Self::Cluster(places) => return any_of(&places.members(), clock).await,
        };
        Ok((stream, None))
    }

    /// Whether its streams are made by the caller.
    pub(super) const fn is_of_callers_making(&self) -> bool {
        #[cfg(feature = "embedded")]
        if matches!(self, Self::Led(_)) {
            return true;
        }
        matches!(self, Self::Connector(_))
    }
}

/// A stream to one of several, whichever of them comes first that answers.
async fn any_of(
    places: &[HostPort],
    clock: &SharedClock,
) -> io::Result<(Box<dyn Stream>, Option<Whereabouts>)> {
    let mut failed = io::Error::other("no server is named");
    for place in places {
        match tcp::connect(&place.0, place.1, clock).await {
            Ok(stream) => {
                let told = Whereabouts { place: place.clone(), config: None };
                return Ok((Box::new(stream), Some(told)));
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

pub(super) fn no_io() -> io::Error {
    io::Error::other("this tokio runtime has no I/O")
}

/// Whether the current runtime has sockets.
pub(super) fn has_io() -> bool {
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
