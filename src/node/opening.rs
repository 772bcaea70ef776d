//! How a connection is made: a stream and the first words.

use std::{
    future::pending,
    io,
    sync::{Arc, atomic::Ordering},
};

use futures::future::BoxFuture;
use redis::{
    AsyncConnectionConfig, Cmd, ProtocolVersion, RedisResult, Value, aio::MultiplexedConnection,
};

use super::{login::Login, node_core::Core};
use crate::{
    clock::Instant,
    error::NodeError,
    logging::NODE,
    reach::{
        DialNumber, Gauged, Greeting, HostPort, Reign, Size, Stream, Whereabouts, before, cause,
        exchange, handshake, shown,
    },
    socket::{Connection, DriverTask, Outbox},
    standing::{RunId, ServerRun, note_learned},
    telling,
};

/// What reads and writes the socket of a connection for pub/sub, which is redis-rs's.
pub(crate) type PubSubDriver = BoxFuture<'static, ()>;

/// A connection for pub/sub, made.
pub(crate) type OpenedPubSub = (MultiplexedConnection, PubSubDriver, Upkeep);

/// A connection for commands, made.
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) driver: DriverTask,
    pub(super) tie: Upkeep,
}

/// What there is to do about a connection while it lives.
#[derive(Clone)]
pub(crate) struct Upkeep {
    pub(crate) renew_login_at: Option<Instant>,
    dial: DialNumber,
    /// The run it leads to, if that was asked.
    run_id: Option<RunId>,
    /// Where it leads, if the node may be elsewhere later.
    pub(super) place: Option<Whereabouts>,
}

impl Core {
    pub(super) async fn connect(&self) -> Result<Opened, NodeError> {
        let deadline = self.connected_by();
        let login = self.login(deadline).await?;
        let dial = self.runs.dial();
        let (mut stream, place) = self.stream(deadline).await?;
        let greeting = async {
            let alone = !self.endpoint.is_of_cluster();
            let greeting = handshake::greet(&mut stream, &login.info, &self.settings, alone);
            greeting.await.map_err(|error| self.hung_up(error))
        };
        let greeting = self.in_time(deadline, "the server did not answer", greeting).await;
        let sent_to = place.as_ref().map(|told| &told.place);
        let greeting = greeting.map_err(|error| self.found_at(sent_to, error))?;
        self.recognise(dial, &greeting)?;
        self.is_called(greeting.cluster_id.clone());
        let standing = self.identify(&greeting);
        self.warn_of_eviction(&greeting);
        let outbox = Outbox::new(&self.settings);
        let driver = DriverTask::new(stream, outbox.clone(), self.settings.spin);
        let config = place.as_ref().and_then(|told| told.config);
        let place_of = (config, self.endpoint.place_in_cluster());
        let connection = Connection::new(outbox, &greeting, standing, place_of, &self.settings);
        let (renew_login_at, run_id) = (login.renew_at, greeting.run_id);
        let tie = Upkeep { renew_login_at, dial, run_id, place };
        Ok(Opened { connection, driver, tie })
    }

    /// Notes which of the processes at this address it is.
    fn recognise(&self, dial: DialNumber, greeting: &Greeting) -> Result<(), NodeError> {
        let Some(run_id) = greeting.run_id else { return Ok(()) };
        // Of those that sentinels name in turn, the later word is the truth.
        let replid = greeting.replid.filter(|_| !self.endpoint.is_followed());
        let (now, alone_for) = (self.settings.clock.now(), self.settings.rules.quarantine);
        self.runs.met(dial, Reign { run_id, replid }, now, alone_for)
    }

