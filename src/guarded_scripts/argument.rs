//! What a key or an argument of a guarded script may be.

use crate::kind::FencingToken;

/// A key or an argument of a [guarded script](super::GuardedScript): bytes, or a number in decimal digits.
///
/// # Examples
/// ```
/// use palisade::guarded::Argument;
///
/// assert_eq!("balance".into_bytes(), b"balance");
/// assert_eq!((-7).into_bytes(), b"-7");
/// ```
pub trait Argument {
    /// What is sent.
    fn into_bytes(self) -> Vec<u8>;
}

macro_rules! numbers {
    ($($Number:ty),*) => {
        $(impl Argument for $Number {
            fn into_bytes(self) -> Vec<u8> {
                self.to_string().into_bytes()
            }
        })*
    };
}
numbers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

macro_rules! bytes {
    ($($Bytes:ty),*) => {
        $(impl Argument for $Bytes {
            fn into_bytes(self) -> Vec<u8> {
                self.to_vec()
            }
        })*
    };
}
bytes!(&[u8], &Vec<u8>);

macro_rules! texts {
    ($($Text:ty),*) => {
        $(impl Argument for $Text {
            fn into_bytes(self) -> Vec<u8> {
                self.as_bytes().to_vec()
            }
        })*
    };
}
texts!(&str, &String);

impl Argument for Vec<u8> {
    fn into_bytes(self) -> Vec<u8> {
        self
    }
}

impl Argument for String {
    fn into_bytes(self) -> Vec<u8> {
        Self::into_bytes(self)
    }
}

impl<const N: usize> Argument for &[u8; N] {
    fn into_bytes(self) -> Vec<u8> {
        self.to_vec()
    }
}

impl Argument for FencingToken {
    fn into_bytes(self) -> Vec<u8> {
        self.get().into_bytes()
    }
}
