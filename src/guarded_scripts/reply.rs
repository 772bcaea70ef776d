//! What a guarded script returned, and what it is read as.

use redis::{ServerError, Value};

use crate::{error::Text, wire::Malformed};

/// What a guarded script returned, as the server made it of the Lua value: see the documentation of `EVAL`.
///
/// # Examples
/// ```
/// use palisade::guarded::{FromReply, Reply};
///
/// let replies = Reply::Array(vec![Reply::Int(7), Reply::Nil]);
/// assert_eq!(<(i64, Option<String>)>::from_reply(replies)?, (7, None));
/// # Ok::<(), palisade::guarded::WrongReply>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ScriptReply {
    /// `nil` and `false`.
    Nil,
    /// A number, without what stands behind the point; 1 for `true`.
    Int(i64),
    /// A string.
    Bytes(Vec<u8>),
    /// `redis.status_reply`, and what a command returned that was answered so.
    Status(String),
    /// A table, until its first `nil`.
    Array(Vec<Self>),
}

/// A reply that is not what was expected. The script was executed.
///
/// # Examples
/// ```
/// use palisade::guarded::{FromReply, Reply};
///
/// let error = i64::from_reply(Reply::Nil).unwrap_err();
/// assert_eq!(error.to_string(), "expected an integer, got Nil");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
#[non_exhaustive]
pub struct WrongReply {
    /// What was expected.
    pub expected: &'static str,
    /// The beginning of what came.
    pub got: Text,
}

/// What a [`ScriptReply`] may be read as.
///
/// # Examples
/// ```
/// use palisade::guarded::{FromReply, Reply, WrongReply};
///
/// /// Whether there was one.
/// struct Found(bool);
///
/// impl FromReply for Found {
///     fn from_reply(reply: Reply) -> Result<Self, WrongReply> {
///         Ok(Self(reply != Reply::Nil))
///     }
/// }
/// # assert!(Found::from_reply(Reply::Int(1)).is_ok_and(|found| found.0));
/// ```
pub trait FromReply: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// It is something else.
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply>;
}

impl ScriptReply {
    /// Whatever a server answers within an answer; the text of an error first.
    pub(super) fn of(value: Value) -> Result<Result<Self, String>, Malformed> {
        let reply = match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Int(number),
            Value::Boolean(is) => Self::Int(is.into()),
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::Double(number) => Self::Bytes(number.to_string().into_bytes()),
            Value::Okay => Self::Status("OK".to_owned()),
            Value::SimpleString(text) => Self::Status(text),
            Value::ServerError(error) => return Ok(Err(text_of(&error))),
            Value::Array(values) | Value::Set(values) => {
                let mut replies = Vec::with_capacity(values.len());
                for value in values {
                    match Self::of(value)? {
                        Ok(reply) => replies.push(reply),
                        Err(error) => return Ok(Err(error)),
                    }
                }
                Self::Array(replies)
            }
            other => return Err(Malformed::new("what a script returns", Some(&other))),
        };
        Ok(Ok(reply))
    }

    fn is_not<T>(&self, expected: &'static str) -> Result<T, WrongReply> {
        let mut got = format!("{self:?}");
        if let Some((end, _)) = got.char_indices().nth(MOST_SHOWN) {
            got.truncate(end);
            got.push('…');
        }
        Err(WrongReply { expected, got: got.into() })
    }
}

/// As the server writes it.
fn text_of(error: &ServerError) -> String {
    [error.code(), error.details().unwrap_or_default()].join(" ").trim_end().to_owned()
}

/// In characters.
const MOST_SHOWN: usize = 100;

impl FromReply for ScriptReply {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        Ok(reply)
    }
}

/// Whatever it is.
impl FromReply for () {
    fn from_reply(_reply: ScriptReply) -> Result<Self, WrongReply> {
        Ok(())
    }
}

/// Also a string of decimal digits, as `GET` answers.
impl FromReply for i64 {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        let parsed = match &reply {
            ScriptReply::Int(number) => Some(*number),
            ScriptReply::Bytes(bytes) => {
                std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok())
            }
            _ => None,
        };
        parsed.map_or_else(|| reply.is_not("an integer"), Ok)
    }
}

impl FromReply for u64 {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        let number = i64::from_reply(reply.clone()).ok().and_then(|number| number.try_into().ok());
        number.map_or_else(|| reply.is_not("an integer from 0 on"), Ok)
    }
}

