//! One server that is asked, and how its answers are read.

use redis::{Cmd, Value};

use crate::{
    clock::Instant,
    error::NodeError,
    node::Redirect,
    process::NodeServices,
    socket::{Connection, words},
};

/// A server that is asked for its locks.
#[derive(Debug)]
pub(super) struct AskedServer<'a> {
    pub(super) services: &'a NodeServices,
    pub(super) connection: Connection,
}

impl AskedServer<'_> {
    /// Says commands behind one another, in one go. What is answered is told of each.
    pub(super) async fn ask(&self, commands: Vec<Cmd>) -> Vec<Result<Value, NodeError>> {
        self.connection.ask_each(commands, self.deadline()).await
    }

    /// Says the same of each of many.
    pub(super) async fn ask_of<T>(
        &self,
        of: &[T],
        say: impl Fn(&T) -> Cmd,
    ) -> Vec<Result<Value, NodeError>> {
        self.ask(of.iter().map(say).collect()).await
    }

    pub(super) fn deadline(&self) -> Instant {
        self.services.now() + self.services.settings.node_timeout
    }
}

/// What an answer is worth.
#[derive(Debug)]
pub(super) enum KeyAnswer {
    Told(Value),
    /// It is of another type by now.
    Another,
    /// It may not be read here.
    Unread,
}

/// # Errors
/// The server is not there any more, or in no state to be asked.
pub(super) fn heard(answer: Result<Value, NodeError>) -> Result<KeyAnswer, NodeError> {
    match answer {
        Ok(value) => Ok(KeyAnswer::Told(value)),
        Err(NodeError::ForeignKey) => Ok(KeyAnswer::Another),
        Err(NodeError::Permission { .. }) => Ok(KeyAnswer::Unread),
        // A cluster that is down tells nothing of any key: that is no key on its way.
        Err(error) if !matches!(Redirect::of(&error), None | Some(Redirect::Down)) => {
            Ok(KeyAnswer::Unread)
        }
        Err(error) => Err(error),
    }
}

/// What stands beside a lock: not known if it cannot be read.
pub(super) fn beside(answer: Option<Result<Value, NodeError>>) -> Result<Option<Value>, NodeError> {
    let Some(answer) = answer else { return Ok(None) };
    match heard(answer)? {
        KeyAnswer::Told(value) => Ok(Some(value)),
        KeyAnswer::Another | KeyAnswer::Unread => Ok(None),
    }
}

/// A command about one key.
pub(super) fn about(command: &str, key: &str) -> Cmd {
    words(&[command, key])
}

/// A number, of what is not negative; 0 for what is none.
pub(super) fn count(value: &Value) -> u64 {
    match value {
        Value::Int(number) => u64::try_from(*number).unwrap_or(0),
        _ => 0,
    }
}

/// A text; `None` for other bytes, and for what is none.
pub(super) fn text(value: &Value) -> Option<&str> {
    match value {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// The elements of a list; none of what is no list.
pub(super) fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(elements) => elements,
        _ => &[],
    }
}
