//! One deployment as one vote: whether it is one server or a cluster.

use std::{
    fmt,
    sync::{Arc, Weak},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::runtime::{Handle, Id};

use super::{
    cluster::Cluster,
    master::Master,
    next_socket::NextSocket,
    node_core::{Core, Resident},
    redirect::Redirect,
    replicas::Lookout,
};
use crate::{
    clock::Instant,
    error::{NodeError, NodeId},
    metering::SharedMeters,
    reach::{ConnectionKey, Endpoint, NodeSettings},
    socket::{Answer, Connection, Priority},
    standing::{RunId, ServerRun},
    wire::{Call, Publishing, key::slot},
};

/// One Redis deployment that votes as one. A cheap handle.
#[derive(Clone)]
pub(crate) struct Node(pub(super) Arc<NodeInner>);

pub(super) struct NodeInner {
    pub(super) core: Arc<Core>,
    servers: Servers,
}

enum Servers {
    One(Master),
    /// Each with its slots.
    Many(Arc<Cluster>),
}

impl Node {
    /// Needs no runtime and sends nothing.
    pub(crate) fn new(endpoint: Endpoint, settings: NodeSettings) -> Self {
        let places = endpoint.places().cloned();
        let core = Arc::new(Core::new(endpoint, settings));
        let servers = match places {
            Some(places) => Servers::Many(Arc::new(Cluster::new(core.clone(), places))),
            None => Servers::One(Master::new(core.clone())),
        };
        Self(Arc::new(NodeInner { core, servers }))
    }

    /// Names the resident that is concerned about the node; there is one, and it stays.
    pub(crate) fn settle(&self, resident: Weak<dyn Resident>) {
        let _the_first_stays = self.0.core.resident.set(resident);
    }

    /// Has tasks on the runtime `on` do what all callers need: ask what replicas have, if that matters, and
    /// which server of a cluster has which slots.
    pub(crate) fn work_on(&self, on: &Handle) {
        let _the_first_stays = self.0.core.background.set(on.clone());
    }

    /// To be called before anything is asked for that replicas are to have: from where to
    /// [look](Lookout::replicated) for it afterwards. `None` if they do not matter. What is asked for is in
    /// the slot of `key`, and asked on `connection`, if that is there already.
    ///
    /// # Errors
    /// As [`connection`](Self::connection): there is no connection to ask on. A right that is missing.
    pub(crate) async fn look_out(
        &self,
        key: &str,
        connection: Option<&Connection>,
        deadline: Instant,
    ) -> Result<Option<Box<Lookout>>, NodeError> {
        if self.0.core.settings.replicated.is_none() {
            return Ok(None);
        }
        // What is rare is on the heap: the usual acquire is not to carry its size about.
        let lookout = Box::pin(self.look_out_on_replicas(key, connection, deadline)).await?;
        Ok(lookout.map(Box::new))
    }

    async fn look_out_on_replicas(
        &self,
        key: &str,
        connection: Option<&Connection>,
        deadline: Instant,
    ) -> Result<Option<Lookout>, NodeError> {
        let core = &self.0.core;
        let run_id = connection.map(Connection::server_run);
        match &self.0.servers {
            Servers::One(master) => {
                let Some(replicas) = master.replicas() else { return Ok(None) };
                let run_id = run_id.unwrap_or_else(|| core.run_id());
                replicas.look_out(run_id, Vec::new, deadline).await.map(Some)
            }
            Servers::Many(cluster) => {
                let slot = slot(key);
                let told = connection.and_then(Connection::place).cloned();
                let place = told.or_else(|| cluster.owner(slot));
                let place = place.ok_or_else(|| cluster.why_nobody_serves(slot))?;
                let master = cluster.master(&place);
                let Some(replicas) = master.replicas() else { return Ok(None) };
                let slots = || cluster.slots_of(&place, slot);
                replicas.look_out(run_id.flatten(), slots, deadline).await.map(Some)
            }
        }
    }

    pub(crate) fn id(&self) -> &NodeId {
        self.0.core.endpoint.id()
    }

    /// What is the same for two nodes only if either's connections do for both.
    pub(crate) fn identity(&self) -> &Arc<ConnectionKey> {
        &self.0.core.identity
    }

    /// What is measured of it.
    pub(crate) fn meters(&self) -> &SharedMeters {
        &self.0.core.settings.meters
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

    /// Whether both are one cluster, or one is a server of the other, as far as they were asked by now.
    pub(crate) fn shares_cluster(&self, other: &Self) -> bool {
        let has = |cluster: &Cluster, server: &Core| {
            cluster.has(server.run_id(), server.cluster_id().as_ref())
        };
        match (&self.0.servers, &other.0.servers) {
            (Servers::Many(cluster), Servers::Many(other)) => cluster.is_that_of(other),
            (Servers::Many(cluster), Servers::One(_)) => has(cluster, &other.0.core),
            (Servers::One(_), Servers::Many(cluster)) => has(cluster, &self.0.core),
            (Servers::One(_), Servers::One(_)) => false,
        }
    }

    /// Until when nothing that concerns `key` is to be granted: in a cluster its slot may have come to a master
    /// that has none of its keys, since the one before was lost with them.
    pub(crate) fn covered_until(&self, key: &str) -> Option<Instant> {
        match &self.0.servers {
            Servers::One(_) => None,
            Servers::Many(cluster) => cluster.covered_until(slot(key)),
        }
    }

    /// Whether it is many servers, of which each has some of the keys.
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self.0.servers, Servers::Many(_))
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
    /// One master is the right one for every key; in a cluster it is the one that serves the key's slot.
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
        key: &str,
        deadline: Instant,
    ) -> Result<Connection, NodeError> {
        match &self.0.servers {
            Servers::One(master) => master.connection(deadline).await,
            Servers::Many(_) if self.0.core.closed.is_cancelled() => Err(NodeError::Closed),
            // A rare thing to wait for, and large.
            Servers::Many(cluster) => Box::pin(cluster.connection(slot(key), deadline)).await,
        }
    }

    /// The connections of the current runtime to all masters that there are, made if there are none.
    ///
    /// # Errors
    /// As [`connection`](Self::connection).
    ///
    /// # Cancel safety
    /// As [`connection`](Self::connection).
    pub(crate) async fn connections(
        &self,
        deadline: Instant,
    ) -> Result<Vec<Connection>, NodeError> {
        match &self.0.servers {
            Servers::One(master) => Ok(vec![master.connection(deadline).await?]),
            Servers::Many(cluster) => cluster.connections(deadline).await,
        }
    }

    /// The same, as far as they can be had: of a cluster one may be down.
    ///
    /// # Errors
    /// It is not known which masters there are.
    ///
    /// # Cancel safety
    /// As [`connection`](Self::connection).
    pub(crate) async fn each_connection(
        &self,
        deadline: Instant,
    ) -> Result<Vec<Result<Connection, NodeError>>, NodeError> {
        match &self.0.servers {
            Servers::One(master) => Ok(vec![master.connection(deadline).await]),
            Servers::Many(cluster) => cluster.each_connection(deadline).await,
        }
    }

    /// The connection for a call that goes out once more: where a cluster has sent it, if it has.
    ///
    /// # Errors
    /// As [`connection`](Self::connection). What the cluster said if it has for too long.
    ///
    /// # Cancel safety
    /// As [`connection`](Self::connection).
    pub(crate) fn next_connection<'a>(
        &'a self,
        next_socket: &'a mut NextSocket,
        key: &'a str,
        deadline: Instant,
    ) -> BoxFuture<'a, Result<Connection, NodeError>> {
        // Large, and rare for a caller that asks often: it has a connection.
        match next_socket.take_redirect(deadline) {
            None => Box::pin(self.connection(key, deadline)),
            Some(sent_on) => Box::pin(self.connection_after(sent_on, next_socket, key)),
        }
    }

    async fn connection_after(
        &self,
        (redirect, error, times, until): (Redirect, NodeError, u32, Instant),
        next_socket: &mut NextSocket,
        key: &str,
    ) -> Result<Connection, NodeError> {
        let Servers::Many(cluster) = &self.0.servers else {
            return Err(next_socket.not_sent_on(redirect.of_one_server(error)));
        };
        let clock = &self.0.core.settings.clock;
        if let Redirect::Moved(place) = &redirect {
            // Also if it is too late for this call.
            cluster.learn(slot(key), &cluster.told(slot(key), place.clone())?);
        }
        let pause = match redirect {
            Redirect::Moved(_) | Redirect::Ask(_) if times <= SENT_ON_AT_ONCE => Duration::ZERO,
            _ => PAUSE * times.min(MOST_PAUSES),
        };
        let at = clock.now() + pause;
        if at >= until {
            return Err(next_socket.not_sent_on(error));
        }
        if !pause.is_zero() {
            clock.sleep_until(at).await;
        }
        match redirect {
            Redirect::Ask(place) => {
                let place = cluster.told(slot(key), place)?;
                return Ok(cluster.master(&place).connection(until).await?.asking());
            }
            Redirect::Moved(_) | Redirect::TryAgain => {}
            Redirect::Down => cluster.look(until).await?,
        }
        self.connection(key, until).await
    }

    /// Makes a call for what concerns `key`; the connection is that of the answer. What never left,
    /// since the socket had been closed while nothing was said on it, goes out on the next one.
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
        let next_socket = NextSocket::for_the_unsent();
        self.call_until(next_socket, key, Priority::default(), call, deadline).await
    }

    pub(super) async fn call_until<C: Call>(
        &self,
        mut next_socket: NextSocket,
        key: &str,
        priority: Priority,
        call: &C,
        deadline: Instant,
    ) -> Result<(Connection, Answer<C::Reply>), NodeError> {
        loop {
            let connection = self.next_connection(&mut next_socket, key, deadline).await?;
            match connection.call_of(priority, call, deadline).await {
                Err(error) => next_socket.after(error)?,
                Ok(answer) => return Ok((connection, answer)),
            }
        }
    }

    /// The same as [`call`](Self::call), for what is so large that other calls would wait behind it: on a socket
    /// beside that of all others.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub(crate) async fn call_apart<C: Call>(
        &self,
        key: &str,
        call: &C,
        deadline: Instant,
    ) -> Result<(Connection, Answer<C::Reply>), NodeError> {
        let mut next_socket = NextSocket::for_the_unsent();
        loop {
            // Which server it is, a cluster may have said.
            let beside = self.next_connection(&mut next_socket, key, deadline).await?;
            let connection = self.apart_from(beside, deadline).await?;
            match connection.call(call, deadline).await {
                Err(error) => next_socket.after(error)?,
                Ok(answer) => return Ok((connection, answer)),
            }
        }
    }

    /// The other connection to the same server.
    async fn apart_from(
        &self,
        beside: Connection,
        deadline: Instant,
    ) -> Result<Connection, NodeError> {
        let connection = match (&self.0.servers, beside.place()) {
            (Servers::One(master), _) => master.connection_apart(deadline).await?,
            (Servers::Many(cluster), Some(place)) => {
                cluster.master(place).connection_apart(deadline).await?
            }
            (Servers::Many(_), None) => return Ok(beside),
        };
        Ok(if beside.is_asking() { connection.asking() } else { connection })
    }

    /// The connection without waiting: the live connection if there is one now.
    pub(crate) fn connected(&self, key: &str) -> Option<Connection> {
        match &self.0.servers {
            Servers::One(master) => master.connected(),
            Servers::Many(cluster) => cluster.connected(slot(key)),
        }
    }

    /// The same on any runtime.
    pub(crate) fn connected_anywhere(&self, key: &str) -> Option<Connection> {
        match &self.0.servers {
            Servers::One(master) => master.connected_anywhere(),
            Servers::Many(cluster) => cluster.connected_anywhere(slot(key)),
        }
    }

    /// Whether there is a link on a runtime for what concerns `key`, connected or not.
    pub(crate) fn is_linked_for(&self, key: &str, runtime: Id) -> bool {
        match &self.0.servers {
            Servers::One(master) => master.is_linked_on(runtime),
            Servers::Many(cluster) => cluster.is_linked_for(slot(key), runtime),
        }
    }

    /// The server's run as of the newest handshake on any runtime. A cluster has none.
    pub(crate) fn run_id(&self) -> Option<RunId> {
        self.0.core.run_id()
    }

    /// What is known of the server's process, as of the newest handshake on any runtime.
    pub(crate) fn standing(&self) -> Option<Arc<ServerRun>> {
        self.0.core.standing().clone()
    }

    /// By which command messages are published there, as far as is known.
    pub(crate) fn publishing(&self) -> Publishing {
        self.0.core.settings.sharding.publishing()
    }

    /// The texts of all that grants, behind `prologue`.
    pub(crate) fn checked_scripts(&self, prologue: &'static str) -> Vec<&'static str> {
        let scripts = self.0.core.settings.scripts.iter().filter(|script| script.grants);
        let publishing = self.publishing();
        scripts.map(|script| script.behind(prologue).publishing(publishing).source).collect()
    }

    /// From when on its votes count: an instant in the past if they do now. `None` if that is not
    /// known, since it was never connected or may not be asked which run it is.
    pub(crate) fn votes_from(&self) -> Option<Instant> {
        self.standing()?.votes_from()
    }

    /// What everything that belongs to it has in common.
    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.0.core
    }

    /// `None` if it is one server.
    pub(crate) fn cluster(&self) -> Option<&Arc<Cluster>> {
        match &self.0.servers {
            Servers::One(_) => None,
            Servers::Many(cluster) => Some(cluster),
        }
    }

    /// How many links there are.
    #[cfg(test)]
    pub(super) fn links(&self) -> usize {
        match &self.0.servers {
            Servers::One(master) => master.count_links(),
            Servers::Many(_) => 0,
        }
    }

    /// Ends every connection and its tasks, as dropping the last `Node` does.
    pub(crate) fn close(&self) {
        self.0.core.closed.cancel();
        if let Servers::Many(cluster) = &self.0.servers {
            cluster.close();
        }
    }
}

/// So often a call goes where it is sent without a pause: servers that disagree are to have time.
const SENT_ON_AT_ONCE: u32 = 4;
/// Grows with each time that a call is sent on, up to so many.
const PAUSE: Duration = Duration::from_millis(5);
const MOST_PAUSES: u32 = 10;

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
