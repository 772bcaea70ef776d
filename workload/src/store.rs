//! What the locks guard: a value for each, that names its last writer.
//!
//! It is read, then written, with nothing that makes the two one step but the lock. A writer with a
//! fencing token shows it with both. The greatest is kept, and a writer with a lesser one is
//! refused: what a holder that was stopped does late does no harm, whenever it was stopped.

use std::fmt;

use checkers::history::SectionId;

/// A place for the values.
pub trait Store: fmt::Debug + Send + Sync {
    /// One transaction: puts what `change` makes of the value of `lock` in its place, unless that is
    /// refused.
    ///
    /// # Errors
    /// As `change`.
    fn transact(&self, lock: &'static str, change: Change<'_>) -> Result<Value, TooOld>;
}

/// What a value is to be.
pub type Change<'a> = &'a dyn Fn(Value) -> Result<Value, TooOld>;

impl dyn Store {
    /// The last writer.
    pub(crate) fn read(
        &self,
        lock: &'static str,
        token: Option<u64>,
    ) -> Result<Option<SectionId>, TooOld> {
        Ok(self.transact(lock, &|value| value.shown(token))?.writer)
    }

    /// Replaces whatever is there by then.
    pub(crate) fn write(
        &self,
        lock: &'static str,
        token: Option<u64>,
        writer: SectionId,
    ) -> Result<(), TooOld> {
        let written = |value: Value| Ok(Value { writer: Some(writer), ..value.shown(token)? });
        self.transact(lock, &written).map(drop)
    }
}

/// Its last writer, and the greatest token that it was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Value {
    pub writer: Option<SectionId>,
    pub token: u64,
}

impl Value {
    /// After a look at a token.
    fn shown(self, token: Option<u64>) -> Result<Self, TooOld> {
        let token = token.unwrap_or(self.token);
        if token < self.token { Err(TooOld) } else { Ok(Self { token, ..self }) }
    }
}

/// The store has seen a greater token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooOld;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_with_a_lesser_token_is_refused() {
        let value = Value { writer: None, token: 5 };
        assert_eq!(value.shown(Some(4)), Err(TooOld));
        assert_eq!(value.shown(Some(5)), Ok(value));
        assert_eq!(value.shown(Some(6)), Ok(Value { token: 6, ..value }));
        assert_eq!(value.shown(None), Ok(value));
    }
}
