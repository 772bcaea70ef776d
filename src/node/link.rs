//! The command connection of one node on one runtime, and the task that keeps it alive.
//!
//! ```text
//! Connecting ──made──▶ Up ──socket lost──▶ Connecting
//!     │                 └──frozen, READONLY──▶ Down
//!     └──failed──▶ Down ──made──▶ Up        any ──closed, runtime ended──▶ Over
//! ```
//!
//! Callers wait in Connecting and fail at once in Down, also while another attempt is under way.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use futures::future::BoxFuture;
use redis::{AsyncConnectionConfig, RedisConnectionInfo, aio::MultiplexedConnection};
use tokio::sync::Notify;
use tokio_util::task::AbortOnDropHandle;

use super::{
    Connection, Core, Links, NodeSettings, cause,
    connection::before,
    handshake::{self, Greeting},
    outbox::ConnectionEnd,
    silence::{Heard, Traffic},
    window::BUFFER,
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    latest::Latest,
    standing::Standing,
};

#[derive(Debug)]
pub(super) struct Link {
    core: Arc<Core>,
    state: Latest<LinkState>,
    /// Somebody wants the node while it is down.
    nudge: Notify,
}

#[derive(Debug, Clone)]
enum LinkState {
    Connecting,
    Up(Connection),
    Down(NodeError),
    Over,
}

impl LinkState {
    fn is_settled(&self) -> bool {
        match self {
            Self::Connecting => false,
            // An ended connection stays here until its supervisor is polled; that is soon.
            Self::Up(connection) => connection.is_live(),
            Self::Down(_) | Self::Over => true,
        }
    }
}

impl Link {
    /// A link and the task that keeps it, which is to be spawned on the link's runtime.
    pub(super) fn new(
        core: Arc<Core>,
        links: &Links,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let state = Latest::new(LinkState::Connecting);
        let link = Arc::new(Self { core, state, nudge: Notify::new() });
        let membership = Membership { link: link.clone(), links: links.clone() };
        (link, supervise(membership))
    }

    pub(super) fn connected(&self) -> Option<Connection> {
        self.state.look(|state| match state {
            LinkState::Up(connection) if connection.is_live() => Some(connection.clone()),
            _ => None,
        })
    }

    pub(super) async fn connection(&self, deadline: Instant) -> Result<Connection, NodeError> {
        if let Some(connection) = self.connected() {
            return Ok(connection);
        }
        self.nudge.notify_one();
        let settled = self.state.wait_for(LinkState::is_settled);
        match before(&self.core.settings.clock, deadline, settled).await {
            Some(LinkState::Up(connection)) => Ok(connection),
            Some(LinkState::Down(cause)) => Err(cause),
            Some(LinkState::Over) => Err(self.core.why_over()),
            Some(LinkState::Connecting) | None => {
                Err(NodeError::TimedOut { phase: Phase::Connecting })
            }
        }
    }
}

/// Takes the link out of its node's list when the task ends, in whatever way.
struct Membership {
    link: Arc<Link>,
    links: Links,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let last = self.link.state.replace(LinkState::Over);
        if let LinkState::Up(connection) = last {
            connection.end(ConnectionEnd::Lost);
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, link)| !Arc::ptr_eq(link, &self.link));
    }
}

async fn supervise(membership: Membership) {
    let link = &*membership.link;
    link.core.closed.run_until_cancelled(keep_connected(link)).await;
}

async fn keep_connected(link: &Link) {
    let settings = &link.core.settings;
    let mut pauses = pauses(settings);
    loop {
        let tried = settings.clock.now();
        match link.core.connect().await {
            Ok((connection, driver)) => {
                tracing::debug!(node = %link.core.endpoint.id(), "connected");
                link.state.replace(LinkState::Up(connection.clone()));
                let ending = drive(&connection, driver).await;
                let lived = settings.clock.now().saturating_since(tried);
                tracing::debug!(node = %link.core.endpoint.id(), ?ending, "connection ended");
                link.state.replace(match ending {
                    ConnectionEnd::Lost => LinkState::Connecting,
                    ConnectionEnd::Unusable(cause) => LinkState::Down(cause),
                });
                // A server that hangs up on every new connection is not asked in a spin.
                if lived >= settings.backoff_max {
                    pauses = self::pauses(settings);
                    continue;
                }
            }
            Err(cause) => {
                tracing::debug!(node = %link.core.endpoint.id(), %cause, "not connected");
                link.state.replace(LinkState::Down(cause));
            }
        }
        pause(link, tried, pauses.next().unwrap_or(settings.backoff_max)).await;
    }
}

