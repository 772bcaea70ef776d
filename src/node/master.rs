//! One server: its links, by runtime.

use std::sync::{Arc, MutexGuard, OnceLock, PoisonError};

use tokio::runtime::{Handle, Id};

use super::{
    link::{Link, Links, find},
    node_core::Core,
    replicas::Replicas,
};
use crate::{clock::Instant, error::NodeError, socket::Connection};

/// One server that is reached as long as this is there. A cheap handle.
#[derive(Clone)]
pub(super) struct Master(Arc<MasterInner>);

struct MasterInner {
    core: Arc<Core>,
    links: Links,
    /// For calls so large that others would wait behind them. Made by the first of them.
    links_apart: Links,
    replicas: OnceLock<Replicas>,
}

impl Master {
    /// Needs no runtime and sends nothing.
    pub(super) fn new(core: Arc<Core>) -> Self {
        let (links, links_apart) = (Links::default(), Links::default());
        Self(Arc::new(MasterInner { core, links, links_apart, replicas: OnceLock::new() }))
    }

    pub(super) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    pub(super) fn is_linked_on(&self, runtime: Id) -> bool {
        find(&self.links(), runtime).is_some()
    }

    /// The connection of the current runtime, made if there is none.
    pub(super) async fn connection(&self, deadline: Instant) -> Result<Connection, NodeError> {
        self.link(&self.0.links)?.connection(deadline).await
    }

    /// The same for what is so large that others would wait behind it: on a socket beside that one.
    pub(super) async fn connection_apart(
        &self,
        deadline: Instant,
    ) -> Result<Connection, NodeError> {
        self.link(&self.0.links_apart)?.connection(deadline).await
    }

    /// The connection without waiting: the live connection if there is one now.
    pub(super) fn connected(&self) -> Option<Connection> {
        let runtime = Handle::try_current().ok()?.id();
        find(&self.links(), runtime)?.connected()
    }

    /// A live connection of any runtime.
    pub(super) fn connected_anywhere(&self) -> Option<Connection> {
        self.links().iter().find_map(|(_, link)| link.connected())
    }

    /// Its replicas, if it matters what they have.
    pub(super) fn replicas(&self) -> Option<&Replicas> {
        let core = &self.0.core;
        let (rule, on) = core.settings.replicated.as_ref().zip(core.background.get())?;
        Some(self.0.replicas.get_or_init(|| Replicas::of(core.clone(), rule.clone(), on)))
    }

    #[cfg(test)]
    pub(super) fn count_links(&self) -> usize {
        self.links().len()
    }

    fn link(&self, all: &Links) -> Result<Arc<Link>, NodeError> {
        if self.0.core.closed.is_cancelled() {
            return Err(NodeError::Closed);
        }
        let runtime = Handle::try_current().map_err(|_none| NodeError::NoRuntime)?;
        let (link, task) = {
            let mut links = all.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(link) = find(&links, runtime.id()) {
                return Ok(link.clone());
            }
            let (link, task) = Link::new(self.0.core.clone(), all, runtime.id());
            links.push((runtime.id(), link.clone()));
            (link, task)
        };
        self.0.core.host.offer(&runtime);
        runtime.spawn(task);
        Ok(link)
    }

    fn links(&self) -> MutexGuard<'_, Vec<(Id, Arc<Link>)>> {
        self.0.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for MasterInner {
    fn drop(&mut self) {
        self.core.closed.cancel();
    }
}
