//! What servers tell about themselves.

use super::Client;
use crate::{
    error::ConnectError,
    health::{ServerHealth, examine},
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
        let failed = |source| ConnectError::Node { node: self.node_id().clone(), source };
        examine(&self.services).await.map_err(failed)
    }
}