/// 1 and 0; `nil`, which is what `false` becomes, is false.
impl FromReply for bool {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        match reply {
            ScriptReply::Int(1) => Ok(true),
            ScriptReply::Int(0) | ScriptReply::Nil => Ok(false),
            other => other.is_not("1, 0 or nil"),
        }
    }
}

impl FromReply for Vec<u8> {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        match reply {
            ScriptReply::Bytes(bytes) => Ok(bytes),
            ScriptReply::Status(text) => Ok(text.into_bytes()),
            other => other.is_not("a string"),
        }
    }
}

impl FromReply for String {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        let bytes = Vec::<u8>::from_reply(reply)?;
        Self::from_utf8(bytes)
            .or_else(|error| ScriptReply::Bytes(error.into_bytes()).is_not("a string in UTF-8"))
    }
}

impl<T: FromReply> FromReply for Option<T> {
    fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
        if reply == ScriptReply::Nil { Ok(None) } else { T::from_reply(reply).map(Some) }
    }
}

macro_rules! lists {
    ($($Item:ty),*) => {
        $(impl FromReply for Vec<$Item> {
            fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
                match reply {
                    ScriptReply::Array(replies) => replies.into_iter().map(<$Item>::from_reply).collect(),
                    other => other.is_not("a table"),
                }
            }
        })*
    };
}
lists!(ScriptReply, i64, u64, String, Vec<u8>, Option<String>, Option<i64>);

macro_rules! tuples {
    ($expected:literal: $($Item:ident),*) => {
        impl<$($Item: FromReply),*> FromReply for ($($Item,)*) {
            fn from_reply(reply: ScriptReply) -> Result<Self, WrongReply> {
                let ScriptReply::Array(replies) = reply else { return reply.is_not($expected) };
                let mut replies = replies.into_iter().fuse();
                // What is behind the last that is no `nil` is left out by the server.
                Ok(($($Item::from_reply(replies.next().unwrap_or(ScriptReply::Nil))?,)*))
            }
        }
    };
}
tuples!("a table of two": A, B);
tuples!("a table of three": A, B, C);

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> ScriptReply {
        ScriptReply::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn replies_are_read_as_what_they_are() {
        assert_eq!(i64::from_reply(ScriptReply::Int(-7)), Ok(-7));
        assert_eq!(i64::from_reply(bytes("12")), Ok(12));
        assert_eq!(bool::from_reply(ScriptReply::Nil), Ok(false));
        assert_eq!(bool::from_reply(ScriptReply::Int(1)), Ok(true));
        assert_eq!(String::from_reply(bytes("é")), Ok("é".to_owned()));
        assert_eq!(String::from_reply(ScriptReply::Status("OK".into())), Ok("OK".to_owned()));
        assert_eq!(Option::<i64>::from_reply(ScriptReply::Nil), Ok(None));
        let table = ScriptReply::Array(vec![ScriptReply::Int(1), bytes("2")]);
        assert_eq!(Vec::<i64>::from_reply(table.clone()), Ok(vec![1, 2]));
        assert_eq!(<(i64, String)>::from_reply(table.clone()), Ok((1, "2".to_owned())));
        assert_eq!(<(i64, u64, Option<u64>)>::from_reply(table), Ok((1, 2, None)));
        assert_eq!(<()>::from_reply(ScriptReply::Nil), Ok(()));
    }

    #[test]
    fn whatever_is_something_else_is_said() {
        let said = |error: WrongReply| error.to_string();
        assert_eq!(
            said(u64::from_reply(ScriptReply::Int(-1)).unwrap_err()),
            "expected an integer from 0 on, got Int(-1)"
        );
        assert!(i64::from_reply(bytes("1.5")).is_err());
        assert!(bool::from_reply(ScriptReply::Int(2)).is_err());
        assert!(String::from_reply(ScriptReply::Bytes(vec![0xff])).is_err());
        assert!(Vec::<i64>::from_reply(ScriptReply::Nil).is_err());
        assert!(<(i64, i64)>::from_reply(ScriptReply::Array(vec![ScriptReply::Int(1)])).is_err());
        let long = said(i64::from_reply(bytes(&"x".repeat(1_000_000))).unwrap_err());
        assert!(long.ends_with('…') && long.len() < 500, "{long}");
    }
}
