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
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::{runtime::Id, sync::Notify, task::coop::consume_budget};
use tokio_util::task::AbortOnDropHandle;

use super::{node_core::Core, opening::Opened};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    latest::Latest,
    logging::NODE,
    reach::{before, pauses},
    socket::{Connection, ConnectionEnd, DriverTask},
    telling,
};

#[derive(Debug)]
pub(super) struct Link {
    core: Arc<Core>,
    state: Latest<LinkState>,
    /// A caller wants the node while it is down.
    nudge: Notify,
}

#[derive(Debug, Clone)]
enum LinkState {
    Connecting,
    Up(Connection),
    /// With the number of the attempt.
    Down(NodeError, u64),
    Over,
}

/// The links of one node, by runtime.
pub(super) type Links = Arc<Mutex<Vec<(Id, Arc<Link>)>>>;

impl LinkState {
    /// Whether it is an answer to a caller that asks after attempt number `known`. A caller that was refused at
    /// the login is told so by the attempt that was: passwords change, and the server is there.
    fn is_settled(&self, known: u64) -> bool {
        match self {
            Self::Connecting => false,
            // An ended connection stays here until its supervisor is polled; that is soon.
            Self::Up(connection) => connection.is_live(),
            Self::Down(NodeError::Authentication { .. }, attempt) => *attempt > known,
            Self::Down(..) | Self::Over => true,
        }
    }

    fn attempt(&self) -> u64 {
        if let Self::Down(_, attempt) = self { *attempt } else { 0 }
    }

    /// What is told when it did not settle in time: why it is down, if it is.
    fn unsettled(&self) -> Self {
        if let Self::Down(..) = self { self.clone() } else { Self::Connecting }
    }
}

impl Link {
    /// A link and the task that keeps it, which is to be spawned on the link's runtime.
    pub(super) fn new(
        core: Arc<Core>,
        links: &Links,
        runtime: Id,
    ) -> (Arc<Self>, impl Future<Output = ()> + Send + 'static) {
        let state = Latest::new(LinkState::Connecting);
        let link = Arc::new(Self { core, state, nudge: Notify::new() });
        let membership = Membership { link: link.clone(), links: links.clone(), runtime };
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
        // A caller that asks again and again for what is down is to leave its runtime time to reach
        // it.
        consume_budget().await;
        let known = self.state.look(LinkState::attempt);
        let settled = self.state.wait_for(|state| state.is_settled(known));
        let settled = before(&self.core.settings.clock, deadline, settled).await;
        match settled.unwrap_or_else(|| self.state.look(LinkState::unsettled)) {
            LinkState::Up(connection) => Ok(connection),
            LinkState::Down(cause, _) => Err(cause),
            LinkState::Over => Err(self.core.why_over()),
            LinkState::Connecting => Err(NodeError::TimedOut { phase: Phase::Connecting }),
        }
    }
}

/// Takes the link out of its node's list when the task ends, in whatever way.
struct Membership {
    link: Arc<Link>,
    links: Links,
    runtime: Id,
}

impl Drop for Membership {
    fn drop(&mut self) {
        let last = self.link.state.replace(LinkState::Over);
        if let LinkState::Up(connection) = last {
            connection.end(ConnectionEnd::Lost);
        }
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(_, link)| !Arc::ptr_eq(link, &self.link));
        drop(links);
        self.link.core.host.withdraw(self.runtime);
    }
}

async fn supervise(membership: Membership) {
    let link = &*membership.link;
    link.core.closed.run_until_cancelled(keep_connected(link)).await;
}

async fn keep_connected(link: &Link) {
    let settings = &link.core.settings;
    let mut backoff = pauses(settings);
    let (mut was_lost, mut attempt) = (false, 0);
    loop {
        attempt += 1;
        let tried = settings.clock.now();
        let run_before = link.core.run_id();
        match link.core.connect().await {
            Ok(Opened { connection, driver, tie }) => {
                let node = link.core.endpoint.id().clone();
                telling::event(move || tracing::debug!(target: NODE, %node, "connected"));
                link.core.tell_up();
                link.state.replace(LinkState::Up(connection.clone()));
                let is_another =
                    run_before.is_some() && connection.standing().run_id() != run_before;
                if was_lost || is_another {
                    tell_that_it_is_back(link);
                }
                was_lost = true;
                let say = |command| -> BoxFuture<'_, Result<(), NodeError>> {
                    Box::pin(
                        connection.command(command, settings.clock.now() + settings.node_timeout),
                    )
                };
                let ending = tokio::select! {
                    biased;
                    ending = drive(&connection, driver) => ending,
                    () = link.core.moved_from(&tie) => {
                        connection.end(ConnectionEnd::Lost);
                        ConnectionEnd::Lost
                    }
                    () = link.core.keep_logged_in(tie.renew_login_at, &say) => ConnectionEnd::Lost,
                };
                let lived = settings.clock.now().saturating_since(tried);
                let (node, how) = (link.core.endpoint.id().clone(), ending.clone());
                telling::event(
                    move || tracing::debug!(target: NODE, %node, ?how, "connection ended"),
                );
                link.state.replace(match ending {
                    ConnectionEnd::Lost => LinkState::Connecting,
                    ConnectionEnd::Unusable(cause) => LinkState::Down(cause, attempt),
                });
                // A server that hangs up on every new connection is not asked in a spin.
                if lived >= settings.backoff_max {
                    backoff = pauses(settings);
                    continue;
                }
            }
            Err(cause) => {
                let (node, why) = (link.core.endpoint.id().clone(), cause.clone());
                telling::event(
                    move || tracing::debug!(target: NODE, %node, cause = %why, "not connected"),
                );
                link.core.tell_down(&cause);
                link.state.replace(LinkState::Down(cause, attempt));
                // Others had it before this link did.
                was_lost = true;
            }
        }
        pause(link, tried, backoff.next().unwrap_or(settings.backoff_max)).await;
    }
}

fn tell_that_it_is_back(link: &Link) {
    if let Some(resident) = link.core.resident() {
        resident.node_is_back();
    }
}

/// Keeps the connection until it ends.
///
/// The driver has a task of its own, which ends with this future: it is polled several times for
/// each call, and the signals that are waited for here need not be looked at every time.
async fn drive(connection: &Connection, driver: DriverTask) -> ConnectionEnd {
    let _attendance = connection.attendance();
    let mut driving = AbortOnDropHandle::new(tokio::spawn(driver));
    tokio::select! {
        biased;
        _ended = &mut driving => {
            connection.end(ConnectionEnd::Lost);
            ConnectionEnd::Lost
        }
        ending = connection.ended() => ending,
        ending = connection.found_silent() => ending,
    }
}

/// Waits before the next attempt, less long if a caller asks or has asked for the node, or holds
/// something there. What has become of that is to be known as soon as the server is back. Nothing is held
/// where a cluster serves nothing any more.
async fn pause(link: &Link, tried: Instant, pause: Duration) {
    let clock = &link.core.settings.clock;
    let is_needed =
        link.core.serves() && link.core.resident().is_some_and(|resident| resident.needs_node());
    let pause = if is_needed { pause.min(LEAST_BETWEEN_NUDGED) } else { pause };
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

pub(super) fn find(links: &[(Id, Arc<Link>)], runtime: Id) -> Option<&Arc<Link>> {
    links.iter().find(|(id, _)| *id == runtime).map(|(_, link)| link)
}

/// However many ask for a node that is down, it is tried at most this often.
const LEAST_BETWEEN_NUDGED: Duration = Duration::from_millis(100);
