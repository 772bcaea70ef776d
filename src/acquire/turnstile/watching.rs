//! Whether the server still answers on which waiters pass one by one: one that is gone tells nobody of a turn, and
//! that is not to be found out when the turn before would have ended.

use std::{pin::pin, time::Duration};

use futures::future::{Either, select};

use super::script::may_not;
use crate::{clock::Instant, process::NodeServices};

/// Completes once the server does not answer any more. What has waited `since` long ago asks seldom.
pub(super) async fn until_silent(services: &NodeServices, name: &str, since: Instant) {
    let clock = &services.process.clock;
    loop {
        let waited = clock.now().saturating_since(since);
        clock.sleep_until(clock.now() + LEAST.max(waited / PART)).await;
        let Some(connection) = services.node.connected(name) else { return };
        let now = clock.now();
        // That it is given up here is no time-out of the server.
        let answer = connection.ping(now + services.settings.node_timeout);
        let limit = clock.sleep_until(now + ANSWERED.max(connection.round_trip() * 4));
        match select(pin!(answer), limit).await {
            Either::Left((Ok(()), _)) => {}
            Either::Left((Err(error), _)) if may_not(&error) => {}
            Either::Left(_) | Either::Right(_) => return,
        }
    }
}

/// How often it is asked at most, ...
const LEAST: Duration = Duration::from_millis(250);
/// ... and later on after such a part of the time that was waited.
const PART: u32 = 8;
/// A busy machine has pauses, too.
const ANSWERED: Duration = Duration::from_millis(250);
