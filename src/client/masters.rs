//! Several independent masters under one handle.

use std::{sync::Arc, time::Duration};

use futures::future::join_all;

use super::Client;
use crate::{
    composite::{Inspection, MultiLock, RedLock},
    error::{ConfigError, ShutdownError},
    lock::{Lock, mutex::Mutex},
};

/// Clients of several independent masters, for locks over all of them.
#[derive(Debug, Clone)]
pub struct Masters {
    clients: Arc<[Client]>,
}

impl Masters {
    /// Clients for `urls`, connected in parallel. Servers that cannot be reached now are connected
    /// in the background: a majority may still be there.
    ///
    /// # Errors
    /// [`ConfigError`] if an URL cannot be read, there is none, or one is named twice.
    ///
    /// # Cancel safety
    /// Dropping the future closes the connections.
    pub async fn connect<U: AsRef<str>>(
        urls: impl IntoIterator<Item = U>,
    ) -> Result<Self, ConfigError> {
        let clients: Result<Vec<_>, _> =
            urls.into_iter().map(|url| Client::connect_lazy(url.as_ref())).collect();
        let masters = Self::new(clients?)?;
        join_all(masters.clients.iter().map(Client::connected)).await;
        Ok(masters)
    }

    /// The same from clients that were set up one by one.
    ///
    /// # Errors
    /// [`ConfigError`] without clients, or if two are of the same server.
    pub fn new(clients: impl IntoIterator<Item = Client>) -> Result<Self, ConfigError> {
        let masters = Self { clients: clients.into_iter().collect() };
        // The strictest composite checks what makes masters independent.
        RedLock::new(masters.members("masters"))?;
        Ok(masters)
    }

    /// The lock `name`, held by a majority. Asks nobody.
    #[must_use]
    pub fn red_lock(&self, name: &str) -> RedLock {
        RedLock::new(self.members(name)).expect("invariant: checked when the masters were made")
    }

    /// The lock `name`, held by all. Asks nobody.
    #[must_use]
    pub fn multi_lock(&self, name: &str) -> MultiLock {
        MultiLock::new(self.members(name)).expect("invariant: checked when the masters were made")
    }

    /// What each server says of the lock `name`.
    pub async fn inspect(&self, name: &str) -> Inspection {
        Inspection::of(&self.members(name)).await
    }

    /// The clients, in the order in which they were given.
    #[must_use]
    pub fn clients(&self) -> &[Client] {
        &self.clients
    }

    /// [Shuts down](Client::shutdown) all clients at once.
    ///
    /// # Errors
    /// [`ShutdownError`] with the sum of what was not confirmed within `limit`.
    ///
    /// # Cancel safety
    /// As [`Client::shutdown`].
    pub async fn shutdown(&self, limit: Duration) -> Result<(), ShutdownError> {
        let all = join_all(self.clients.iter().map(|client| client.shutdown(limit))).await;
        match all.into_iter().filter_map(Result::err).map(|error| error.unfinished).sum() {
            0 => Ok(()),
            unfinished => Err(ShutdownError { unfinished }),
        }
    }

    fn members(&self, name: &str) -> Vec<Lock> {
        let mutex = Arc::new(Mutex::new(name));
        self.clients.iter().map(|client| Lock::of(client.site.clone(), mutex.clone())).collect()
    }
}
