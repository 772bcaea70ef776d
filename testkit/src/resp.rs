//! A tiny RESP2 client: enough to arrange and to look, independent of what is tested.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A connection of the test's own to a server.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Connects; every later read and write may take `limit`.
    ///
    /// # Errors
    /// Nothing listens at `addr`.
    pub fn open(addr: SocketAddr, limit: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&addr, limit)?;
        stream.set_nodelay(true)?;
        let connection = Self { stream: BufReader::new(stream) };
        connection.set_limit(limit)?;
        Ok(connection)
    }

    /// From now on every read and write may take `limit`.
    ///
    /// # Errors
    /// It is zero.
    pub fn set_limit(&self, limit: Duration) -> io::Result<()> {
        self.stream.get_ref().set_read_timeout(Some(limit))?;
        self.stream.get_ref().set_write_timeout(Some(limit))
    }

    /// Sends one command and reads its reply.
    ///
    /// # Errors
    /// The connection broke or the limit passed. What the server did is unknown then.
    pub fn command<A: AsRef<[u8]>>(&mut self, args: &[A]) -> io::Result<Reply> {
        let mut request = format!("*{}\r\n", args.len()).into_bytes();
        for arg in args.iter().map(AsRef::as_ref) {
            request.extend_from_slice(format!("${}\r\n", arg.len()).as_bytes());
            request.extend_from_slice(arg);
            request.extend_from_slice(b"\r\n");
        }
        self.stream.get_mut().write_all(&request)?;
        self.read()
    }

    /// Reads one more reply: a message, after SUBSCRIBE.
    ///
    /// # Errors
    /// The connection broke or the limit passed.
    pub fn read(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end();
        let (sort, rest) = line.split_at_checked(1).ok_or_else(|| malformed(line))?;
        let number = || rest.parse::<i64>().ok().ok_or_else(|| malformed(line));
        Ok(match sort {
            "+" => Reply::Status(rest.to_owned()),
            "-" => Reply::Error(rest.to_owned()),
            ":" => Reply::Int(number()?),
            "$" => match usize::try_from(number()?) {
                Ok(length) => Reply::Bulk(self.bulk(length)?),
                Err(_) => Reply::Nil,
            },
            "*" => match usize::try_from(number()?) {
                Ok(length) => {
                    Reply::Array((0..length).map(|_| self.read()).collect::<io::Result<_>>()?)
                }
                Err(_) => Reply::Nil,
            },
            _ => return Err(malformed(line)),
        })
    }

    fn bulk(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length + 2];
        self.stream.read_exact(&mut bytes)?;
        bytes.truncate(length);
        Ok(bytes)
    }
}

/// What a server answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// `+OK`
    Status(String),
    /// `-ERR …`
    Error(String),
    /// `:1`
    Int(i64),
    /// `$2 hi`
    Bulk(Vec<u8>),
    /// No value: `$-1` or `*-1`.
    Nil,
    /// `*2 …`
    Array(Vec<Self>),
}

impl Reply {
    /// The number.
    ///
    /// # Panics
    /// It is something else.
    #[track_caller]
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(number) => *number,
            other => panic!("expected a number, the server answered {other:?}"),
        }
    }

    /// The elements.
    ///
    /// # Panics
    /// It is something else.
    #[track_caller]
    pub fn array(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            other => panic!("expected an array, the server answered {other:?}"),
        }
    }

    /// Whether the server refused.
    pub fn is_error(&self) -> bool {
        matches!(self, Self::Error(_))
    }
}

/// As `redis-cli` prints into a pipe: one element a line, nothing for no value.
impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(text) | Self::Error(text) => f.write_str(text),
            Self::Int(number) => number.fmt(f),
            Self::Bulk(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Self::Nil => Ok(()),
            Self::Array(elements) => {
                for (i, element) in elements.iter().enumerate() {
                    let gap = if i == 0 { "" } else { "\n" };
                    write!(f, "{gap}{element}")?;
                }
                Ok(())
            }
        }
    }
}

fn malformed(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not RESP2: {line:?}"))
}
