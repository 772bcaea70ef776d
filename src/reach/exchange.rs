//! Commands that are said at once on a stream with no other user, and their answers.

use std::io;

use redis::{Cmd, RedisError, RedisResult, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_util::bytes::BytesMut;

use super::{codec::Codec, gauge::Size, stream::Stream};

/// One answer to each command, none larger than `most`, in one round trip. Those of a server that says why it hangs up and
/// hangs up end with its words and errors for the rest.
///
/// # Cancel safety
/// Dropping the future leaves the stream unusable.
pub(crate) async fn exchange(
    stream: &mut (impl Stream + ?Sized),
    commands: &[Cmd],
    most: Size,
) -> Vec<RedisResult<Value>> {
    let mut request = Vec::new();
    commands.iter().for_each(|command| command.write_packed_command(&mut request));
    // If it fails, what can be read may say why.
    let written = async {
        stream.write_all(&request).await?;
        stream.flush().await
    };
    let mut failed = written.await.err().map(RedisError::from);
    let (mut input, mut codec) = (BytesMut::with_capacity(INPUT), Codec::default());
    let mut answers = Vec::with_capacity(commands.len());
    while answers.len() < commands.len() {
        match read(stream, &mut input, &mut codec, most).await {
            Ok(answer) => answers.push(Ok(answer)),
            Err(error) => {
                let error = failed.take().filter(|_| error.is_io_error()).unwrap_or(error);
                answers.resize_with(commands.len(), || Err(error.clone()));
            }
        }
    }
    answers
}

/// A stream on which the server speaks unasked.
pub(super) struct Listening {
    stream: Box<dyn Stream>,
    input: BytesMut,
    codec: Codec,
}

impl Listening {
    /// After everything that was asked there was answered.
    pub(super) fn on(stream: Box<dyn Stream>) -> Self {
        Self { stream, input: BytesMut::new(), codec: Codec::default() }
    }

    /// What it says next.
    ///
    /// # Errors
    /// It hung up, or what it says is longer than any news.
    ///
    /// # Cancel safety
    /// Nothing is lost.
    pub(super) async fn next(&mut self) -> RedisResult<Value> {
        read(&mut self.stream, &mut self.input, &mut self.codec, Size::FEW).await
    }
}

async fn read(
    stream: &mut (impl Stream + ?Sized),
    input: &mut BytesMut,
    codec: &mut Codec,
    most: Size,
) -> RedisResult<Value> {
    loop {
        if let Some(answer) = codec.decode(input, || most)? {
            return Ok(answer);
        }
        if stream.read_buf(input).await? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up").into());
        }
    }
}

/// Room for the answers to a handshake, in bytes: without it they take six reads.
const INPUT: usize = 4 * 1024;
