//! How the servers of a run are reached.

use std::{io, time::Duration};

use palisade::{
    Client, ClientBuilder, Masters,
    error::{ConfigError, ConnectError},
    settings::Failover,
};
use serde::{Deserialize, Serialize};

use super::intent::{CLOCK_SKEW, LONGEST_LEASE};

/// What a client needs to know of the servers. Told to the workers.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Access {
    /// A client of each.
    pub(crate) urls: Vec<String>,
    /// The planted fault: replicas that were promoted grant at once.
    pub(crate) trust: bool,
    /// How long a master that was replaced may go on granting until its clients have heard of it.
    pub(crate) lag_ms: u64,
    /// In a cluster, whether releases are announced by shard; none: as the servers can.
    pub(crate) sharded: Option<bool>,
}

impl Access {
    /// # Errors
    /// An URL makes no sense.
    pub(crate) fn clients(&self, name: &str, tracking: bool) -> Result<Vec<Client>, ConfigError> {
        let client = |url: &String| self.settings(url).name(name).tracking(tracking).build();
        self.urls.iter().map(client).collect()
    }

    fn settings(&self, url: &str) -> ClientBuilder {
        let failover = if self.trust { Failover::Trust } else { Failover::Wait };
        let client = Client::builder().url(url).fleet_max_lease(LONGEST_LEASE);
        let client = client.clock_skew(CLOCK_SKEW);
        let client = client.failover(failover).failover_lag(Duration::from_millis(self.lag_ms));
        match self.sharded {
            Some(sharded) => client.sharded_pubsub(sharded),
            None => client,
        }
    }

    /// Has the votes of servers count that were started just now.
    ///
    /// # Errors
    /// One cannot be asked.
    pub(crate) fn bless(&self) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for url in &self.urls {
                let settings = self.settings(url).connect_timeout(CONNECT_LIMIT);
                let client = settings
                    .connect()
                    .await
                    .map_err(|error: ConnectError| io::Error::other(error))?;
                // On a busy machine some of them may be older than others by now.
                Masters::new([client])
                    .map_err(io::Error::other)?
                    .bless_by_force()
                    .await
                    .map_err(io::Error::other)?;
            }
            Ok(())
        })
    }
}

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
