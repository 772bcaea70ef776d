//! The task of a pub/sub connection, which makes it again whenever it is lost.

use std::time::Duration;

use super::{
    desk::PubSubTask,
    event::{PubSubEvent, SubscriptionChange},
    session::{PubSubSession, SessionEnd},
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::{before, pauses},
};

/// Keeps what is wanted subscribed until the `PubSub` is dropped.
pub(super) async fn run(mut desk: PubSubTask) {
    let settings = desk.core.settings.clone();
    let mut backoff = pauses(&settings);
    loop {
        while desk.wanted.is_empty() {
            let Some(change) = desk.inbox.recv().await else { return };
            desk.note(&change);
        }
        let tried = settings.clock.now();
        let error = match PubSubSession::open(&desk).await {
            Ok(session) => {
                match session.run(&mut desk).await {
                    SessionEnd::Over => return,
                    SessionEnd::Idle => continue,
                    SessionEnd::Lost => settings.meters.not_subscribed(),
                }
                if settings.clock.now().saturating_since(tried) >= settings.backoff_max {
                    backoff = pauses(&settings);
                    continue;
                }
                None
            }
            Err(error) => Some(error),
        };
        let length = backoff.next().unwrap_or(settings.backoff_max);
        if let SessionEnd::Over = pause(&mut desk, tried, length, error).await {
            return;
        }
    }
}

/// Waits before the next attempt to connect. If the last one failed, its error refuses every
/// channel that is wanted or is subscribed meanwhile. A new subscription shortens the pause.
pub(super) async fn pause(
    desk: &mut PubSubTask,
    tried: Instant,
    length: Duration,
    error: Option<NodeError>,
) -> SessionEnd {
    let clock = desk.core.settings.clock.clone();
    let mut until = clock.now() + length;
    if let Some(error) = &error {
        desk.refuse_all(error);
    }
    loop {
        let Some(change) = before(&clock, until, desk.inbox.recv()).await else {
            return SessionEnd::Lost;
        };
        let Some(change) = change else { return SessionEnd::Over };
        desk.note(&change);
        if let SubscriptionChange::Subscribe(channel) = change {
            until = until.min(tried + LEAST_BETWEEN_ATTEMPTS);
            if let Some(error) = &error {
                desk.events.send(PubSubEvent::Refused(channel, error.clone()));
            }
        }
    }
}

/// However many subscribe while there is no connection, it is tried at most this often.
const LEAST_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);
