//! A connection that is made, read and written on the [host](crate::node::host) of its node.

use std::sync::Arc;

use redis::AsyncConnectionConfig;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    error::NodeError,
    node::{Core, OpenedPubSub, PubSubDriver},
    reach::before,
};

/// Makes a connection on the host, if there is one, or else on the current runtime.
pub(super) async fn open(
    core: &Arc<Core>,
    config: AsyncConnectionConfig,
) -> Result<OpenedPubSub, NodeError> {
    if let Some(host) = core.host.get()
        && let Some(opened) = open_on(&host, core, config.clone()).await
    {
        return opened;
    }
    core.open(config).await
}

/// `None` if the runtime ends, or does not come to it.
async fn open_on(
    host: &Handle,
    core: &Arc<Core>,
    config: AsyncConnectionConfig,
) -> Option<Result<OpenedPubSub, NodeError>> {
    let opening = {
        let core = core.clone();
        async move { core.open(config).await }
    };
    let opening = AbortOnDropHandle::new(host.spawn(opening));
    let clock = &core.settings.clock;
    // Whether the server is late is found out there, a little earlier.
    let limit = core.connected_by() + core.settings.connect_timeout / 4;
    let Some(opened) = before(clock, limit, opening).await else {
        core.host.is_late();
        return None;
    };
    let opened = match opened {
        Ok(opened) => opened,
        Err(_ended) => {
            core.host.withdraw(host.id());
            return None;
        }
    };
    Some(opened.map(|(redis, driver, tie)| {
        let driving = AbortOnDropHandle::new(host.spawn(driver));
        let driver: PubSubDriver = Box::pin(async move {
            // It is over in any case: the socket, or the runtime.
            let _end = driving.await;
        });
        (redis, driver, tie)
    }))
}
