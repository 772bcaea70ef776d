//! The client's end of a connection: bytes that are written and read.

use std::{
    io,
    task::{Context, Poll},
};

use tokio::io::ReadBuf;

use super::{Inner, Network, connection::Client};
use crate::{event::ConnId, frame};

impl Network {
    pub(crate) fn write(&self, conn: ConnId, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.inner();
        let cut_anywhere = inner.bytes;
        let Some(this) = inner.conns.get_mut(conn) else { return Ok(bytes.len()) };
        if this.client != Client::There {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if cut_anywhere {
            for part in inner.cut_up(bytes) {
                self.send(&mut inner, conn, part);
            }
            return Ok(bytes.len());
        }
        this.partial.extend_from_slice(bytes);
        let mut partial = std::mem::take(&mut this.partial);
        let mut used = 0;
        while let Some(length) = frame::length(partial.get(used..).unwrap_or_default()) {
            let request = partial.get(used..used + length).unwrap_or_default().to_vec();
            used += length;
            self.send(&mut inner, conn, request);
        }
        partial.drain(..used);
        if let Some(this) = inner.conns.get_mut(conn) {
            this.partial = partial;
        }
        Ok(bytes.len())
    }

    pub(crate) fn read(
        &self,
        conn: ConnId,
        cx: &Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut inner = self.inner();
        let Some(this) = inner.conns.get_mut(conn) else { return Poll::Pending };
        // A process that stands still finds what came meanwhile when it goes on.
        if !self.world.is_paused(this.process) {
            if !this.inbox.is_empty() {
                let length = this.inbox.len().min(buf.remaining());
                buf.put_slice(this.inbox.get(..length).unwrap_or_default());
                this.inbox.drain(..length);
                return Poll::Ready(Ok(()));
            }
            match this.client {
                Client::Cut => return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
                Client::Eof => return Poll::Ready(Ok(())),
                Client::There | Client::Gone => {}
            }
        }
        this.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Inner {
    /// Parts of any length: mostly long ones, sometimes byte by byte. What many parts have left stays
    /// whole: scripts are long, and all their bytes alike.
    pub(super) fn cut_up(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let most = self.random.weighted(&[(4, 4_096), (2, 64), (1, 8)]);
        let mut parts = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let drawn = usize::try_from(1 + self.random.below(most)).unwrap_or(1);
            let length = if parts.len() < MOST_PARTS { drawn } else { rest.len() };
            let (part, left) = rest.split_at(length.min(rest.len()));
            parts.push(part.to_vec());
            rest = left;
        }
        parts
    }
}

const MOST_PARTS: usize = 24;
