//! Reading answers: the only failure is an answer of another shape.

use std::{
    fmt::{self, Write},
    iter::Chain,
    option, vec,
};

use redis::{ServerError, Value};

/// An answer that is not what the script promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
pub(crate) struct Malformed {
    pub(crate) expected: &'static str,
    pub(crate) got: String,
}

impl Malformed {
    pub(crate) fn new(expected: &'static str, got: Option<&Value>) -> Self {
        let got = got.map_or_else(|| "nothing".to_owned(), excerpt);
        Self { expected, got }
    }
}

/// The beginning of an answer that is not understood: the other side may have sent megabytes.
pub(crate) fn excerpt(of: &Value) -> String {
    let mut excerpt = Excerpt(String::new());
    if write!(excerpt, "{of:?}").is_err() {
        excerpt.0.push('…');
    }
    excerpt.0
}

/// Takes so much and fails then, which ends whatever is written.
struct Excerpt(String);

impl Write for Excerpt {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = MOST_SHOWN.saturating_sub(self.0.len());
        let ends = text.char_indices().map(|(at, char)| at + char.len_utf8());
        let (fits, rest) = text.split_at(ends.take_while(|end| *end <= room).last().unwrap_or(0));
        self.0.push_str(fits);
        if rest.is_empty() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// In bytes.
const MOST_SHOWN: usize = 200;

/// The elements of a script's answer, read one after the other.
#[derive(Debug)]
pub(crate) struct Items(Chain<option::IntoIter<Value>, vec::IntoIter<Value>>);

impl Items {
    /// Every script of ours answers with an array, or with its first element alone.
    pub(crate) fn of(answer: Value) -> Result<Self, Malformed> {
        match answer {
            Value::Array(items) => Ok(Self(None.into_iter().chain(items))),
            Value::Int(_) => Ok(Self(Some(answer).into_iter().chain(Vec::new()))),
            other => Err(Malformed::new("an array", Some(&other))),
        }
    }

    /// The next element, an integer.
    pub(crate) fn int(&mut self) -> Result<i64, Malformed> {
        match self.0.next() {
            Some(Value::Int(number)) => Ok(number),
            other => Err(Malformed::new("an integer", other.as_ref())),
        }
    }

    /// The next element, an integer or an error in its place.
    pub(super) fn int_or_error(&mut self) -> Result<Result<i64, ServerError>, Malformed> {
        match self.0.next() {
            Some(Value::Int(number)) => Ok(Ok(number)),
            Some(Value::ServerError(error)) => Ok(Err(error)),
            other => Err(Malformed::new("an integer", other.as_ref())),
        }
    }

    /// The next element, a text; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(Value::SimpleString(text)) => Ok(text),
            other => Err(Malformed::new("a text", other.as_ref())),
        }
    }

    /// The next element, a string of any bytes.
    pub(crate) fn bytes(&mut self) -> Result<Vec<u8>, Malformed> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(bytes),
            other => Err(Malformed::new("bytes", other.as_ref())),
        }
    }

    /// The next element, whatever it is; nil if there is none, as an array from Lua ends before its first nil.
    pub(crate) fn value(&mut self) -> Value {
        self.0.next().unwrap_or(Value::Nil)
    }

    /// Whether one is left, and was all that was told.
    pub(super) fn is_one(&self) -> bool {
        self.0.size_hint() == (1, Some(1))
    }

    /// Whether everything has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.size_hint() == (0, Some(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_read_in_order_and_say_what_is_wrong() {
        let answer = Value::Array(vec![Value::Int(7), Value::BulkString(b"me".to_vec())]);
        let mut items = Items::of(answer).unwrap();
        assert_eq!(items.int(), Ok(7));
        assert_eq!(items.text().as_deref(), Ok("me"));
        assert!(items.is_empty());
        assert_eq!(items.int().unwrap_err().got, "nothing");
        assert!(Items::of(Value::Okay).is_err());
        assert_eq!(Items::of(Value::Int(7)).unwrap().int(), Ok(7));
    }

    #[test]
    fn only_the_beginning_of_a_long_answer_is_told() {
        let long = Value::SimpleString("é".repeat(1_000_000));
        let told = Items::of(long).unwrap_err().got;
        assert!(told.starts_with("simple-string") && told.ends_with("é…"), "{told}");
        assert!(told.len() <= MOST_SHOWN + "…".len(), "{}", told.len());
        assert_eq!(Items::of(Value::Okay).unwrap_err().got, "ok");
    }
}
