//! What nodes are spoken to over.

use std::any::Any;

use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

/// A byte stream to a node: anything tokio can read and write.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), palisade::error::ConfigError> {
/// use palisade::Client;
/// use tokio::net::TcpStream;
///
/// let tunnel = || TcpStream::connect("127.0.0.1:16379");
/// let client = Client::builder().connector("redis behind the tunnel", tunnel).build()?;
/// # Ok(())
/// # }
/// ```
pub trait Stream: AsyncRead + AsyncWrite + Any + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Any + Unpin + Send> Stream for S {}

/// The socket of a stream, if what is read from the one comes from the other as it is.
pub(crate) fn socket_of(stream: &dyn Stream) -> Option<SockRef<'_>> {
    let stream: &dyn Any = stream;
    let socket = stream.downcast_ref::<TcpStream>().map(SockRef::from);
    #[cfg(unix)]
    let socket =
        socket.or_else(|| stream.downcast_ref::<tokio::net::UnixStream>().map(SockRef::from));
    socket
}
