//! Replies, and how each looks in either protocol version.

use std::borrow::Cow;
use std::io::Write as _;

use super::super::number;

/// The protocol version a connection has asked for with `HELLO`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    #[default]
    Resp2,
    Resp3,
}

/// What a command answers. Types that RESP2 lacks are written as their nearest older form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Status(Cow<'static, str>),
    Error(Refusal),
    Integer(i64),
    Bulk(Vec<u8>),
    Nil,
    /// The missing array: differs from [`Reply::Nil`] only in RESP2.
    NilArray,
    Double(f64),
    BigNumber(Vec<u8>),
    Verbatim(String),
    Array(Vec<Self>),
    /// Elements are key, value, key, value …
    Map(Vec<Self>),
    Set(Vec<Self>),
    /// Member and score, member and score …: pairs in RESP3, flat in RESP2.
    Scored(Vec<(Vec<u8>, f64)>),
    Push(Vec<Self>),
    /// Several replies to one request, as SUBSCRIBE gives.
    Several(Vec<Self>),
}

/// An error reply: its code and text, without the leading dash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal(pub(crate) Cow<'static, str>);

/// What a command's code returns.
pub(crate) type CommandResult = Result<Reply, Refusal>;

impl Refusal {
    pub(crate) const SYNTAX: Self = Self::new("ERR syntax error");
    pub(crate) const NOT_INTEGER: Self = Self::new("ERR value is not an integer or out of range");
    pub(crate) const NOT_FLOAT: Self = Self::new("ERR value is not a valid float");
    pub(crate) const WRONG_TYPE: Self =
        Self::new("WRONGTYPE Operation against a key holding the wrong kind of value");

    pub(crate) const fn new(text: &'static str) -> Self {
        Self(Cow::Borrowed(text))
    }

    pub(crate) fn arity(command: &str) -> Self {
        Self(format!("ERR wrong number of arguments for '{command}' command").into())
    }
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl Reply {
    pub(crate) const OK: Self = Self::Status(Cow::Borrowed("OK"));

    pub(crate) fn bulk(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bulk(bytes.into())
    }

    pub(crate) fn bulk_or_nil(bytes: Option<impl Into<Vec<u8>>>) -> Self {
        bytes.map_or(Self::Nil, Self::bulk)
    }

    /// A count. No count here comes near the limits of `i64`.
    pub(crate) fn count(count: usize) -> Self {
        Self::Integer(i64::try_from(count).unwrap_or(i64::MAX))
    }

    pub(crate) fn flag(flag: bool) -> Self {
        Self::Integer(i64::from(flag))
    }

    pub(crate) fn bulks<T: Into<Vec<u8>>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::Array(items.into_iter().map(Self::bulk).collect())
    }

    /// Appends the reply in the given protocol version.
    pub(crate) fn encode(&self, protocol: Protocol, out: &mut Vec<u8>) {
        let resp3 = protocol == Protocol::Resp3;
        match self {
            Self::Status(text) => text_line(out, b'+', text),
            Self::Error(Refusal(text)) => text_line(out, b'-', text),
            Self::Integer(value) => integer_line(out, b':', *value),
            Self::Bulk(bytes) => bulk(out, bytes),
            Self::Nil | Self::NilArray if resp3 => out.extend_from_slice(b"_\r\n"),
            Self::Nil => out.extend_from_slice(b"$-1\r\n"),
            Self::NilArray => out.extend_from_slice(b"*-1\r\n"),
            Self::Double(value) if resp3 => line(out, b',', number::show(*value).as_bytes()),
            Self::Double(value) => bulk(out, number::show(*value).as_bytes()),
            Self::BigNumber(digits) if resp3 => line(out, b'(', digits),
            Self::BigNumber(digits) => bulk(out, digits),
            Self::Verbatim(text) if resp3 => verbatim(out, text),
            Self::Verbatim(text) => bulk(out, text.as_bytes()),
            Self::Array(items) => list(out, b'*', items.len(), items, protocol),
            Self::Map(items) if resp3 => list(out, b'%', items.len() / 2, items, protocol),
            Self::Map(items) => list(out, b'*', items.len(), items, protocol),
            Self::Set(items) => {
                list(out, if resp3 { b'~' } else { b'*' }, items.len(), items, protocol);
            }
            Self::Scored(pairs) => scored(out, pairs, protocol),
            Self::Push(items) => {
                list(out, if resp3 { b'>' } else { b'*' }, items.len(), items, protocol);
            }
            Self::Several(items) => items.iter().for_each(|item| item.encode(protocol, out)),
        }
    }
}

