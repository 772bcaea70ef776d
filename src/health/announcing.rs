//! Whether what is announced is heard, and how soon: by that, waiters learn that a lock is free.

use std::{sync::Arc, time::Duration};

use crate::{
    error::{NodeError, Phase},
    process::NodeServices,
    socket::{Connection, Question, words},
};

/// Announces on a channel what a release announces, and waits for that to come back: for how long it took, or `None`
/// if it has not come within the time that a vote may take.
///
/// # Errors
/// The channel cannot be subscribed, or nothing be published.
///
/// # Cancel safety
/// Dropping the future leaves nothing behind.
pub(crate) async fn heard_after(
    services: &NodeServices,
    channel: &Arc<str>,
) -> Result<Option<Duration>, NodeError> {
    let (settings, clock) = (&services.settings, &services.process.clock);
    let deadline = services.now() + settings.connect_timeout;
    let listener = services.notifier.listen(channel.clone());
    tokio::select! {
        biased;
        ready = listener.ready() => ready?,
        () = clock.sleep_until(deadline) => return Err(NodeError::TimedOut { phase: Phase::Answering }),
    }
    let connections = services.node.connections(deadline).await?;
    let begun = services.now();
    let until = begun + settings.node_timeout;
    publish(services, &connections, channel).await?;
    while listener.messages() == 0 {
        tokio::select! {
            biased;
            () = listener.woken() => {}
            () = clock.sleep_until(until) => return Ok(None),
        }
    }
    Ok(Some(services.now().saturating_since(begun)))
}

/// By the first that takes it: where it goes by slots, all masters of others refuse.
async fn publish(
    services: &NodeServices,
    connections: &[Connection],
    channel: &str,
) -> Result<(), NodeError> {
    let command = [services.node.publishing().publish(), channel, FREE];
    let mut result = Err(NodeError::Closed);
    for connection in connections {
        let deadline = services.now() + services.settings.node_timeout;
        result = connection.ask(Question(words(&command)), deadline).await;
        if result.is_ok() {
            break;
        }
    }
    result.map(drop)
}

/// What Redisson's clients can read too: a word of another kind breaks their connection.
const FREE: &str = "0";
