//! One lock by other ways than plain TCP, against that.

use std::sync::Arc;

use palisade::{Client, ClientBuilder, settings::Tls};
use testkit::{Authority, Cluster, RedisServer, TlsPort};

use crate::{
    block::Tasks,
    locks::Single,
    turns::{Contest, Side},
};

/// How a server is reached, or what of it matters.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deployment {
    UnixSocket,
    Tls,
    /// One replica has a grant before it counts.
    Replicated,
}

impl Deployment {
    pub(crate) async fn contest(self, [plain, ours]: [&[String]; 2]) -> Contest {
        let authority = Authority::new();
        let servers = Arc::new(self.servers(&authority));
        let (settings, url) = self.settings(&servers[0], &authority);
        let plain = Tasks(Single::connect(&servers[0].url(), plain).await);
        let ours = Tasks(Single::connect_with(settings, &url, ours).await);
        let (baseline, ours) = (Side::new(plain, &servers), Side::new(ours, &servers));
        Contest { against: "plain TCP", baseline, ours, peers: Vec::new() }
    }

    /// The master comes first.
    fn servers(self, authority: &Authority) -> Cluster {
        let builder = RedisServer::builder();
        match self {
            Self::UnixSocket => Cluster::start_with(1, &builder.unix_socket()),
            Self::Tls => {
                let certificate = authority.issue(&["127.0.0.1"]);
                Cluster::start_with(1, &builder.tls(TlsPort::new(&certificate)))
            }
            Self::Replicated => {
                let servers = Cluster::start(2);
                servers[1].follow(&servers[0]);
                servers
            }
        }
    }

    fn settings(self, master: &RedisServer, authority: &Authority) -> (ClientBuilder, String) {
        let builder = Client::builder();
        match self {
            Self::UnixSocket => (builder, master.unix_url()),
            Self::Tls => {
                let trusted = builder.tls(Tls::new().ca_file(authority.root()));
                (trusted, format!("rediss://127.0.0.1:{}", master.tls_port()))
            }
            Self::Replicated => (builder.replicas(1), master.url()),
        }
    }
}
