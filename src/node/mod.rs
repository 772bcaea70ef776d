//! One deployment as one vote: connections that are made again, and calls with a deadline.
//!
//! # Invariants
//! - A link belongs to one runtime. Its tasks run there; when that ends they are dropped, and the
//!   link takes itself out of the list.
//! - The tasks hold the `Core`, never the `Node`: the last `Node` that drops ends them.
//!
//! # Deadlock safety
//! The list of links is locked for look-ups only. Nothing is spawned under that lock: a runtime
//! that is shutting down drops the new task at once, and that takes the lock.

mod backoff;
mod batches;
mod caller;
mod cause;
mod commands;
mod connection;
mod credentials;
mod deadline;
mod directory;
mod driver;
mod endpoint;
mod exchange;
mod flight;
mod group;
mod handshake;
mod info;
mod integers;
mod landing;
mod link;
mod login;
mod next_socket;
mod node_core;
mod opening;
mod order;
mod outbox;
mod plain;
mod pubsub;
mod replicas;
mod request;
mod rules;
mod server_clock;
mod settings;
mod silence;
mod spin;
mod stream;
mod survey;
mod tcp;
#[cfg(test)]
pub(crate) mod test_server;
#[cfg(test)]
mod tests;
#[cfg(feature = "tls")]
mod tls;
mod url;

