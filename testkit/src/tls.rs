//! Certificates of the harness' own making.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tempfile::TempDir;

use crate::port::PortClaim;

/// Signs certificates. Its files live as long as it does.
#[derive(Debug)]
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone)]
pub struct Certificate {
    /// The file of the certificate.
    pub certificate: PathBuf,
    /// The file of its key.
    pub key: PathBuf,
}

/// How a server speaks TLS, at a port besides its plain one.
#[derive(Debug)]
pub struct TlsPort {
    port: PortClaim,
    server: Certificate,
    trusts: PathBuf,
    clients: &'static str,
}

impl Authority {
    /// One that is not trusted anywhere yet.
    #[must_use]
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("palisade-tls-").tempdir();
        let folder = folder.expect("a temporary folder can be made");
        let key = KeyPair::generate().expect("a key can be made");
        let mut params = CertificateParams::new([]).expect("no name is no bad name");
        // Two of one name would be taken for each other.
        let name = format!("authority {}", folder.path().display());
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root = params.self_signed(&key).expect("a certificate can be made");
        fs::write(folder.path().join(ROOT), root.pem()).expect("a certificate can be written");
        Self { folder, issuer: Issuer::new(params, key) }
    }

    /// The file of its own certificate.
    #[must_use]
    pub fn root(&self) -> PathBuf {
        self.folder.path().join(ROOT)
    }

    /// A certificate for these names of hosts, or their numbers.
    #[must_use]
    pub fn issue(&self, names: &[&str]) -> Certificate {
        self.sign(params(names))
    }

    /// One whose time is over.
    #[must_use]
    pub fn issue_expired(&self, names: &[&str]) -> Certificate {
        let mut params = params(names);
        params.not_after = date_time_ymd(2020, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Certificate {
        let key = KeyPair::generate().expect("a key can be made");
        let signed = params.signed_by(&key, &self.issuer).expect("a certificate can be signed");
        let folder = tempfile::tempdir_in(self.folder.path()).expect("a folder can be made").keep();
        let write = |name, text: String| {
            let path = folder.join(name);
            fs::write(&path, text).expect("a file can be written");
            path
        };
        let certificate = write("certificate.pem", signed.pem());
        Certificate { certificate, key: write("key.pem", key.serialize_pem()) }
    }
}

impl TlsPort {
    /// With this certificate; certificates of clients are not asked for.
    #[must_use]
    pub fn new(server: &Certificate) -> Self {
        let (server, trusts) = (server.clone(), server.certificate.clone());
        Self { port: PortClaim::new(), server, trusts, clients: "no" }
    }

    /// The same certificate for all of a cluster, which trust each other by this root.
    #[must_use]
    pub fn of_cluster(server: &Certificate, root: &Path) -> Self {
        Self { trusts: root.to_owned(), ..Self::new(server) }
    }

    /// A client without a certificate that leads to this root is sent away.
    #[must_use]
    pub fn trusting_only(self, root: &Path) -> Self {
        Self { trusts: root.to_owned(), clients: "yes", ..self }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port.port()
    }

    /// As `redis-server` is told.
    pub(crate) fn args(&self) -> [(&'static str, String); 5] {
        let text = |path: &Path| path.display().to_string();
        [
            ("--tls-port", self.port().to_string()),
            ("--tls-cert-file", text(&self.server.certificate)),
            ("--tls-key-file", text(&self.server.key)),
            ("--tls-ca-cert-file", text(&self.trusts)),
            ("--tls-auth-clients", self.clients.to_owned()),
        ]
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().copied().map(str::to_owned).collect();
    CertificateParams::new(names).expect("the names are good")
}

const ROOT: &str = "root.pem";
