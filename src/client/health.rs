//! What servers tell about themselves.

use std::{sync::Arc, time::Duration};

use super::Client;
use crate::{
    error::{ConnectError, NodeError},
    health::{MissingRights, ServerHealth, examine, heard_after, missing_rights},
    kinds::Rights,
    voting::vote_look,
    wire::key,
};

impl Client {
    /// What the server tells about itself: whether its vote counts, what is saved, what it is short of. Of a cluster
    /// each master. The user needs `+config|get` for how it is saved ([`Rights::examining`](crate::acl::Rights)); what
    /// it may not ask is `None`.
    ///
    /// # Errors
    /// [`ConnectError`] if a server cannot be asked now; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn health(&self) -> Result<Vec<ServerHealth>, ConnectError> {
        self.services.check_here()?;
        examine(&self.services, vote_look).await.map_err(|source| self.not_asked(source))
    }

    /// Which of these rights the user that this client connects as lacks, as the server judges: of a cluster each
    /// master. A pattern is tried as the name that it is written as: `orders:*` is lacked by a user of `orders:4*`.
    /// The user needs `+eval`, and the server is to be Redis 7 or later.
    ///
    /// # Errors
    /// [`ConnectError`] if a server cannot be asked now; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    ///
    /// # Examples
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use palisade::{
    ///     Client,
    ///     acl::{Rights, Use},
    /// };
    ///
    /// let client = Client::connect("redis://app:secret@127.0.0.1").await?;
    /// for server in client.missing_rights(&Rights::new().with(Use::Lock, "orders:42")).await? {
    ///     assert_eq!(server.rules.as_deref(), Some(&[][..]), "{}", server.address);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn missing_rights(
        &self,
        wanted: &Rights,
    ) -> Result<Vec<MissingRights>, ConnectError> {
        self.services.check_here()?;
        let missing = missing_rights(&self.services, &wanted.rules()).await;
        missing.map_err(|source| self.not_asked(source))
    }

    /// How long an announcement on the channel of the lock `name` takes, from here to the server and back: by these,
    /// waiters learn that a lock is free. `None` if it did not come back within
    /// [`node_timeout`](crate::ClientBuilder::node_timeout). Waiters of that lock, if there are any, look once more.
    ///
    /// # Errors
    /// [`ConnectError`] if the name is none, or the channel cannot be subscribed or written to now.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn announcement_delay(&self, name: &str) -> Result<Option<Duration>, ConnectError> {
        let services = &self.services;
        services.check_here()?;
        let key: Arc<str> = key::of_lock(&services.settings.namespace, name).into();
        services.check_name_of(&key)?;
        let heard = heard_after(services, &key::lock_channel(&key)).await;
        heard.map_err(|source| self.not_asked(source))
    }

    fn not_asked(&self, source: NodeError) -> ConnectError {
        ConnectError::Node { node: self.node_id().clone(), source }
    }
}
