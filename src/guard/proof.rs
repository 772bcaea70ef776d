//! What a guard is made of.

use super::{lock_guard::LockGuard, turn::Turn};

/// What the user gets for a hold: the guard itself, or one that says more.
pub(crate) trait Proof: Into<LockGuard> + Send + Sized {
    /// Whether it can be a proof of this turn.
    fn suits(_turn: &Turn) -> bool {
        true
    }

    /// The guard must be of a hold that suits.
    fn of(guard: LockGuard) -> Self;

    fn guard(&self) -> &LockGuard;
}

impl Proof for LockGuard {
    fn of(guard: LockGuard) -> Self {
        guard
    }

    fn guard(&self) -> &LockGuard {
        self
    }
}
