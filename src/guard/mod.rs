//! What the user has of a lock that is held: guards and owners.

mod lock_guard;
mod owner;
mod tenure;
#[cfg(all(test, feature = "embedded"))]
mod tests;

pub(crate) use lock_guard::Proof;
pub use lock_guard::{LockGuard, Released};
pub(crate) use owner::Occupied;
pub use owner::Owner;
pub(crate) use tenure::Tenure;
