//! What nodes are spoken to over.

use std::any::Any;

use tokio::io::{AsyncRead, AsyncWrite};

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
