//! One lock by other ways than plain TCP, against that.

use std::sync::Arc;

use palisade::{Client, ClientBuilder, error::BlessError, settings::Tls};
use testkit::{Authority, Cluster, RedisServer, SlotCluster, TlsPort};

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
    /// Three masters share the slots.
    Clustered,
}

impl Deployment {
    pub(crate) async fn contest(self, [plain, ours]: [&[String]; 2]) -> Contest {
        let authority = Authority::new();
        let Started { plain: server, servers, url, settings } = self.start(&authority);
        let plain = Tasks(Single::connect(&server[0].url(), plain).await);
        bless(&settings.clone().url(&url).connect().await.expect("the server is up")).await;
        let ours = Tasks(Single::connect_with(settings, &url, ours).await);
        let (baseline, ours) = (Side::new(plain, &server), Side::new(ours, &servers));
        Contest { against: "plain TCP", baseline, ours, peers: Vec::new() }
    }

    fn start(self, authority: &Authority) -> Started {
        let (server, client) = (RedisServer::builder(), Client::builder());
        match self {
            Self::UnixSocket => {
                let servers = Cluster::start_with(1, &server.unix_socket());
                let url = servers[0].unix_url();
                Started::of(servers, url, client)
            }
            Self::Tls => {
                let certificate = authority.issue(&["127.0.0.1"]);
                let servers = Cluster::start_with(1, &server.tls(TlsPort::new(&certificate)));
                let url = format!("rediss://127.0.0.1:{}", servers[0].tls_port());
                Started::of(servers, url, client.tls(Tls::new().ca_file(authority.root())))
            }
            Self::Replicated => {
                let servers = Cluster::start(2);
                servers[1].follow(&servers[0]);
                let url = servers[0].url();
                Started::of(servers, url, client.replicas(1))
            }
            Self::Clustered => {
                let cluster = SlotCluster::start(3);
                let url = format!("redis+cluster://{}", cluster.hosts().join(","));
                let plain = Arc::new(Cluster::start(1));
                Started { plain, ..Started::of(cluster.into_servers(), url, client) }
            }
        }
    }
}

/// Servers, and how one of them is reached by plain TCP, all by another way.
struct Started {
    /// The master comes first.
    plain: Arc<Cluster>,
    servers: Arc<Cluster>,
    url: String,
    settings: ClientBuilder,
}

impl Started {
    fn of(servers: Cluster, url: String, settings: ClientBuilder) -> Self {
        let servers = Arc::new(servers);
        Self { plain: Arc::clone(&servers), servers, url, settings }
    }
}

/// A new cluster would wait.
async fn bless(client: &Client) {
    match client.bless().await {
        Ok(()) | Err(BlessError::Old { .. }) => {}
        Err(other) => panic!("{other}"),
    }
}
