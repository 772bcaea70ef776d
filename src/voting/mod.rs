//! Who may vote: a server that may have forgotten what it granted is not asked.

mod bless;
pub(crate) mod marker;
mod member;

pub(crate) use bless::bless;
pub(crate) use member::{Member, Members, ballot};
