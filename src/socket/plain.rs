//! A release by two plain commands in one write, which cost a server a third of a script.

use redis::Value;

use super::{
    connection::{Answer, Connection},
    priority::Priority,
    request::Request,
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::cause,
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
        priority: Priority,
        release: &PlainRelease,
        deadline: Instant,
    ) -> Result<Option<Answer<Outcome>>, NodeError> {
        if self.is_asking() {
            // That word is for one command, and these are two.
            return Ok(None);
        }
        let request = Request::release(release, self.publishing());
        let (removed, announced, sent) = self.exchange(request, deadline, priority).await?;
        let code = match removed.map(|removed| self.read(removed)) {
            Some(Ok(Value::Int(1))) => Outcome::DONE,
            Some(Ok(Value::Int(_)) | Err(NodeError::Permission { .. })) | None => return Ok(None),
            Some(Ok(other)) => return Err(cause::malformed(&excerpt(&other))),
            Some(Err(NodeError::ForeignKey)) => Outcome::FOREIGN,
            Some(Err(error)) => return Err(error),
        };
        let value = match self.read(announced) {
            Ok(Value::Int(listeners)) => listeners,
            Ok(other) => return Err(cause::malformed(&excerpt(&other))),
            // Released, unannounced.
            Err(_) => -1,
        };
        let (reply, received) = (Outcome { code, value, token: 0 }, self.now());
        // No command told it, and nobody has to know.
        Ok(Some(Answer { reply, sent, received, server_time: i64::MIN }))
    }
}
