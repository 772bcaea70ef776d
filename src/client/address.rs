//! Where the server of a client is, and by which login.

use std::{io, sync::Arc};

use futures::future::BoxFuture;
use redis::{ConnectionInfo, RedisConnectionInfo};

use super::{
    cluster::{self, ClusterUrl},
    sentinel::Sentinels,
    sentinel_url::{self, SentinelUrl},
};
#[cfg(feature = "tls")]
use crate::reach::Tls;
use crate::{
    error::ConfigError,
    process::Process,
    reach::{AddressMap, Endpoint, Fetch, Stream},
};

/// Where the server is.
#[derive(Clone, Default)]
pub(super) struct ServerAddress {
    pub(super) place: Option<Deployment>,
    /// With a label. Then the place says only which user logs in, and what the server is called.
    pub(super) connector: Option<(String, Arc<Connector>)>,
    /// The same, to a master that is followed.
    #[cfg(feature = "embedded")]
    pub(super) lead: Option<(String, crate::reach::Lead)>,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) database: Option<u32>,
    pub(super) credentials: Option<Arc<Fetch>>,
    pub(super) map: Option<Arc<AddressMap>>,
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Tls>,
}

#[derive(Clone)]
pub(super) enum Deployment {
    Url(String),
    Host(String, u16),
    Info(Box<ConnectionInfo>),
    Sentinels(Sentinels),
    Cluster(Vec<String>),
}

/// How a connection is made, if not by address.
pub(super) type Connector =
    dyn Fn() -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync;

impl ServerAddress {
    fn named(&self, place: &Deployment) -> Result<Endpoint, ConfigError> {
        match place {
            Deployment::Url(url) => match sentinel_url::read(url) {
                Some(read) => {
                    let SentinelUrl { sentinels, login, is_tls } = read?;
                    self.told_by(&sentinels, login, Some(is_tls))
                }
                None => match cluster::read(url) {
                    Some(read) => {
                        let ClusterUrl { hosts, login, is_tls } = read?;
                        self.cluster(&hosts, login, Some(is_tls))
                    }
                    None => Endpoint::parse(url),
                },
            },
            Deployment::Host(host, port) => Endpoint::host(host, *port),
            Deployment::Info(info) => Endpoint::of(info),
            Deployment::Sentinels(sentinels) => {
                self.told_by(sentinels, RedisConnectionInfo::default(), None)
            }
            Deployment::Cluster(hosts) => self.cluster(hosts, RedisConnectionInfo::default(), None),
        }
    }

    fn told_by(
        &self,
        sentinels: &Sentinels,
        login: RedisConnectionInfo,
        is_tls: Option<bool>,
    ) -> Result<Endpoint, ConfigError> {
        let mut directory = sentinels.directory(
            #[cfg(feature = "tls")]
            self.tls.as_ref(),
        )?;
        directory.map.clone_from(&self.map);
        Endpoint::told_by(directory, login, is_tls)
    }

    fn cluster(
        &self,
        hosts: &[String],
        login: RedisConnectionInfo,
        is_tls: Option<bool>,
    ) -> Result<Endpoint, ConfigError> {
        let mut places = cluster::places(hosts)?;
        places.map.clone_from(&self.map);
        Endpoint::cluster(places, login, is_tls)
    }

    pub(super) fn endpoint(self, process: &Process) -> Result<Endpoint, ConfigError> {
        let place = self.place.as_ref().map(|place| self.named(place)).transpose()?;
        let connector = self.connector.map(|(label, connect)| {
            let label = format!("{label}#{}", process.connector_number());
            Endpoint::connector(&label, move || connect())
        });
        #[cfg(feature = "embedded")]
        let connector = connector.or_else(|| {
            let (label, lead) = self.lead?;
            Some(Endpoint::led(&format!("{label}#{}", process.connector_number()), lead))
        });
        #[cfg(feature = "tls")]
        let secured = |endpoint: Endpoint| endpoint.secured(self.tls.as_ref());
        #[cfg(not(feature = "tls"))]
        let secured = Ok;
        let endpoint = match (place, connector) {
            (Some(place), Some(connector)) => secured(place)?.reached_by(connector),
            (Some(endpoint), None) | (None, Some(endpoint)) => secured(endpoint)?,
            (None, None) => {
                let reason = "no server is named".into();
                return Err(ConfigError::InvalidSetting { setting: "url", reason });
            }
        };
        let (user, password) = (self.user.as_deref(), self.password.as_deref());
        Ok(endpoint.logging_in(user, password, self.database).asking(self.credentials))
    }
}