use std::{
    fmt,
    sync::{Arc, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use tokio::runtime::{Handle, Id};

pub(crate) use self::node_core::Resident;
#[cfg(feature = "tls")]
pub use self::tls::Tls;
pub(crate) use self::{
    batches::{BatchAnswer, BatchItem},
    caller::{Acquirer, Always, Patience, Turn},
    connection::{Answer, Asked, Connection},
    credentials::Fetch,
    directory::{AddressMap, Directory, Place},
    endpoint::{Endpoint, Identity},
    next_socket::NextSocket,
    pubsub::{PubSub, PubSubEvent, SubscriptionChange},
    replicas::Lookout,
    settings::{NodeSettings, Replicated},
};
pub use self::{credentials::Credentials, spin::Spin, stream::Stream};
use self::{
    link::{Link, Links, find},
    node_core::Core,
    replicas::Replicas,
};
pub(crate) use crate::error::NodeId;
use crate::{
    clock::Instant,
    error::NodeError,
    standing::{RunId, Standing},
    wire::Call,
};

/// One Redis deployment that votes as one. A cheap handle.
#[derive(Clone)]
pub(crate) struct Node(Arc<NodeInner>);

struct NodeInner {
    core: Arc<Core>,
    links: Links,
    /// If they matter.
    replicas: OnceLock<Replicas>,
}

impl Node {
    /// Needs no runtime and sends nothing.
    pub(crate) fn new(endpoint: Endpoint, settings: NodeSettings) -> Self {
        let core = Arc::new(Core::new(endpoint, settings));
        let (links, replicas) = (Links::default(), OnceLock::new());
        Self(Arc::new(NodeInner { core, links, replicas }))
    }

    /// Says who is concerned about the node; there is one, and it stays.
    pub(crate) fn settle(&self, resident: Weak<dyn Resident>) {
        let _the_first_stays = self.0.core.resident.set(resident);
    }

    /// Has a task on the runtime `on` ask what replicas have, if that matters.
    pub(crate) fn watch_replicas(&self, on: &Handle) {
        if let Some(rule) = &self.0.core.settings.replicated {
            self.0.replicas.get_or_init(|| Replicas::of(self.0.core.clone(), rule.clone(), on));
        }
    }

    /// To be called before anything is asked for that replicas are to have: from where to
    /// [look](Self::replicated) for it afterwards. `None` if they do not matter.
    ///
    /// # Errors
    /// As [`connection`](Self::connection): there is no connection to ask on. A right that is missing.
    pub(crate) async fn look_out(
        &self,
        run_id: Option<RunId>,
        deadline: Instant,
    ) -> Result<Option<Lookout>, NodeError> {
        match self.0.replicas.get() {
            Some(replicas) => replicas.look_out(run_id, deadline).await.map(Some),
            None => Ok(None),
        }
    }

    /// Completes when enough replicas have what `run_id` has answered by now, within `most` at most.
    ///
    /// # Errors
    /// [`NodeError::NotReplicated`].
    pub(crate) async fn replicated(
        &self,
        from: Lookout,
        run_id: Option<RunId>,
        most: Duration,
    ) -> Result<(), NodeError> {
        match self.0.replicas.get() {
            Some(replicas) => replicas.confirm(from, run_id, most).await,
            None => Ok(()),
        }
    }

    /// Whether there is a link on a runtime, connected or not.
    pub(crate) fn is_linked_on(&self, runtime: Id) -> bool {
        find(&self.links(), runtime).is_some()
    }

    pub(crate) fn id(&self) -> &NodeId {
        self.0.core.endpoint.id()
    }

    /// What is the same for two nodes only if either's connections do for both.
    pub(crate) fn identity(&self) -> &Arc<Identity> {
        &self.0.core.identity
    }

    /// The key of the marker that says whether the server may vote.
    pub(crate) fn marker(&self) -> &Arc<str> {
        &self.0.core.settings.marker
    }

    /// The number of the database: the same key in another one is another key.
    pub(crate) fn db(&self) -> i64 {
        self.0.core.endpoint.db()
    }

    /// Whether both are one server for all that can be known before it is asked: at one address, in
    /// whatever databases.
    pub(crate) fn shares_address(&self, other: &Self) -> bool {
        self.0.core.endpoint.shares_address(&other.0.core.endpoint)
    }

    /// Whether it may be another server later.
    pub(crate) fn is_followed(&self) -> bool {
        self.0.core.endpoint.is_followed()
    }

    /// Whether a connection cannot be made on the current runtime, since that has no sockets.
    pub(crate) fn lacks_io_here(&self) -> bool {
        self.0.core.endpoint.lacks_io_here()
    }

    /// The command connection of the current runtime for what concerns `key`, made if there is none.
    ///
    /// One master is the right one for every key; callers name it so that a cluster can stand here.
    ///
    /// Waits while it is being made, at most until `deadline`; fails at once while the node is
    /// known to be down, and asks for another attempt to connect.
    ///
    /// # Errors
    /// The cause of the last failed attempt; [`NodeError::TimedOut`] while connecting;
    /// [`NodeError::NoRuntime`]; [`NodeError::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future has no effect: connecting goes on.
    pub(crate) async fn connection(
        &self,
        _key: &str,
        deadline: Instant,
    ) -> Result<Connection, NodeError> {
        self.link()?.connection(deadline).await
    }

    /// Makes a call for what concerns `key`; the connection is that of the answer. What never left,
    /// since the socket had been closed while nobody spoke, goes out on the next one.
    ///
    /// # Errors
    /// As [`connection`](Self::connection) and [`Connection::call`].
    ///
    /// # Cancel safety
    /// As [`Connection::call`].
    pub(crate) async fn call<C: Call>(
        &self,
        key: &str,
        call: &C,
        deadline: Instant,
    ) -> Result<(Connection, Answer<C::Reply>), NodeError> {
        let mut next_socket = NextSocket::for_the_unsent();
        loop {
            let connection = self.connection(key, deadline).await?;
            match connection.call(call, deadline).await {
                Err(error) => next_socket.after(error)?,
                Ok(answer) => return Ok((connection, answer)),
            }
        }
    }

    /// The connection without waiting: the live connection if there is one now.
    pub(crate) fn connected(&self, _key: &str) -> Option<Connection> {
        let runtime = Handle::try_current().ok()?.id();
        find(&self.links(), runtime)?.connected()
    }

    /// The server's run as of the newest handshake on any runtime.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.0.core.run_id()
    }

    /// What is known of the server's process, as of the newest handshake on any runtime.
    pub(crate) fn standing(&self) -> Option<Arc<Standing>> {
        self.0.core.standing().clone()
    }

    /// The texts of all that grants, behind `prologue`.
    pub(crate) fn checked_scripts(&self, prologue: &'static str) -> Vec<&'static str> {
        let scripts = self.0.core.settings.scripts.iter().filter(|script| script.grants);
        scripts.map(|script| script.behind(prologue).source).collect()
    }

    /// From when on its votes count: an instant in the past if they do now. `None` if that is not
    /// known, since it was never connected or may not be asked who it is.
    pub(crate) fn votes_from(&self) -> Option<Instant> {
        self.standing()?.votes_from()
    }

    /// A connection for pub/sub on the runtime `on`, made at the first subscription.
    pub(crate) fn open_pubsub(
        &self,
        on: &Handle,
        events: impl Fn(PubSubEvent) + Send + Sync + 'static,
    ) -> PubSub {
        PubSub::open(self.0.core.clone(), on, Arc::new(events))
    }

    /// Ends every connection and its tasks, as dropping the last `Node` does.
    pub(crate) fn close(&self) {
        self.0.core.closed.cancel();
    }

    fn link(&self) -> Result<Arc<Link>, NodeError> {
        if self.0.core.closed.is_cancelled() {
            return Err(NodeError::Closed);
        }
        let runtime = Handle::try_current().map_err(|_none| NodeError::NoRuntime)?;
        let (link, task) = {
            let mut links = self.links();
            if let Some(link) = find(&links, runtime.id()) {
                return Ok(link.clone());
            }
            let (link, task) = Link::new(self.0.core.clone(), &self.0.links);
            links.push((runtime.id(), link.clone()));
            (link, task)
        };
        runtime.spawn(task);
        Ok(link)
    }

    fn links(&self) -> MutexGuard<'_, Vec<(Id, Arc<Link>)>> {
        self.0.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Node").field(self.id()).finish()
    }
}

impl Drop for NodeInner {
    fn drop(&mut self) {
        self.core.closed.cancel();
    }
}