    /// Notes which run the server is. Warns if the user may not ask, unless that was so before.
    fn identify(&self, greeting: &Greeting) -> Arc<ServerRun> {
        let mut newest = self.standing();
        let standing =
            ServerRun::after(newest.as_ref(), greeting.introduction(), self.settings.rules);
        let before = newest.replace(standing.clone());
        drop(newest);
        note_learned();
        if !standing.is_identified() && before.is_none_or(|before| before.is_identified()) {
            let node = self.endpoint.id().clone();
            let cause = standing.told_run_id().err();
            telling::event(move || {
                tracing::warn!(
                    target: NODE, %node, cause = cause.as_ref().map(tracing::field::display),
                    "restarts of the server go unnoticed, and two addresses of it too: it does not tell who it is"
                )
            });
        }
        standing
    }

    /// Once until it can be reached again, however many connections are tried.
    pub(super) fn tell_down(&self, cause: &NodeError) {
        if !self.is_told_down.swap(true, Ordering::Relaxed) {
            self.settings.meters.reached(self.endpoint.id(), false);
            let (node, cause) = (self.endpoint.id().clone(), cause.clone());
            telling::event(move || {
                tracing::warn!(target: NODE, %node, %cause, "a server cannot be reached");
            });
        }
    }

    pub(super) fn tell_up(&self) {
        self.settings.meters.reached(self.endpoint.id(), true);
        if self.is_told_down.swap(false, Ordering::Relaxed) {
            let node = self.endpoint.id().clone();
            telling::event(move || {
                tracing::info!(target: NODE, %node, "a server can be reached again");
            });
        }
    }

    /// Once for each client, at its first connection.
    fn warn_of_eviction(&self, greeting: &Greeting) {
        let Some(policy) = greeting.evicts.clone() else { return };
        if !self.warned_of_eviction.swap(true, Ordering::Relaxed) {
            let node = self.endpoint.id().clone();
            telling::event(move || {
                tracing::warn!(
                    target: NODE, %node, maxmemory_policy = %policy,
                    "this server throws away locks that are held when its memory is full, and others are \
                     granted them; set maxmemory-policy to noeviction"
                )
            });
        }
    }

    /// Makes a stream and a redis-rs connection on it, for pub/sub; and what it is tied to.
    pub(crate) async fn open(
        &self,
        config: AsyncConnectionConfig,
    ) -> Result<OpenedPubSub, NodeError> {
        let deadline = self.connected_by();
        let Login { info, renew_at: renew_login_at } = self.login(deadline).await?;
        let info = info.set_protocol(ProtocolVersion::RESP3);
        let dial = self.runs.dial();
        let (stream, place) = self.stream(deadline).await?;
        let opened = MultiplexedConnection::new_with_config(&info, Gauged::new(stream), config);
        let opened = async { opened.await.map_err(cause::of_connecting) };
        let (redis, driver) = self.in_time(deadline, "the server did not answer", opened).await?;
        Ok((redis, Box::pin(driver), Upkeep { renew_login_at, dial, run_id: None, place }))
    }

    /// A stream on which nothing was said but the login; and what it is tied to.
    pub(super) async fn logged_in(
        &self,
        deadline: Instant,
    ) -> Result<(Box<dyn Stream>, Upkeep), NodeError> {
        let Login { info, renew_at: renew_login_at } = self.login(deadline).await?;
        let dial = self.runs.dial();
        let (mut stream, place) = self.stream(deadline).await?;
        let logging_in = handshake::log_in(&mut stream, &info, &self.settings.client_name);
        self.in_time(deadline, "the server did not answer", logging_in).await?;
        Ok((stream, Upkeep { renew_login_at, dial, run_id: None, place }))
    }

    /// The answers to some questions on a stream of their own, of a server that need not be a master.
    pub(super) async fn ask_once(
        &self,
        questions: &[Cmd],
    ) -> Result<Vec<RedisResult<Value>>, NodeError> {
        let deadline = self.connected_by();
        let login = handshake::login_commands(&self.login(deadline).await?.info);
        let (mut stream, _place) = self.stream(deadline).await?;
        let all = [&login, questions].concat();
        let asked = async { Ok(exchange(&mut stream, &all, Size::LIST).await) };
        let mut answers = self.in_time(deadline, "the server did not answer", asked).await?;
        let rest = answers.split_off(login.len());
        for answer in answers {
            handshake::no_error(answer)?;
        }
        Ok(rest)
    }

