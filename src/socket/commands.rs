//! Commands that are said by themselves, without a script.

use futures::future::join_all;
use redis::{Cmd, Value};

use super::{
    connection::{Answer, Connection},
    priority::Priority,
    request::{Question, Request},
};
use crate::{
    clock::Instant,
    error::NodeError,
    reach::cause,
    wire::{Outcome, PlainRelease, excerpt},
};

impl Connection {
    /// Says something that is answered with OK.
    pub(crate) async fn command(&self, command: Cmd, deadline: Instant) -> Result<(), NodeError> {
        self.ask(Question(command), deadline).await.map(drop)
    }

    /// Releases a lock of which nothing that was sent can come later, by two commands in one write, which cost a
    /// server a third of a script. `None` if the holder did not have
    /// it, or the user may not say it plainly: then the script tells the rest.
    ///
    /// # Errors
    /// As [`call`](Self::call); also if the release was done and it is unknown whether it was announced.
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
        // No command told it, and no caller has to know.
        Ok(Some(Answer { reply, sent, received, server_time: i64::MIN }))
    }

    /// Asks for a sign of life.
    ///
    /// # Errors
    /// Whatever stops a call.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(crate) async fn ping(&self, deadline: Instant) -> Result<(), NodeError> {
        self.ask(Question(words(&["PING"])), deadline).await.map(drop)
    }

    /// What the server's connections are called; those without a name are left out.
    ///
    /// # Errors
    /// Whatever stops a call.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub(crate) async fn names_of_connections(
        &self,
        deadline: Instant,
    ) -> Result<Vec<String>, NodeError> {
        let question = Question(words(&["CLIENT", "LIST"]));
        let list = match self.ask_for_a_list(question, deadline).await? {
            Value::BulkString(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            other => {
                let what = format!("CLIENT LIST was answered by {}", excerpt(&other));
                return Err(cause::malformed(&what));
            }
        };
        let names = list.split_ascii_whitespace().filter_map(|word| word.strip_prefix("name="));
        Ok(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

impl Connection {
    /// Says several commands behind one another, without waiting in between. Each has an answer of its own, in their
    /// order, and may tell of many.
    ///
    /// # Cancel safety
    /// Some may be executed, and some not.
    pub(crate) async fn ask_each(
        &self,
        commands: Vec<Cmd>,
        deadline: Instant,
    ) -> Vec<Result<Value, NodeError>> {
        let asked = commands.into_iter().map(|it| self.ask_for_a_list(Question(it), deadline));
        join_all(asked).await
    }
}

pub(crate) fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}
