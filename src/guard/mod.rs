//! What the user has of a lock that is held: guards and owners.

mod any_guard;
mod lock_guard;
mod owner;
mod passing_on;
mod proof;
mod succession;
mod tenure;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub use any_guard::AnyGuard;
pub use lock_guard::{LockGuard, Released};
pub(crate) use owner::Occupied;
pub use owner::Owner;
pub(crate) use proof::Proof;
pub(crate) use succession::HandoverRule;
pub(crate) use tenure::Turn;
