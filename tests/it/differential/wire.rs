//! The protocol as a client sees it, with nothing smoothed over.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The words of a request.
pub(crate) type Request = Vec<Vec<u8>>;

/// A reply: its type byte, and what it holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reply {
    pub(crate) kind: u8,
    pub(crate) body: Body,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Body {
    /// One line, as it stands.
    Line(Vec<u8>),
    /// A length of minus one.
    Missing,
    Text(Vec<u8>),
    /// Maps as keys and values in turn.
    Items(Vec<Reply>),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = char::from(self.kind);
        match &self.body {
            Body::Line(line) => write!(f, "{kind}{}", line.escape_ascii()),
            Body::Missing => write!(f, "{kind}-1"),
            Body::Text(text) => write!(f, "{kind}\"{}\"", text.escape_ascii()),
            Body::Items(items) => write!(f, "{kind}{items:?}"),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Reply { kind: b' ', body: self.clone() }.fmt(f)
    }
}

impl Reply {
    pub(crate) fn items(&self) -> &[Self] {
        if let Body::Items(items) = &self.body { items } else { &[] }
    }

    /// The text of a line or a bulk string.
    pub(crate) fn text(&self) -> String {
        match &self.body {
            Body::Line(text) | Body::Text(text) => String::from_utf8_lossy(text).into_owned(),
            Body::Missing | Body::Items(_) => String::new(),
        }
    }
}

/// How long to wait for a reply before the test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// One connection.
pub(crate) struct Wire<S> {
    stream: S,
    input: Vec<u8>,
    used: usize,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Wire<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, input: Vec::new(), used: 0 }
    }

    pub(crate) async fn send(&mut self, requests: &[Request]) -> io::Result<()> {
        self.send_raw(&requests.iter().map(encode).collect::<Vec<_>>().concat()).await
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next reply or push.
    pub(crate) async fn receive(&mut self) -> io::Result<Reply> {
        loop {
            if let Some((reply, rest)) = parse(&self.input[self.used..]) {
                self.used = self.input.len() - rest.len();
                return Ok(reply);
            }
            self.input.drain(..self.used);
            self.used = 0;
            let read = self.stream.read_buf(&mut self.input);
            if tokio::time::timeout(PATIENCE, read).await?? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

pub(crate) fn encode(request: &Request) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", request.len()).into_bytes();
    for word in request {
        bytes.extend(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend(word);
        bytes.extend(b"\r\n");
    }
    bytes
}

/// The first reply and the bytes behind it, if it is complete.
fn parse(input: &[u8]) -> Option<(Reply, &[u8])> {
    let end = input.windows(2).position(|pair| pair == b"\r\n")?;
    let (line, rest) = (&input[1..end], &input[end + 2..]);
    let kind = input[0];
    let reply = |body| Reply { kind, body };
    let length = || std::str::from_utf8(line).ok()?.parse::<i64>().ok();
    match kind {
        b'$' | b'=' => match usize::try_from(length()?) {
            Err(_) => Some((reply(Body::Missing), rest)),
            Ok(length) if rest.len() < length + 2 => None,
            Ok(length) => Some((reply(Body::Text(rest[..length].to_vec())), &rest[length + 2..])),
        },
        b'*' | b'%' | b'~' | b'>' => {
            let Ok(length) = usize::try_from(length()?) else {
                return Some((reply(Body::Missing), rest));
            };
            let (mut items, mut rest) = (Vec::new(), rest);
            for _ in 0..if kind == b'%' { length * 2 } else { length } {
                let (item, after) = parse(rest)?;
                items.push(item);
                rest = after;
            }
            Some((reply(Body::Items(items)), rest))
        }
        _ => Some((reply(Body::Line(line.to_vec())), rest)),
    }
}

/// Words of a request, from text separated by blanks.
pub(crate) fn request(text: &str) -> Request {
    text.split_ascii_whitespace().map(|word| word.as_bytes().to_vec()).collect()
}

/// A request, to be shown.
pub(crate) fn show(request: &Request) -> String {
    let words = request.iter().map(|word| match word.as_slice() {
        b"" => "''".to_owned(),
        word => word.escape_ascii().to_string(),
    });
    words.collect::<Vec<_>>().join(" ")
}
