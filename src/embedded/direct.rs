//! A connection without a stream and a task: the code that carries the bytes decides when they
//! arrive.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;

use super::engine::{Engine, TaskStep};
use super::pubsub::ClientId;
use super::resp::{ParsedRequest, parse};

/// A connection without a stream, whose bytes the caller hands over: for simulated networks. It
/// ends when it is dropped, or when the server cuts it.
///
/// # Examples
/// ```
/// use palisade::embedded::Server;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = Server::start_here();
/// let mut connection = server.direct().expect("the server is up");
/// connection.send(b"SET k v\r\nGET k\r\n");
/// let mut answers = Vec::new();
/// connection.receive(&mut answers);
/// assert_eq!(answers, b"+OK\r\n$1\r\nv\r\n");
/// # }
/// ```
pub struct Direct {
    engine: Arc<Engine>,
    id: ClientId,
    input: Vec<u8>,
}

impl Direct {
    pub(crate) fn new(engine: Arc<Engine>) -> Option<Self> {
        let id = engine.open(None, Arc::new(Notify::new()))?;
        Some(Self { engine, id, input: Vec::new() })
    }

    /// Has the server execute, at once, every complete request in what it was sent so far. A frozen
    /// server executes nothing, and is to be sent to again.
    pub fn send(&mut self, bytes: &[u8]) {
        self.input.extend_from_slice(bytes);
        let mut used = 0;
        loop {
            match parse(self.input.get(used..).unwrap_or_default()) {
                Ok(Some((request, taken))) => {
                    if !matches!(self.execute(&request), TaskStep::Go { .. }) {
                        break;
                    }
                    used += taken;
                }
                Ok(None) => break,
                Err(error) => {
                    self.engine.reject(self.id, error);
                    used = self.input.len();
                    break;
                }
            }
        }
        self.input.drain(..used);
    }

    /// Moves what the server has to say, messages included, to the end of `out`. False once the
    /// connection has ended.
    pub fn receive(&mut self, out: &mut Vec<u8>) -> bool {
        match self.engine.collect(self.id, out) {
            TaskStep::Go { .. } | TaskStep::Wait => true,
            TaskStep::Finish { .. } | TaskStep::Cut => false,
        }
    }

    fn execute(&self, request: &ParsedRequest<'_>) -> TaskStep {
        match request {
            ParsedRequest::Array(words) => self.engine.execute(self.id, words),
            ParsedRequest::Inline(words) => {
                let words: Vec<_> = words.iter().map(Vec::as_slice).collect();
                self.engine.execute(self.id, &words)
            }
        }
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.engine.close(self.id);
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Direct").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::embedded::Server;

    #[tokio::test]
    async fn requests_are_executed_at_once_and_messages_wait_to_be_taken() {
        let server = Server::start_here();
        let (mut one, mut other) = (server.direct().unwrap(), server.direct().unwrap());
        let mut heard = Vec::new();
        one.send(b"SUBSCRIBE news\r\n");
        assert!(one.receive(&mut heard));
        heard.clear();
        other.send(b"PUBLISH news 0\r\nPI");
        other.send(b"NG\r\n");
        let mut answers = Vec::new();
        assert!(other.receive(&mut answers));
        assert_eq!(answers, b":1\r\n+PONG\r\n");
        assert!(one.receive(&mut heard));
        assert_eq!(heard, b"*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n0\r\n");
    }

    #[tokio::test]
    async fn a_killed_server_cuts_it() {
        let server = Server::start_here();
        let mut direct = server.direct().unwrap();
        server.kill();
        direct.send(b"PING\r\n");
        assert!(!direct.receive(&mut Vec::new()));
        assert!(server.direct().is_none());
    }
}
