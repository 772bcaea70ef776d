//! What is listed of one deployment.

use super::{
    found::{FoundLocks, LockList},
    options::{ListOptions, Scope},
    processes::ProcessList,
    walk::all_servers,
};
use crate::{
    error::ConfigError,
    process::NodeServices,
    wire::key::{self, literal},
};

/// The locks of one deployment. One that does not answer is told of in the list.
pub(crate) async fn list(
    services: &NodeServices,
    options: &ListOptions,
) -> Result<LockList, ConfigError> {
    services.check_here()?;
    let scope = options.scope(&services.settings.namespace)?;
    let one_in = options.checked_pace()?;
    let servers = all_servers::<FoundLocks>(services, &scope, one_in).await;
    Ok(LockList::of_deployment(services.node_id(), servers))
}

/// The processes that tell of themselves there.
pub(crate) async fn list_processes(
    services: &NodeServices,
    options: &ListOptions,
) -> Result<ProcessList, ConfigError> {
    services.check_here()?;
    let prefix = key::processes(&literal(&services.settings.namespace));
    let scope = Scope::Matching(format!("{prefix}*"));
    let servers = all_servers(services, &scope, options.checked_pace()?).await;
    Ok(ProcessList::of_deployment(services.node_id(), servers))
}