    /// A stream on which Redis' protocol is spoken, and where it leads.
    async fn stream(
        &self,
        deadline: Instant,
    ) -> Result<(Box<dyn Stream>, Option<Whereabouts>), NodeError> {
        let clock = &self.settings.clock;
        let refused = |error: io::Error| cause::unreachable(&error);
        let told = async { self.endpoint.told(clock).await.map_err(cause::of_telling) };
        let told = self.in_time(deadline, "no sentinel answered", told).await?;
        let sent_to = told.as_ref().map(|told| told.place.clone());
        let dialled = async { self.endpoint.dial(told, clock).await.map_err(refused) };
        let dialled = self.in_time(deadline, "not connected", dialled).await;
        let (stream, place) = dialled.map_err(|error| self.found_at(sent_to.as_ref(), error))?;
        #[cfg(feature = "tls")]
        if let Some(tls) = self.endpoint.tls() {
            let at =
                place.as_ref().map(|told| told.place.clone()).or_else(|| self.endpoint.place());
            let at = at.as_ref().map(|(host, port)| (&**host, *port));
            let wrapped = tls.wrap(stream, at, clock);
            let wrapped = self.in_time(deadline, "no TLS handshake", wrapped).await;
            let stream = wrapped.map_err(|error| self.found_at(sent_to.as_ref(), error))?;
            return Ok((stream, place));
        }
        Ok((stream, place))
    }

    /// The error of a server to which sentinels have sent us, or another of its cluster: the address that they
    /// tell may be of use to them alone.
    fn found_at(&self, sent_to: Option<&HostPort>, error: NodeError) -> NodeError {
        let sent_to = sent_to.filter(|_| self.endpoint.directory().is_some());
        match (sent_to, self.endpoint.place_in_cluster()) {
            (Some(place), _) => error.of_server_at(&shown(place)),
            (None, Some(place)) => error.of_server_at(&shown(&place)),
            (None, None) => error,
        }
    }

    /// Completes when a connection is to be given up, since its node is elsewhere.
    pub(crate) async fn moved_from(&self, tie: &Upkeep) {
        tokio::select! {
            biased;
            () = self.runs.succeeded(tie.dial, tie.run_id) => {
                let node = self.endpoint.id().clone();
                telling::event(move || tracing::info!(target: NODE, %node, "another server has its place now"));
            }
            () = self.told_away_from(tie.place.as_ref()) => {}
        }
    }

    async fn told_away_from(&self, place: Option<&Whereabouts>) {
        match self.endpoint.directory().zip(place) {
            Some((directory, place)) => {
                directory.moved_from(place, &self.settings.clock).await;
                let node = self.endpoint.id().clone();
                telling::event(
                    move || tracing::info!(target: NODE, %node, "the master is elsewhere now"),
                );
            }
            None => pending().await,
        }
    }

    /// A server that hangs up without a word may have waited for another protocol.
    fn hung_up(&self, error: NodeError) -> NodeError {
        match error {
            NodeError::Unreachable { reason }
                if !self.endpoint.is_secured() && *reason != *cause::NO_REDIS =>
            {
                cause::unreachable(&format_args!(
                    "{reason}; if TLS is spoken there, say rediss://; if it is a proxy such as twemproxy, go to \
                     the servers behind it"
                ))
            }
            other => other,
        }
    }

    pub(crate) fn connected_by(&self) -> Instant {
        self.settings.clock.now() + self.settings.connect_timeout
    }

    /// `missing` says what there was not when time was up.
    pub(super) async fn in_time<T>(
        &self,
        deadline: Instant,
        missing: &str,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let limit = self.settings.connect_timeout;
        let late = || Err(cause::unreachable(&format_args!("{missing} within {limit:?}")));
        // On the heap: it is a rare thing to do, and large.
        let work = Box::pin(work);
        before(&self.settings.clock, deadline, work).await.unwrap_or_else(late)
    }
}
