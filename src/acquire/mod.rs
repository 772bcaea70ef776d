//! Acquiring: rounds of votes, over one node or many, until a lock is won.

mod acquisition;
mod agreeing;
mod any_lock;
mod attempt;
mod fence;
mod handle;
mod haste;
mod in_order;
mod lasting;
mod lock_methods;
mod minting;
mod servers;
mod tally;
mod target;
#[cfg(all(test, feature = "embedded"))]
mod tests;
pub(crate) mod turnstile;
mod votes;

pub use any_lock::AnyLock;
pub(crate) use any_lock::Sealed;
pub(crate) use handle::{Handle, WaitLimit};
pub(crate) use lock_methods::lock_methods;
pub(crate) use tally::Rule;
pub(crate) use target::Target;
