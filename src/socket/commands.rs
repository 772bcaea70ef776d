//! Commands that are said by themselves, without a script.

use redis::{Cmd, Value};

use super::{connection::Connection, request::Question};
use crate::{clock::Instant, error::NodeError, reach::cause, wire::excerpt};

impl Connection {
    /// Says something that is answered with OK.
    pub(crate) async fn command(&self, command: Cmd, deadline: Instant) -> Result<(), NodeError> {
        self.ask(Question(command), deadline).await.map(drop)
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

pub(crate) fn words(words: &[&str]) -> Cmd {
    let mut command = Cmd::new();
    command.arg(words);
    command
}
