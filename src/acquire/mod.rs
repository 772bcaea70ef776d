//! Acquiring: rounds of votes, over one node or many, until a lock is won.

mod acquisition;
mod agreeing;
mod attempt;
mod fence;
mod handle;
mod in_order;
mod quorum;
mod servers;
mod strategy;
mod tally;
mod target;
mod votes;

pub(crate) use handle::{Handle, Patience, lock_methods};
pub(crate) use tally::Rule;
pub(crate) use target::Target;
