//! Serving one connection: bytes in, requests executed, answers out.

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::engine::{Engine, TaskStep};
use super::pubsub::ClientId;
use super::resp::{ParsedRequest, parse};

/// Serves the stream until its peer leaves or the server cuts it.
pub(crate) async fn serve<S>(engine: Arc<Engine>, id: ClientId, wake: Arc<Notify>, stream: S)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    ConnectionTask {
        engine: &engine,
        id,
        input: Vec::new(),
        output: Vec::new(),
        unread: true,
        deaf: false,
    }
    .run(&wake, stream)
    .await;
    engine.close(id);
}

struct ConnectionTask<'a> {
    engine: &'a Engine,
    id: ClientId,
    /// What has been read and not yet executed.
    input: Vec<u8>,
    /// What is to be written.
    output: Vec<u8>,
    /// The peer may still send.
    unread: bool,
    /// The peer no longer takes answers. What it has sent is executed all the same.
    deaf: bool,
}

impl ConnectionTask<'_> {
    async fn run(&mut self, wake: &Notify, stream: impl AsyncRead + AsyncWrite) {
        let (mut reader, mut writer) = tokio::io::split(stream);
        loop {
            let (next_due, reads) = match self.advance() {
                TaskStep::Cut => return,
                TaskStep::Wait => {
                    wake.notified().await;
                    continue;
                }
                TaskStep::Go { next_due } => (next_due, self.unread),
                TaskStep::Finish { next_due } => (next_due, false),
            };
            if self.deaf {
                self.output.clear();
            }
            if !reads && self.output.is_empty() && next_due.is_none() {
                return;
            }
            // In this order, so that a peer that sends without end still gets its answers.
            tokio::select! { biased;
                () = wake.notified() => {}
                written = writer.write(&self.output), if !self.output.is_empty() => {
                    self.written(written.unwrap_or(0));
                }
                () = until(next_due) => {}
                read = reader.read_buf(&mut self.input), if reads => {
                    self.unread = read.is_ok_and(|bytes| bytes > 0);
                }
            }
        }
    }

    /// Executes what has arrived and fetches what can be written.
    fn advance(&mut self) -> TaskStep {
        let mut used = 0;
        loop {
            let rest = self.input.get(used..).unwrap_or_default();
            let (turn, taken) = match parse(rest) {
                Ok(None) => break,
                Ok(Some((request, taken))) => (self.execute(&request), taken),
                Err(error) => {
                    self.engine.reject(self.id, error);
                    used = self.input.len();
                    break;
                }
            };
            if !matches!(turn, TaskStep::Go { .. }) {
                break;
            }
            used += taken;
        }
        self.input.drain(..used);
        self.engine.collect(self.id, &mut self.output)
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

    fn written(&mut self, bytes: usize) {
        self.output.drain(..bytes);
        self.deaf |= bytes == 0;
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}