fn line(out: &mut Vec<u8>, kind: u8, text: &[u8]) {
    out.push(kind);
    out.extend_from_slice(text);
    out.extend_from_slice(b"\r\n");
}

/// A line whose text may come from outside: what would break it becomes blanks.
fn text_line(out: &mut Vec<u8>, kind: u8, text: &str) {
    if text.contains(['\r', '\n']) {
        line(out, kind, text.replace(['\r', '\n'], " ").as_bytes());
    } else {
        line(out, kind, text.as_bytes());
    }
}

fn integer_line(out: &mut Vec<u8>, kind: u8, value: i64) {
    out.push(kind);
    // Writing to a Vec cannot fail.
    write!(out, "{value}\r\n").ok();
}

fn header(out: &mut Vec<u8>, kind: u8, len: usize) {
    integer_line(out, kind, i64::try_from(len).unwrap_or(i64::MAX));
}

fn bulk(out: &mut Vec<u8>, bytes: &[u8]) {
    header(out, b'$', bytes.len());
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

fn verbatim(out: &mut Vec<u8>, text: &str) {
    header(out, b'=', text.len() + 4);
    out.extend_from_slice(b"txt:");
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn list(out: &mut Vec<u8>, kind: u8, len: usize, items: &[Reply], protocol: Protocol) {
    header(out, kind, len);
    items.iter().for_each(|item| item.encode(protocol, out));
}

fn scored(out: &mut Vec<u8>, pairs: &[(Vec<u8>, f64)], protocol: Protocol) {
    let resp3 = protocol == Protocol::Resp3;
    header(out, b'*', if resp3 { pairs.len() } else { pairs.len() * 2 });
    for (member, score) in pairs {
        if resp3 {
            header(out, b'*', 2);
        }
        bulk(out, member);
        Reply::Double(*score).encode(protocol, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(reply: &Reply) -> [String; 2] {
        [Protocol::Resp2, Protocol::Resp3].map(|protocol| {
            let mut out = Vec::new();
            reply.encode(protocol, &mut out);
            String::from_utf8(out).unwrap()
        })
    }

    #[test]
    fn newer_types_have_an_older_form() {
        let map = Reply::Map(vec![Reply::bulk("a"), Reply::Integer(1)]);
        let table = [
            (Reply::Nil, ["$-1\r\n", "_\r\n"]),
            (Reply::NilArray, ["*-1\r\n", "_\r\n"]),
            (Reply::Double(1.5), ["$3\r\n1.5\r\n", ",1.5\r\n"]),
            (map, ["*2\r\n$1\r\na\r\n:1\r\n", "%1\r\n$1\r\na\r\n:1\r\n"]),
            (Reply::Push(vec![Reply::Integer(1)]), ["*1\r\n:1\r\n", ">1\r\n:1\r\n"]),
            (Reply::Verbatim("x".into()), ["$1\r\nx\r\n", "=5\r\ntxt:x\r\n"]),
            (
                Reply::Scored(vec![(b"m".to_vec(), 2.0)]),
                ["*2\r\n$1\r\nm\r\n$1\r\n2\r\n", "*1\r\n*2\r\n$1\r\nm\r\n,2\r\n"],
            ),
        ];
        for (reply, expected) in table {
            assert_eq!(both(&reply), expected, "{reply:?}");
        }
    }
}
