//! A connection that is listened in on: what was said, when it came to the server.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures::future::{Either, select};
use palisade::embedded::Server;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    sync::mpsc::UnboundedSender,
    time::Instant,
};

/// A request as it came to a server.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) server: usize,
    pub(super) at: Instant,
    /// Connections of a server are counted as they are opened.
    pub(super) connection: usize,
    pub(super) words: Vec<Vec<u8>>,
}

/// Where a connection leads, and what hears what is said on it.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) server: usize,
    /// How many connections of the server have been opened.
    pub(super) opened: Arc<AtomicUsize>,
    /// So long a request takes. No two take the same to a server, so nothing depends on which of
    /// several that act at one moment is polled first.
    pub(super) takes: Duration,
    pub(super) heard: UnboundedSender<Heard>,
}

/// Opens a connection. It ends as soon as either side ends it.
///
/// # Errors
/// The server is down.
pub(super) async fn connect(to: Arc<Server>, way: Way) -> io::Result<DuplexStream> {
    let (near, far) = tokio::io::duplex(PIPE);
    let (mut answers, requests) = tokio::io::split(to.connect().await?);
    let connection = way.opened.fetch_add(1, Ordering::Relaxed) + 1;
    let (from_client, mut to_client) = tokio::io::split(far);
    tokio::spawn(async move {
        let there = std::pin::pin!(way.carry(connection, from_client, requests));
        let back = std::pin::pin!(tokio::io::copy(&mut answers, &mut to_client));
        match select(there, back).await {
            Either::Left((done, _)) => done,
            Either::Right((done, _)) => done.map(drop),
        }
    });
    Ok(near)
}

impl Way {
    async fn carry(
        &self,
        connection: usize,
        mut from: impl AsyncReadExt + Unpin,
        mut to: impl AsyncWriteExt + Unpin,
    ) -> io::Result<()> {
        // All that has been written by now takes the way together.
        let mut pending = Vec::with_capacity(PIPE);
        while from.read_buf(&mut pending).await? > 0 {
            tokio::time::sleep(self.takes).await;
            while let Some((words, length)) = request(&pending) {
                self.tell(connection, words);
                to.write_all(&pending[..length]).await?;
                pending.drain(..length);
            }
        }
        Ok(())
    }

    fn tell(&self, connection: usize, words: Vec<Vec<u8>>) {
        let (server, at) = (self.server, Instant::now());
        // The listener may have heard enough.
        drop(self.heard.send(Heard { server, at, connection, words }));
    }
}

/// The words of the first request and how many bytes it takes, once it is complete.
fn request(bytes: &[u8]) -> Option<(Vec<Vec<u8>>, usize)> {
    let (count, mut at) = number(bytes, 0, b'*')?;
    let mut words = Vec::new();
    for _ in 0..count {
        let (length, start) = number(bytes, at, b'$')?;
        words.push(bytes.get(start..start + length)?.to_vec());
        at = start + length + b"\r\n".len();
    }
    (at <= bytes.len()).then_some((words, at))
}

/// The number behind `sign`, and where its line ends.
fn number(bytes: &[u8], at: usize, sign: u8) -> Option<(usize, usize)> {
    let line = bytes.get(at..)?;
    let length = line.windows(2).position(|pair| pair == b"\r\n")?;
    assert_eq!(line[0], sign, "requests are arrays of strings: {:?}", line.escape_ascii());
    let digits = std::str::from_utf8(&line[1..length]).unwrap();
    Some((digits.parse().unwrap(), at + length + b"\r\n".len()))
}

const PIPE: usize = 64 * 1024;

#[test]
fn requests_are_read_wherever_they_are_cut() {
    let bytes = b"*2\r\n$3\r\nGET\r\n$2\r\n\r\n\r\n*1\r\n$4\r\nPING\r\n";
    let first = 21;
    for cut in 0..first {
        assert_eq!(request(&bytes[..cut]), None, "{cut}");
    }
    assert_eq!(request(bytes), Some((vec![b"GET".to_vec(), b"\r\n".to_vec()], first)));
    assert_eq!(request(&bytes[first..]), Some((vec![b"PING".to_vec()], bytes.len() - first)));
}
