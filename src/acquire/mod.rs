//! Acquiring: rounds of votes, over one node or many, until a lock is won.

mod acquisition;
mod agreeing;
mod fanout;
mod fence;
mod handle;
mod in_order;
mod servers;
mod single;
mod tally;

pub(crate) use fanout::Fanout;
pub(crate) use handle::{Handle, Patience, lock_methods};
pub(crate) use single::{Single, check_name};
pub(crate) use tally::Rule;
