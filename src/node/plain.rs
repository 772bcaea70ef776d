//! A release by two plain commands in one write, which cost a server a third of a script.

use std::{io, sync::Arc};

use redis::Value;

use super::{
    caller::Always,
    cause,
    connection::{Answer, Connection},
};
use crate::{
    clock::Instant,
    error::{NodeError, Phase},
    wire::{Outcome, PlainRelease, excerpt},
};

impl Connection {
    /// Releases a lock of which nothing that was sent can come later. `None` if the holder did not have
    /// it, or the user may not say it plainly: then the script tells the rest.
    ///
    /// # Errors
    /// As [`call`](Self::call); also if the release was done and nobody knows whether it was announced.
    ///
    /// # Cancel safety
    /// As [`call`](Self::call).
    pub(crate) async fn release_plainly(
        &self,
        caller: &Always,
        release: &PlainRelease,
        deadline: Instant,
    ) -> Result<Option<Answer<Outcome>>, NodeError> {
        let sent = self.now();
        let (removal, announcement) = (release.removal(), release.announcement());
        // The second answer comes with the first.
        let (removed, announced) = futures::join!(
            self.send(removal, deadline, *caller, true),
            self.send(announcement, deadline, Always::default(), false)
        );
        let said = |answer: Result<(Value, _), _>| answer.map(|(value, _)| value);
        let (removed, announced) = (said(removed), said(announced));
        let code = match removed {
            Ok(Value::Int(1)) => Outcome::DONE,
            Ok(Value::Int(_)) | Err(NodeError::Permission { .. }) => return Ok(None),
            Ok(other) => return Err(cause::malformed(&excerpt(&other))),
            Err(NodeError::ForeignKey) => Outcome::FOREIGN,
            Err(error) => return Err(error),
        };
        let value = match announced {
            Ok(Value::Int(listeners)) => listeners,
            Ok(other) => return Err(cause::malformed(&excerpt(&other))),
            Err(error) if error.is_answer() || planted!(AnnouncementLost) => -1,
            Err(error) => return Err(in_doubt(error)),
        };
        let (reply, received) = (Outcome { code, value, token: 0 }, self.now());
        // No command told it, and nobody has to know.
        Ok(Some(Answer { reply, sent, received, server_time: i64::MIN }))
    }
}

/// The release was done, though this part of it may never have left.
fn in_doubt(error: NodeError) -> NodeError {
    match error {
        NodeError::Unreachable { reason } => {
            NodeError::Disconnected { source: Arc::new(io::Error::other(reason.to_string())) }
        }
        NodeError::TimedOut { .. } => NodeError::TimedOut { phase: Phase::Answering },
        other => other,
    }
}
