//! Reading answers: the only failure is an answer of another shape.

use redis::Value;

/// An answer that is not what the script promises.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected}, got {got}")]
pub(crate) struct Malformed {
    pub(crate) expected: &'static str,
    pub(crate) got: String,
}

impl Malformed {
    fn new(expected: &'static str, got: Option<&Value>) -> Self {
        let got = got.map_or_else(|| "nothing".to_owned(), |value| format!("{value:?}"));
        Self { expected, got }
    }
}

/// The elements of a script's answer, read one after the other.
#[derive(Debug)]
pub(crate) struct Items(std::vec::IntoIter<Value>);

impl Items {
    /// Every script of ours answers with an array.
    pub(crate) fn of(answer: Value) -> Result<Self, Malformed> {
        match answer {
            Value::Array(items) => Ok(Self(items.into_iter())),
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

    /// The next element, a text; bytes that are no UTF-8 are replaced.
    pub(crate) fn text(&mut self) -> Result<String, Malformed> {
        match self.0.next() {
            Some(Value::BulkString(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Some(Value::SimpleString(text)) => Ok(text),
            other => Err(Malformed::new("a text", other.as_ref())),
        }
    }

    /// Whether everything has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.len() == 0
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
    }
}
