//! How a script of another sees whether a hold stands where it runs.

use std::sync::Arc;

use smallvec::SmallVec;

use super::Arg;

/// A prologue that looks whether a hold stands, and what it is to be told.
///
/// It takes its own keys and arguments, which stand last, off `KEYS` and `ARGV`, and changes nothing. It says in
/// `__held` 1 if the hold stands, or the error of a command, and in `__taken` 1 if another may hold the lock.
#[derive(Debug, Clone)]
pub(crate) struct HoldCheck {
    /// A `.lua` file.
    pub(crate) prologue: &'static str,
    pub(crate) keys: SmallVec<[Arc<str>; 2]>,
    pub(crate) args: SmallVec<[Arg; 1]>,
}

impl HoldCheck {
    /// The first key is the lock's; the last ones are taken first.
    pub(crate) fn new<const K: usize>(
        prologue: &'static str,
        keys: [&Arc<str>; K],
        arg: Arg,
    ) -> Self {
        let keys = keys.into_iter().cloned().collect();
        Self { prologue, keys, args: SmallVec::from_iter([arg]) }
    }
}
