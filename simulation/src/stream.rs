//! A client's end of a connection, as a stream of bytes.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use workload::Timekeeper;

use crate::{
    clock::SimClock,
    event::{ConnId, ProcessId, UserId},
    network::Network,
};

#[derive(Debug)]
pub(crate) struct SimStream {
    network: Arc<Network>,
    conn: ConnId,
}

impl SimStream {
    /// What [`palisade::ClientBuilder::simulated_sentinels`] wants.
    pub(crate) async fn connect(
        network: Arc<Network>,
        process: ProcessId,
        node: usize,
        user: UserId,
        clock: SimClock,
    ) -> io::Result<(Self, u64)> {
        clock.sleep(Duration::from_micros(network.connect_us())).await;
        match network.try_connect(process, node, user) {
            Some(Ok((conn, config))) => Ok((Self { network, conn }, config)),
            Some(Err(error)) => Err(error),
            None => std::future::pending().await,
        }
    }
}

impl AsyncRead for SimStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.network.read(self.conn, cx, buf)
    }
}

impl AsyncWrite for SimStream {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.network.write(self.conn, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl Drop for SimStream {
    fn drop(&mut self) {
        self.network.hang_up(self.conn);
    }
}
