//! A way to a real server that takes only so many bytes, and breaks when it is told to.

use std::{
    io,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use futures::FutureExt;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use testkit::RedisServer;

use crate::{
    node::deployment::Node,
    reach::{
        Endpoint, NodeSettings, Stream,
        test_settings::{settings, until, within},
    },
};

/// What the streams of one node may do from now on.
#[derive(Debug, Clone)]
pub(super) struct Gate(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Bytes that may still be written.
    allowed: usize,
    /// How many streams, the first, read nothing.
    deaf: usize,
    /// How many streams there have been, and how many of them, the first, are broken.
    streams: usize,
    broken: usize,
    /// Since the allowance was last set: something was written, all of it was flushed, more was to
    /// be written than may be.
    written: bool,
    flushed: bool,
    stuck: bool,
    sleepers: Vec<Waker>,
}

impl Gate {
    /// A node whose streams lead through an open gate.
    pub(super) fn before(server: &RedisServer) -> (Node, Self) {
        Self::before_with(server, settings())
    }

    /// The same, with other settings.
    pub(super) fn before_with(server: &RedisServer, settings: NodeSettings) -> (Node, Self) {
        let state = State { allowed: usize::MAX, ..State::default() };
        let (gate, port) = (Self(Arc::new(Mutex::new(state))), server.port());
        let here = gate.clone();
        let endpoint = Endpoint::connector("gated", move || {
            let gate = here.clone();
            let connect = TcpStream::connect(("127.0.0.1", port));
            connect.map(|stream| Ok(Box::new(Gated::new(stream?, gate)) as Box<dyn Stream>)).boxed()
        });
        (Node::new(endpoint, settings), gate)
    }

    /// So many bytes more, and no others.
    pub(super) fn allow(&self, bytes: usize) {
        self.change(|state| {
            state.allowed = bytes;
            (state.written, state.flushed, state.stuck) = (false, false, false);
        });
    }

    /// What was entered since the last [`allow`](Self::allow) is written, as far as it may be.
    pub(super) async fn written(&self) {
        let done = || self.0.lock().map(|state| state.flushed || state.stuck).unwrap();
        within(until(async || done().then_some(()))).await;
    }

    pub(super) fn open(&self) {
        self.allow(usize::MAX);
    }

    /// What the server says stays in the socket; new ones are served.
    pub(super) fn deafen(&self) {
        self.change(|state| state.deaf = state.streams);
    }

    /// The next read or write finds that the connection was reset; new ones are served.
    pub(super) fn cut(&self) {
        self.change(|state| state.broken = state.streams);
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.0.lock().unwrap();
        change(&mut state);
        let sleepers = std::mem::take(&mut state.sleepers);
        drop(state);
        sleepers.into_iter().for_each(Waker::wake);
    }
}

struct Gated {
    stream: TcpStream,
    gate: Gate,
    number: usize,
}

impl Gated {
    fn new(stream: TcpStream, gate: Gate) -> Self {
        let mut state = gate.0.lock().unwrap();
        let number = state.streams;
        state.streams += 1;
        drop(state);
        Self { stream, gate, number }
    }
}

impl AsyncRead for Gated {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let gate = self.gate.clone();
        let mut state = gate.0.lock().unwrap();
        if self.number < state.broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        state.sleepers.push(cx.waker().clone());
        if self.number < state.deaf {
            return Poll::Pending;
        }
        drop(state);
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Gated {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let gate = self.gate.clone();
        let mut state = gate.0.lock().unwrap();
        if self.number < state.broken {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        if state.allowed == 0 {
            state.stuck = true;
            state.sleepers.push(cx.waker().clone());
            return Poll::Pending;
        }
        let buf = &buf[..buf.len().min(state.allowed)];
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        if let Poll::Ready(Ok(bytes)) = &written {
            state.written = true;
            if state.allowed != usize::MAX {
                state.allowed -= bytes;
            }
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        let mut state = self.gate.0.lock().unwrap();
        state.flushed |= state.written && flushed.is_ready();
        drop(state);
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
