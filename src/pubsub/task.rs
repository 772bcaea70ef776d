//! The task of a pub/sub connection, which makes it again whenever it is lost.

use std::time::Duration;

use super::{
    desk::PubSubTask,
    event::{PubSubEvent, Subject, SubscriptionChange},
    session::{PubSubSession, SessionEnd},
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::{before, pauses_up_to},
};

/// Keeps what is wanted subscribed until the `PubSub` is dropped.
pub(super) async fn run(mut desk: PubSubTask) {
    let settings = desk.core.settings.clone();
    let most = longest_pause(desk.subject, settings.backoff_max);
    let mut backoff = pauses_up_to(most, &settings);
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
                if settings.clock.now().saturating_since(tried) >= most {
                    backoff = pauses_up_to(most, &settings);
                    continue;
                }
                None
            }
            Err(error) => Some(error),
        };
        let length = backoff.next().unwrap_or(most);
        if let SessionEnd::Over = pause(&mut desk, tried, length, error).await {
            return;
        }
    }
}

/// Waits before the next attempt to connect. If the last one failed, its error refuses every
/// channel that is wanted or is subscribed meanwhile. A new subscription shortens the pause, unless it is of a key:
/// nothing waits for that.
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
            if desk.subject == Subject::Channels {
                until = until.min(tried + LEAST_BETWEEN_ATTEMPTS);
            }
            if let Some(error) = &error {
                desk.events.send(PubSubEvent::Refused(channel, error.clone()));
            }
        }
    }
}

/// However many subscribe while there is no connection, it is tried at most this often.
const LEAST_BETWEEN_ATTEMPTS: Duration = Duration::from_millis(100);

/// What is told of keys comes sooner than a renewal, and no lock waits for it: a server that takes no such connection
/// is left alone for longer than one by which waiters are woken.
fn longest_pause(subject: Subject, usual: Duration) -> Duration {
    match subject {
        Subject::Channels => usual,
        Subject::Keys => usual.max(OF_KEYS),
    }
}

const OF_KEYS: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reach::test_settings::settings;

    /// A server that takes no second connection, for ten minutes.
    #[test]
    fn connection_for_keys_is_tried_less_often_than_one_for_messages() {
        let settings = settings();
        let [channels, keys] = [Subject::Channels, Subject::Keys].map(|subject| {
            let most = longest_pause(subject, settings.backoff_max);
            let mut passed = Duration::ZERO;
            let is_within = |pause: &Duration| {
                passed += *pause;
                passed < Duration::from_secs(600)
            };
            pauses_up_to(most, &settings).take_while(is_within).count()
        });
        assert!(channels > 5 * keys, "{channels} and {keys}");
        assert!((60..200).contains(&keys), "{keys}");
    }
}
