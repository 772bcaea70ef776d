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
                AsRef::<[u8]>::as_ref(&self).to_vec()
            }
        })*
    };
}
bytes!(&[u8], &str, &Vec<u8>, &String, Vec<u8>, String);

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
