//! A stream for a parser that is not ours: it fails before more comes than is ever to be read there.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    gauge::{Gauge, Size},
    stream::Stream,
};

/// Messages and answers to subscriptions come there, which are [few](Size::FEW) things at a time.
pub(crate) struct Gauged {
    stream: Box<dyn Stream>,
    gauge: Gauge,
}

impl Gauged {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, gauge: Gauge::default() }
    }

    fn measure(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let refused = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what);
        while !bytes.is_empty() {
            let end = self.gauge.feed(bytes).map_err(|_none| refused("what came is no answer"))?;
            if !self.gauge.size().fits(Size::FEW) {
                return Err(refused("what came is larger than any answer"));
            }
            bytes = end.and_then(|end| bytes.get(end..)).unwrap_or_default();
        }
        Ok(())
    }
}

impl AsyncRead for Gauged {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let measured = self.measure(buf.filled().get(before..).unwrap_or_default());
        if measured.is_err() {
            buf.set_filled(before);
        }
        Poll::Ready(measured)
    }
}

impl AsyncWrite for Gauged {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    async fn read(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut read = Vec::new();
        Gauged::new(Box::new(tokio::io::join(io::Cursor::new(bytes), tokio::io::sink())))
            .read_to_end(&mut read)
            .await?;
        Ok(read)
    }

    #[tokio::test]
    async fn messages_pass_and_what_is_none_does_not() {
        let messages = b">3\r\n+message\r\n+c\r\n+1\r\n".repeat(20_000);
        assert_eq!(read(messages.clone()).await.unwrap(), messages);
        for bad in ["$999999999999\r\nx", "*999999999999\r\n", "HTTP/1.1"] {
            let error = read([b"+OK\r\n", bad.as_bytes()].concat()).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{bad}");
        }
    }
}
