//! What a store compares.

use std::{fmt, num::NonZeroU64, time::Duration};

/// A number that is greater for every later holder of a lock.
///
/// A process that was stopped for longer than its lease does not know that it lost the lock, and
/// writes. No check on its own side can catch that: between any check and the write it may be
/// stopped again. The *store* can, if it remembers the greatest token that it has seen and refuses
/// lesser ones.
///
/// # Guarantees
/// - Strictly increasing over successive holders of the same lock, whatever is delayed, repeated,
///   lost or stopped, and whatever clients' clocks show. Not consecutive: attempts that came to
///   nothing use numbers up.
/// - The same for all guards of one hold: a re-entry makes no new one.
/// - Over several masters as far as [`FencedRedLock`](crate::FencedRedLock) and
///   [`FencedMultiLock`](crate::FencedMultiLock) say. On one server while it keeps its data: a
///   counter that was lost begins again at the server's time of day.
/// - Tokens of different locks, or of a lock by itself and a composite of the same name, are not
///   comparable.
/// - Between 1 and 2^53 − 1: it fits into an `i64`, a `bigint`, a JSON number.
///
/// # The other half: the store
/// In SQL, with a column `fence bigint not null default 0` in the row that the lock protects:
///
/// ```sql
/// UPDATE account SET balance = $3, fence = $1 WHERE id = $2 AND fence <= $1
/// ```
///
/// No row changed means that a later holder has written: give up, do not try again. `<=` lets one
/// holder write several times under its token; it is one holder, so its writes come in its own
/// order. Where a hold makes *one* write that must not happen twice, even if the program repeats it
/// after a lost answer, `fence < $1` refuses the repetition too.
///
/// What is read before the write belongs behind the same gate: a holder that *reads* after its lease
/// and writes nothing is not refused. `examples/fencing` in the repository shows the pattern with
/// SQLite and a holder that really is stopped.
///
/// # Examples
/// What a store does, in Rust:
/// ```
/// use palisade::FencingToken;
///
/// struct Account {
///     balance: i64,
///     fence: u64,
/// }
///
/// impl Account {
///     /// False if a later holder has written.
///     fn write(&mut self, balance: i64, token: FencingToken) -> bool {
///         let is_current = self.fence <= token.get();
///         if is_current {
///             *self = Self { balance, fence: token.get() };
///         }
///         is_current
///     }
/// }
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken {
    /// An `Option` takes no more room like this: every hold has some.
    one_more: NonZeroU64,
}

impl FencingToken {
    /// Less than any token that a server gives: a store that compares refuses it.
    pub(crate) const NONE: Self = Self { one_more: NonZeroU64::MIN };

    /// A token as a server tells it; `None` if it is none.
    pub(crate) fn of(told: i64) -> Option<Self> {
        let number = u64::try_from(told).ok().filter(|number| *number > 0)?;
        Some(Self { one_more: Self::NONE.one_more.checked_add(number)? })
    }

    /// One more, unless that is beyond what fits into all stores.
    pub(crate) fn next(self) -> Option<Self> {
        let one_more = self.one_more.checked_add(1).filter(|_| self.get() < GREATEST)?;
        Some(Self { one_more })
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.one_more.get() - 1
    }

    /// The same read as a time in µs since 1970: the hint for an acquire that joins a hold with a
    /// token.
    pub(crate) const fn as_hint(self) -> Duration {
        Duration::from_micros(self.get())
    }
}

impl fmt::Debug for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FencingToken").field(&self.get()).finish()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.get().fmt(f)
    }
}

const GREATEST: u64 = (1 << 53) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_the_numbers_that_servers_tell_and_take_no_room_for_none() {
        for (told, token) in
            [(-1, None), (0, None), (1, Some(1)), (i64::MAX, Some(i64::MAX as u64))]
        {
            assert_eq!(FencingToken::of(told).map(FencingToken::get), token);
        }
        let one = FencingToken::of(1).expect("a token");
        assert!(FencingToken::NONE < one && one.next() > Some(one));
        assert_eq!((one.to_string(), format!("{one:?}")), ("1".into(), "FencingToken(1)".into()));
        assert_eq!(FencingToken::of((1 << 53) - 1).and_then(FencingToken::next), None);
        assert_eq!(size_of::<Option<FencingToken>>(), size_of::<u64>());
    }
}
