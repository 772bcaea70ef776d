//! What a store compares.

use std::{fmt, num::NonZeroU64, time::Duration};

use crate::error::ConfigError;

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

    /// The number, for stores that have no unsigned ones: it fits.
    #[must_use]
    pub const fn as_i64(self) -> i64 {
        self.get().cast_signed()
    }

    /// The same read as a time in µs since 1970: the hint for an acquire that joins a hold with a
    /// token.
    pub(crate) const fn as_hint(self) -> Duration {
        Duration::from_micros(self.get())
    }
}

impl TryFrom<u64> for FencingToken {
    type Error = ConfigError;

    /// What a store has kept: from 1 to 2^53 − 1.
    fn try_from(number: u64) -> Result<Self, ConfigError> {
        let told = i64::try_from(number).ok().filter(|_| number <= GREATEST);
        let invalid = || ConfigError::InvalidFencingToken { number: number.to_string().into() };
        told.and_then(Self::of).ok_or_else(invalid)
    }
}

impl TryFrom<i64> for FencingToken {
    type Error = ConfigError;

    /// What a store has kept: from 1 to 2^53 − 1.
    fn try_from(number: i64) -> Result<Self, ConfigError> {
        let invalid = || ConfigError::InvalidFencingToken { number: number.to_string().into() };
        u64::try_from(number).map_err(|_negative| invalid()).and_then(Self::try_from)
    }
}

/// As the number.
#[cfg(feature = "serde")]
impl serde::Serialize for FencingToken {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(self.get())
    }
}

/// From the number; what is no token is refused.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for FencingToken {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(from)?;
        Self::try_from(number).map_err(serde::de::Error::custom)
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
    fn what_a_store_has_kept_is_a_token_if_one_can_be_so_great() {
        let greatest = (1_u64 << 53) - 1;
        for number in [1, 42, greatest] {
            let token = FencingToken::try_from(number).expect("a token");
            assert_eq!(u64::try_from(token.as_i64()), Ok(number));
            assert_eq!(FencingToken::try_from(token.as_i64()), Ok(token));
        }
        for number in [0, greatest + 1, u64::MAX] {
            assert!(FencingToken::try_from(number).is_err(), "{number}");
        }
        for number in [i64::MIN, -1, 0, i64::MAX] {
            let error = FencingToken::try_from(number).unwrap_err();
            assert!(error.to_string().starts_with(&number.to_string()), "{error}");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn token_is_read_from_a_number_and_nothing_else() {
        use serde::{Deserialize, de::IntoDeserializer, de::value::Error};
        let read = |number: i64| {
            FencingToken::deserialize(IntoDeserializer::<Error>::into_deserializer(number))
        };
        assert_eq!(read(7).map(FencingToken::get), Ok(7));
        assert!([-1, 0, 1 << 53].into_iter().all(|number| read(number).is_err()));
    }

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
