//! TLS on streams to nodes: which servers they trust, and which certificate they show.

use std::{
    fmt,
    future::pending,
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, InvalidDnsNameError, PrivateKeyDer, ServerName, pem::PemObject},
};
use tokio_rustls::{TlsConnector, rustls};

use super::{cause, exchange::exchange, gauge::Size, stream::Stream, tcp};
use crate::{
    clock::SharedClock,
    error::{ConfigError, NodeError, Shown},
};

/// How a server is spoken to over TLS: which certificates the client trusts, and which one it shows.
///
/// For [`ClientBuilder::tls`](crate::ClientBuilder::tls). TLS 1.2 and 1.3; certificates are always
/// verified. Files are read when the client is built, once: for certificates that are replaced while
/// the process runs, give a [configuration](Self::with_config) that looks for them.
///
/// # Examples
/// ```no_run
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::Tls};
///
/// let tls = Tls::new()
///     .ca_file("/etc/redis/ca.pem")
///     .client_certificate("/etc/redis/app.pem", "/etc/redis/app.key");
/// let client = Client::builder().url("rediss://redis.internal").tls(tls).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Tls {
    ca: Option<PathBuf>,
    /// Certificates and key.
    client: Option<(PathBuf, PathBuf)>,
    server_name: Option<String>,
    config: Option<Arc<ClientConfig>>,
}

impl Tls {
    /// Trusts what the system trusts, and shows no certificate.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All of it by a configuration of the caller's. The other settings but the
    /// [name of the server](Self::server_name) are then errors.
    #[must_use]
    pub fn with_config(config: Arc<ClientConfig>) -> Self {
        Self { config: Some(config), ..Self::default() }
    }

    /// Trusts what a certificate of this file has signed, and nothing else: PEM.
    #[must_use]
    pub fn ca_file(mut self, path: impl AsRef<Path>) -> Self {
        self.ca = Some(path.as_ref().to_owned());
        self
    }

    /// Shows a certificate to servers that ask for one, with those that lead to its root: PEM, as the
    /// key is.
    #[must_use]
    pub fn client_certificate(mut self, path: impl AsRef<Path>, key: impl AsRef<Path>) -> Self {
        self.client = Some((path.as_ref().to_owned(), key.as_ref().to_owned()));
        self
    }

    /// The name that the server's certificate must bear. Defaults to the host of its address.
    #[must_use]
    pub fn server_name(mut self, name: &str) -> Self {
        self.server_name = Some(name.to_owned());
        self
    }

    fn config(&self) -> Result<Arc<ClientConfig>, ConfigError> {
        if let Some(config) = &self.config {
            if self.ca.is_some() || self.client.is_some() {
                return Err(invalid("a whole configuration takes no files besides"));
            }
            return Ok(config.clone());
        }
        // By name, since the process may have a default of its own, or one too many.
        let builder = ClientConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .map_err(|error| invalid(&error))?
            .with_root_certificates(self.roots()?);
        let config = match &self.client {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let certificates = certificates(chain)?;
                let read = PrivateKeyDer::from_pem_file(key);
                let key = read.map_err(|error| unreadable(key, &error))?;
                let config = builder.with_client_auth_cert(certificates, key);
                config.map_err(|error| unreadable(chain, &error))?
            }
        };
        Ok(config.into())
    }

    fn roots(&self) -> Result<RootCertStore, ConfigError> {
        let mut roots = RootCertStore::empty();
        match &self.ca {
            Some(path) => {
                for certificate in certificates(path)? {
                    roots.add(certificate).map_err(|error| unreadable(path, &error))?;
                }
            }
            None => {
                // One of hundreds that cannot be read is no reason to trust none of the others.
                let found = rustls_native_certs::load_native_certs();
                roots.add_parsable_certificates(found.certs);
                if roots.is_empty() {
                    return Err(invalid(
                        "this system has no certificates of authorities; name a CA file",
                    ));
                }
            }
        }
        Ok(roots)
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ca, client, server_name, config } = self;
        f.debug_struct("Tls")
            .field("ca", ca)
            .field("client_certificate", &client.as_ref().map(|(path, _)| path))
            .field("server_name", &server_name.as_deref().map(Shown::new))
            .field("config", &config.is_some())
            .finish()
    }
}

/// Makes TLS streams to one server.
#[derive(Clone)]
pub(crate) struct Secured {
    connector: TlsConnector,
    /// The name that is to be on the certificate, if it is not that of the host.
    name: Option<ServerName<'static>>,
    /// By what it was made.
    identity: TlsIdentity,
}

