//! Locks over several members, by two rules.
//!
//! | | `MultiLock` | `RedLock` |
//! |---|---|---|
//! | held if granted by | all members | a majority, within the validity time |
//! | a member down | nobody acquires | nobody notices, while a majority is up |
//! | a member that forgot | the holder is told at once | the holder keeps its majority and wins it back |
//!
//! Neither would be safe against a master that restarts empty *and* votes at once: it does not, for a
//! while ([`Quarantine`](crate::Quarantine)), unless it is new and was blessed. A holder that is
//! stopped and writes after its lease is for the store to refuse, by the token of a fenced one.

mod inspection;
mod multi;
mod parts;
mod red;
mod striped;

pub use inspection::Inspection;
pub use multi::{FencedMultiLock, MultiLock};
pub use parts::{Member, MultiMember, RedMember};
pub use red::{FencedRedLock, RedLock};
pub use striped::StripedLock;
