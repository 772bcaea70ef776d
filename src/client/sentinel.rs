//! Masters that sentinels watch over.

use super::hosts;
#[cfg(feature = "tls")]
use crate::reach::Tls;
use crate::{
    error::{ConfigError, Shown},
    reach::{Directory, HostPort},
};

/// The sentinels of a replicated master, for [`ClientBuilder::sentinels`](crate::ClientBuilder::sentinels).
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::{Client, settings::Sentinels};
///
/// let sentinels = Sentinels::new(["sentinel-1:26379", "sentinel-2", "[fd00::3]:26379"], "orders");
/// let client = Client::builder().sentinels(sentinels.password("asked of sentinels")).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Sentinels {
    addresses: Vec<String>,
    service: String,
    login: SentinelLogin,
    #[cfg(feature = "tls")]
    tls: Option<Tls>,
    /// Whether it is spoken, whatever is said of it.
    #[cfg(feature = "tls")]
    is_tls: bool,
}

/// The login to sentinels.
#[derive(Clone, Default)]
struct SentinelLogin {
    user: Option<String>,
    password: Option<String>,
}

impl Sentinels {
    /// Those at these addresses, `host` or `host:port`; 26379 is the usual port. Some of them may be down.
    /// `service` is what they call the master.
    pub fn new<A: AsRef<str>>(addresses: impl IntoIterator<Item = A>, service: &str) -> Self {
        Self {
            addresses: addresses.into_iter().map(|it| it.as_ref().to_owned()).collect(),
            service: service.to_owned(),
            login: SentinelLogin::default(),
            #[cfg(feature = "tls")]
            tls: None,
            #[cfg(feature = "tls")]
            is_tls: false,
        }
    }

    /// The login to sentinels. What the master wants to know is said by
    /// [`ClientBuilder::user`](crate::ClientBuilder::user).
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.login.user = Some(user.to_owned());
        self
    }

    /// With which password.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        self.login.password = Some(password.to_owned());
        self
    }

    /// They are asked over TLS. Defaults to no, whatever the master speaks.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// The same, by settings that are given elsewhere or by default.
    #[cfg(feature = "tls")]
    pub(super) fn tls_as_asked(mut self) -> Self {
        self.is_tls = true;
        self
    }

    /// `tls` is how the master is spoken to, if that was said.
    pub(super) fn directory(
        &self,
        #[cfg(feature = "tls")] tls: Option<&Tls>,
    ) -> Result<Directory, ConfigError> {
        let places = self.addresses.iter().map(|address| place(address));
        let places = places.collect::<Result<Vec<_>, _>>()?;
        if places.is_empty() {
            return Err(invalid("none is named"));
        }
        if self.service.is_empty() {
            return Err(invalid("the service has no name"));
        }
        let mut directory = Directory::new(&places, &self.service);
        directory.user.clone_from(&self.login.user);
        directory.password.clone_from(&self.login.password);
        #[cfg(feature = "tls")]
        if self.tls.is_some() || self.is_tls {
            let tls = self.tls.as_ref().or(tls).cloned().unwrap_or_default();
            directory = directory.over_tls(&tls)?;
        }
        Ok(directory)
    }
}

impl std::fmt::Debug for SentinelLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login")
            .field("user", &self.user.as_deref().map(Shown::new))
            .finish_non_exhaustive()
    }
}

fn place(address: &str) -> Result<HostPort, ConfigError> {
    hosts::read(address, PORT).ok_or_else(|| invalid("an address is to be host or host:port"))
}

fn invalid(reason: &str) -> ConfigError {
    ConfigError::InvalidSetting { setting: "sentinels", reason: reason.into() }
}

const PORT: u16 = 26_379;