/// Keeps the connection until it ends.
///
/// The driver has a task of its own, which ends with this future: it is polled several times for
/// each call, and the signals that are waited for here need not be looked at every time.
async fn drive(connection: &Connection, driver: Driver) -> ConnectionEnd {
    let _attendance = connection.attendance();
    let mut driving = AbortOnDropHandle::new(tokio::spawn(driver));
    tokio::select! {
        biased;
        _ended = &mut driving => {
            connection.end(ConnectionEnd::Lost);
            ConnectionEnd::Lost
        }
        ending = connection.ended() => ending,
    }
}

/// Waits before the next attempt, less long if somebody asks or has asked for the node.
async fn pause(link: &Link, tried: Instant, pause: Duration) {
    let clock = &link.core.settings.clock;
    let nudged = async {
        link.nudge.notified().await;
        clock.sleep_until(tried + LEAST_BETWEEN_NUDGED).await;
    };
    tokio::select! {
        biased;
        () = clock.sleep_until(clock.now() + pause) => {}
        () = nudged => {}
    }
}

/// Pauses that double and are jittered: a fleet must not come back in step. Half the maximum,
/// since the jitter adds up to as much again.
pub(super) fn pauses(settings: &NodeSettings) -> ExponentialBackoff {
    let max = settings.backoff_max;
    ExponentialBuilder::new()
        .with_min_delay(FIRST_PAUSE.min(max / 2))
        .with_max_delay(max / 2)
        .without_max_times()
        .with_jitter()
        .with_jitter_seed(settings.random.next())
        .build()
}

/// What reads and writes the socket of a redis-rs connection.
pub(super) type Driver = BoxFuture<'static, ()>;

impl Core {
    async fn connect(&self) -> Result<(Connection, Driver), NodeError> {
        // RESP2 without a user: redis-rs then says nothing by itself, see `handshake::greet`.
        let silent = RedisConnectionInfo::default().set_skip_set_lib_name();
        let work = Box::pin(async {
            let (redis, driver, traffic) = self.open(&silent, config()).await?;
            let (greeting, driver) = self.greet(&redis, driver).await?;
            let standing = self.identify(&greeting);
            Ok((Connection::new(redis, traffic, &greeting, standing, &self.settings), driver))
        });
        self.in_time(work).await
    }

    /// Takes note of who the server is; warns if it does not tell, unless that is known.
    fn identify(&self, greeting: &Greeting) -> Arc<Standing> {
        let mut newest = self.standing();
        let standing =
            Standing::after(newest.as_ref(), greeting.introduction(), self.settings.rules);
        let before = newest.replace(standing.clone());
        drop(newest);
        if !standing.is_identified() && before.is_none_or(|before| before.is_identified()) {
            tracing::warn!(
                node = %self.endpoint.id(),
                "the user may not ask INFO, so restarts go unnoticed, and two addresses of one \
                 server too; the ACL rule +info|server allows it"
            );
        }
        standing
    }

    async fn greet(
        &self,
        redis: &MultiplexedConnection,
        mut driver: Driver,
    ) -> Result<(Greeting, Driver), NodeError> {
        let greet = handshake::greet(redis, self.endpoint.login(), &self.settings);
        tokio::pin!(greet);
        tokio::select! {
            biased;
            greeting = &mut greet => Ok((greeting?, driver)),
            () = &mut driver => {
                // The server may have said why. What it left unanswered fails with the driver.
                drop(driver);
                greet.await?;
                Err(cause::unreachable(&"the server hung up"))
            }
        }
    }

    /// Makes a stream and a redis-rs connection on it, with a count of what it carries.
    pub(super) async fn open(
        &self,
        login: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> Result<(MultiplexedConnection, Driver, Arc<Traffic>), NodeError> {
        let stream = self.endpoint.dial().await.map_err(|error| cause::unreachable(&error))?;
        let (stream, traffic) = Heard::new(stream);
        let (redis, driver) = MultiplexedConnection::new_with_config(login, stream, config)
            .await
            .map_err(cause::of_connecting)?;
        Ok((redis, Box::pin(driver), traffic))
    }

    pub(super) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, NodeError>>,
    ) -> Result<T, NodeError> {
        let limit = self.settings.connect_timeout;
        let clock = &self.settings.clock;
        let late = || Err(cause::unreachable(&format!("not connected within {limit:?}")));
        before(clock, clock.now() + limit, work).await.unwrap_or_else(late)
    }
}

/// Every call has a deadline of ours; redis-rs's own would only cut in.
pub(super) fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None)
        .set_pipeline_buffer_size(BUFFER)
}

const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// However many ask for a node that is down, it is tried at most this often.
const LEAST_BETWEEN_NUDGED: Duration = Duration::from_millis(100);