/// What is the same for two nodes only if the streams of either do for both.
pub(super) type TlsIdentity = (Option<PathBuf>, Option<(PathBuf, PathBuf)>, Option<String>, usize);

impl Secured {
    /// Reads the files.
    pub(crate) fn new(tls: &Tls) -> Result<Self, ConfigError> {
        let config = tls.config()?;
        let name = tls.server_name.as_deref().map(named).transpose();
        let name =
            name.map_err(|_bad| invalid("server_name is neither a host's name nor an IP"))?;
        let own = tls.config.as_ref().map_or(0, |own| Arc::as_ptr(own) as usize);
        let identity = (tls.ca.clone(), tls.client.clone(), tls.server_name.clone(), own);
        Ok(Self { connector: config.into(), name, identity })
    }

    /// The same for streams to this host alone.
    pub(super) fn of_host(mut self, host: Option<&str>) -> Result<Self, ConfigError> {
        if self.name.is_none() {
            let host = host.ok_or_else(|| {
                invalid("the server is reached in a way that has no host: set server_name")
            })?;
            let name = named(host);
            self.name = Some(name.map_err(|_bad| invalid("the host can be on no certificate"))?);
        }
        Ok(self)
    }

    pub(super) fn identity(&self) -> &TlsIdentity {
        &self.identity
    }

    /// Shakes hands with the server; `place` is where that was found.
    pub(crate) async fn wrap(
        &self,
        stream: Box<dyn Stream>,
        place: Option<(&str, u16)>,
        clock: &SharedClock,
    ) -> Result<Box<dyn Stream>, NodeError> {
        let host = place.map(|(host, _)| host);
        let Some(name) = self.name.clone().or_else(|| named(host?).ok()) else {
            let reason = "no certificate bears the name of such a host".into();
            return Err(NodeError::Tls { reason });
        };
        tokio::select! {
            biased;
            wrapped = self.connector.connect(name, stream) => match wrapped {
                Ok(stream) => Ok(Box::new(stream)),
                Err(error) => Err(refusal(&error).unwrap_or_else(|| cause::unreachable(&error))),
            },
            () = answers_without(place, clock) => {
                Err(NodeError::Tls { reason: NO_TLS_BUT_REDIS.into() })
            }
        }
    }
}

/// Completes if the server answers without TLS. One that does not speak it takes the first words of TLS for half of
/// a command, waits for the rest, and says nothing: so it is asked once more, in the clear, and nothing is told.
async fn answers_without(place: Option<(&str, u16)>, clock: &SharedClock) {
    clock.sleep_until(clock.now() + SILENT).await;
    if let Some((host, port)) = place
        && let Ok(mut stream) = tcp::connect(host, port, clock).await
        && let Some(Ok(_)) = exchange(&mut stream, &[redis::cmd("PING")], Size::FEW).await.pop()
    {
        return;
    }
    pending().await
}

fn named(host: &str) -> Result<ServerName<'static>, InvalidDnsNameError> {
    ServerName::try_from(host.to_owned())
}

/// What an error of a TLS stream says of the peer, if it is not one of the stream below it.
pub(super) fn refusal(error: &io::Error) -> Option<NodeError> {
    let reason = match error.get_ref()?.downcast_ref()? {
        rustls::Error::InvalidMessage(_) => NO_TLS.to_owned(),
        error => error.to_string(),
    };
    Some(NodeError::Tls { reason: reason.into() })
}

const NO_TLS: &str = "what answers there does not speak TLS; is it the right port?";
const NO_TLS_BUT_REDIS: &str =
    "the server does not speak TLS there, but answers without; is it the right port?";
/// How long a server may be silent before it is asked whether it speaks TLS at all.
const SILENT: Duration = Duration::from_millis(150);

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, ConfigError> {
    let read = || CertificateDer::pem_file_iter(path)?.collect::<Result<Vec<_>, _>>();
    let certificates = read().map_err(|error| unreadable(path, &error))?;
    if certificates.is_empty() {
        return Err(unreadable(path, &"it has no certificate in it"));
    }
    Ok(certificates)
}

fn unreadable(path: &Path, error: &impl fmt::Display) -> ConfigError {
    invalid(&format_args!("{}: {error}", path.display()))
}

fn invalid(reason: &(impl fmt::Display + ?Sized)) -> ConfigError {
    ConfigError::InvalidSetting { setting: "tls", reason: reason.to_string().into() }
}
