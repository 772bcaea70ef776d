//! What processes tell about themselves.

use uuid::Uuid;

use super::Client;
use crate::{
    error::InspectError,
    kind::Holder,
    presence::{ProcessRecord, process_of},
};

impl Client {
    /// What the process of a holder tells about itself, and for how long it has held that: `None` if it tells nothing,
    /// as processes of [`Presence::Hidden`](crate::settings::Presence) do, and Redisson's. Nor is it told of permits. A
    /// hint: what is told is not checked.
    ///
    /// # Errors
    /// [`InspectError`]; nothing was changed.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn process_of(&self, holder: &Holder) -> Result<Option<ProcessRecord>, InspectError> {
        let services = &self.services;
        services.check_here()?;
        let Some((uuid, number)) = holder.id.rsplit_once(':') else { return Ok(None) };
        if Uuid::parse_str(uuid).is_err() {
            return Ok(None);
        }
        let deadline = services.now() + services.settings.node_timeout;
        let namespace = &services.settings.namespace;
        let told = process_of(&services.node, namespace, (uuid, number), deadline).await;
        told.map_err(|source| {
            let lock = services.shown_name_of(&holder.id.as_str().into());
            InspectError::Node { lock, node: services.node_id().clone(), source }
        })
    }
}
