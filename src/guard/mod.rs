//! What the user has of a lock that is held: guards and owners.

mod any_guard;
mod handover_rule;
mod lock_guard;
mod owner;
mod passing_on;
mod proof;
#[cfg(all(test, feature = "embedded"))]
mod tests;
mod turn;

pub use any_guard::AnyGuard;
pub(crate) use handover_rule::HandoverRule;
pub use lock_guard::{LockGuard, Released};
pub(crate) use owner::Occupied;
pub use owner::Owner;
pub(crate) use proof::Proof;
pub(crate) use turn::Turn;
